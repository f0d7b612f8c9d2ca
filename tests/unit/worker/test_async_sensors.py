"""A sensor whose poke is async, on both sides: deferred by its pod, and run in the triggerer without a class for it."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from torpor import BaseSensor, Context, DeferralError, PokeResult
from torpor.context import RemoteContext
from torpor_triggerer.model.deferred_taskrun import parse
from torpor_triggerer.model.outcome import Ended, Failed, Fired
from torpor_triggerer.usercode import invoke, registry, validation

from tests.support.fake_api import VirtualClock
from tests.support.fake_services import services

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import TaskPod, TaskRunApi

NAMES = {
    f"{__name__}.{name}": f"{__name__}:{name}" for name in ("AsyncKeySensor", "BlockingSensor", "Rude", "BrokenSensor")
}


class AsyncKeySensor(BaseSensor):
    """There at the third look, wherever that is."""

    looked: list[str]

    def __init__(self, path: str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.path = path
        self.looked = []

    async def poke(self, context: Context) -> PokeResult:
        await asyncio.sleep(0)
        self.looked.append(context.namespace)
        return PokeResult(len(self.looked) > 2, {"path": self.path, "looked": self.looked})


class BlockingSensor(AsyncKeySensor):
    """Would hold the loop of the triggerer."""

    def poke(self, context: Context) -> bool:  # type: ignore[override]
        return True


class Rude(AsyncKeySensor):
    """Asks who it is for."""

    async def poke(self, context: Context) -> Any:
        return context["taskrun"] == "no"


class BrokenSensor(AsyncKeySensor):
    """Raises once it is in the triggerer."""

    async def poke(self, context: Context) -> Any:
        if isinstance(context, RemoteContext):
            raise OSError("no route to host")
        return False


def source(name: str) -> str:
    return f"from {__name__} import {name} as load"


async def triggered(pod: TaskPod, clock: VirtualClock, seconds: float) -> Ended | None:
    """What comes of the pod's wait in a triggerer that has the classes above, after so long."""
    pod.cluster.taskruns[pod.name]["metadata"]["namespace"] = "workflows"
    waiting = parse(pod.cluster.taskruns[pod.name])
    call = validation.read(waiting)
    assert isinstance(call, validation.TriggerInvocation), call
    admitted = validation.admit(waiting, call, registry.load(NAMES), services(clock=clock))
    if admitted.problem is not None:
        return admitted.problem
    running = asyncio.create_task(invoke.first_event(admitted.trigger))
    await clock.advance(seconds)
    if running.done():
        return running.result()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return None


@pytest.fixture
def deferred(task: Callable[..., TaskPod]) -> Callable[..., Any]:
    """A pod that has deferred; in a thread, since it has an event loop of its own."""

    async def make(name: str, **arguments: Any) -> TaskPod:
        pod = task(source(name), **arguments)
        # The key is of a namespace, and the fake pod's is another than what lends here.
        code = await asyncio.to_thread(lambda: pod.run(pod.launch()._replace(namespace="workflows")))
        assert code == 0, pod.status
        return pod

    return make


async def test_a_sensor_is_its_own_trigger_and_its_value_comes_back(deferred: Callable[..., Any]) -> None:
    pod = await deferred("AsyncKeySensor", path="a", poke_interval="30s")
    fired = await triggered(pod, VirtualClock(), 70)

    assert isinstance(fired, Fired), fired
    pod.fire(json.loads(fired.event))
    assert await asyncio.to_thread(pod.run) == 0
    assert json.loads(pod.status["result"]) == {"path": "a", "looked": ["workflows"] * 3}


async def test_a_sensor_pokes_again_after_its_interval_and_not_before(deferred: Callable[..., Any]) -> None:
    pod = await deferred("AsyncKeySensor", path="a", poke_interval="30s")

    assert await triggered(pod, VirtualClock(), 50) is None


async def test_equal_sensors_share_a_poke_at_any_interval(deferred: Callable[..., Any]) -> None:
    seen = []
    for path, every in (("a", 30), ("a", 60), ("b", 30)):
        pod = await deferred("AsyncKeySensor", path=path, poke_interval=every)
        seen.append(pod.status["trigger"]["key"])

    assert seen[0] == seen[1] != seen[2]


async def test_a_sensor_that_is_not_registered_names_what_to_do(
    task: Callable[..., TaskPod], cluster: TaskRunApi
) -> None:
    pod = task(source("AsyncKeySensor") + "\nclass Other(load): pass", name="Other", path="a")
    await asyncio.to_thread(lambda: pod.run(pod.launch()._replace(namespace="workflows")))
    failed = await triggered(pod, VirtualClock(), 1)

    assert isinstance(failed, Failed)
    assert failed.reason == "TriggerUnknown"
    assert "--trigger" in failed.message


async def test_a_sensor_that_blocks_is_refused_by_the_triggerer(task: Callable[..., TaskPod]) -> None:
    wait = f"""
from torpor import defer
class Asked:
    def serialize(self): return "{__name__}.BlockingSensor", {{"path": "a"}}
def load(): return defer(Asked(), then=end)
def end(event): pass
"""
    pod = task(wait)
    await asyncio.to_thread(lambda: pod.run(pod.launch()._replace(namespace="workflows")))
    failed = await triggered(pod, VirtualClock(), 1)

    assert isinstance(failed, Failed)
    assert "poke of BlockingSensor is not async: it would block the triggerer" in failed.message


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("Rude", "context.taskrun is not available in the triggerer, where one poke may serve many TaskRuns"),
        ("BrokenSensor", "OSError: no route to host"),
    ],
)
async def test_a_poke_that_raises_in_the_triggerer_fails_the_wait(
    deferred: Callable[..., Any], name: str, message: str
) -> None:
    failed = await triggered(await deferred(name, path="a"), VirtualClock(), 1)

    assert isinstance(failed, Failed)
    assert message in failed.message


def test_a_sensor_made_of_arguments_without_names_cannot_be_made_again() -> None:
    with pytest.raises(DeferralError, match="must be created with keyword arguments"):
        AsyncKeySensor("a").serialize()


def test_the_context_elsewhere_says_what_it_is() -> None:
    context = RemoteContext("workflows")

    assert context["namespace"] == "workflows"
    assert repr(context) == "RemoteContext('workflows')"
    with pytest.raises(LookupError, match="set runs_in_triggerer = False"):
        context.get("attempt")
    with pytest.raises(KeyError, match="the context has"):
        context["ti"]

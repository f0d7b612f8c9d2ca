"""What a triggerer lends to one wait, in real time and without an API server, for tests of triggers by themselves."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from torpor_expressions.evaluator import InProcess
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.timing import SystemClock
from torpor_triggerer.model.deferred_taskrun import SegmentId
from torpor_triggerer.network.addresses import Addresses
from torpor_triggerer.network.connections import OutboundNetwork
from torpor_triggerer.services.trigger_services import Backends, TriggerServices
from torpor_triggerer.usercode.registry import Registry, load

from tests.support.fake_api import FakeApi, VirtualClock

NAMESPACE = "workflows"
# For a machine that is busy with other work: only a test that fails waits for so long.
TIMEOUT = 180.0


def network(**given: Any) -> OutboundNetwork:
    """One that leads to the servers of tests, which listen on loopback."""
    return OutboundNetwork(addresses=Addresses.build(allow=("127.0.0.0/8", "::1")), **given)


def backends(*, folders: tuple[str, ...] = (), lends_identity: bool = False, **limits: Any) -> Backends:
    """Of one process: its clients are shared by all that is lent from it. `limits` are the network's."""
    api = Api(FakeApi(VirtualClock()), SystemClock())
    return Backends(
        api=api,
        evaluator=InProcess(),
        web=None,  # type: ignore[arg-type]
        network=network(**limits),
        folders=folders,
        lends_identity=lends_identity,
    )


def services(given: Backends | None = None, *, namespace: str = NAMESPACE, **settings: Any) -> TriggerServices:
    """For one wait."""
    return TriggerServices(
        namespace=namespace,
        name="wait",
        segment_id=SegmentId("uid", 1, 0),
        backends=given or backends(**settings),
        registry=_registry(),
    )


@cache
def _registry() -> Registry:
    return load({})


async def event(trigger: Any, given: Backends | None = None, **settings: Any) -> Any:
    """What it fires; what it shared is closed where nobody else uses it. `settings` are those of the sources."""
    used = given or backends(**settings)
    trigger.bind(services(used))
    try:
        return await first(trigger)
    finally:
        await used.pollers.ended()
        await used.clients.closed()


async def first(trigger: Any) -> Any:
    """What one that is bound fires."""
    events = trigger.run()
    async with asyncio.timeout(TIMEOUT):
        async for event in events:
            await events.aclose()
            return event.payload
    raise AssertionError("it ended without an event")


@asynccontextmanager
async def waiting(trigger: Any, given: Backends | None = None, **settings: Any) -> AsyncIterator["asyncio.Task[Any]"]:
    """A trigger that runs meanwhile; the task gives what it fires."""
    task = asyncio.create_task(event(trigger, given, **settings))
    try:
        yield task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def looked(trigger: Any, words: str) -> str:
    """What it said of its last look, once that has these words in it."""
    try:
        await until(lambda: words in trigger.last_look)
    except TimeoutError:
        raise AssertionError(f"its last look is {trigger.last_look!r}, not {words!r}") from None
    return str(trigger.last_look)


async def until(holds: Callable[[], bool]) -> None:
    """Poll a condition until it holds. Raises TimeoutError after three minutes."""
    async with asyncio.timeout(TIMEOUT):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.02)

"""Many Workflows of one namespace, whose expressions take for ever, and the runs of another."""

import asyncio
from collections.abc import AsyncIterator, Mapping

import pytest
from torpor_api.client.resources import WORKFLOWS
from torpor_cel.errors import ExpressionError
from torpor_cel.evaluator import InProcess
from torpor_cel.value import JSON, Value
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.settings import Settings

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import VirtualClock, settle

LOUD = "loud"


class Stuck(InProcess):
    """Never has a value for the loud namespace, as if a thousand slow expressions were before it."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def evaluate(
        self, expression: str, variables: Mapping[str, JSON], *, share: str = ""
    ) -> Value | ExpressionError:
        self.asked.append(share)
        if share == LOUD:
            await asyncio.Event().wait()
        return await super().evaluate(expression, variables)


@pytest.fixture
async def rig() -> AsyncIterator[ControllerHarness]:
    made = ControllerHarness(Settings(reconcilers=2))
    made.reconciler._resolver._evaluator = Stuck()
    async with made.running() as running:
        yield running


async def test_expressions_of_one_namespace_that_take_for_ever_hold_up_no_run_of_another(
    rig: ControllerHarness,
) -> None:
    for number in range(30):
        tasks = [python("work", when="params.x > 1")]
        spec = {"image": "i", "params": {"x": 1}, "tasks": tasks}
        rig.fake.put(WORKFLOWS, {"metadata": {"name": f"w{number}", "namespace": LOUD}, "spec": spec})
    await rig.advance(1)
    rig.create("run", python("work", when="1 < 2"))
    await rig.advance(3)
    assert rig.state("run") == "Succeeded"
    asked = rig.reconciler._resolver._evaluator.asked  # type: ignore[attr-defined]
    assert set(asked) == {LOUD, NAMESPACE}
    assert asked.count(LOUD) < 30, "a namespace has only so many Workflows under way"


async def test_namespaces_take_turns_in_the_queue() -> None:
    queue = WorkQueue(VirtualClock())
    for name in ("a1", "a2", "a3"):
        queue.add(Key("a", name))
    queue.add(Key("b", "b1"))
    assert [(await queue.get()).name for _ in range(4)] == ["a1", "b1", "a2", "a3"]


async def test_only_so_many_keys_of_a_namespace_are_worked_on_at_a_time() -> None:
    queue = WorkQueue(VirtualClock(), keys_per_namespace=2)
    for name in ("a1", "a2", "a3"):
        queue.add(Key("a", name))
    first, second = await queue.get(), await queue.get()
    third = asyncio.create_task(queue.get())
    await settle()
    assert not third.done()
    queue.done(second)
    assert (await third).name == "a3"
    queue.done(first)

"""One Workflow or namespace does not delay the others, and requests are bounded."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from itertools import pairwise

import pytest
from torpor_expressions.errors import ExpressionError
from torpor_expressions.evaluator import InProcess
from torpor_expressions.value import JSON, Value
from torpor_kubernetes.client.resources import PODS, WORKFLOWS
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.settings import Settings
from torpor_operator.workflows.plan.planner import plan
from torpor_operator.workflows.plan.run_context import BuildGraph

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault, VirtualClock, settle

BUSY = "busy"
SIZE = 200


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


class BlockedEvaluator(InProcess):
    """Never returns for the busy namespace, as if a thousand slow expressions were queued."""

    def __init__(self) -> None:
        self.namespaces: list[str] = []

    async def evaluate(
        self, expression: str, variables: Mapping[str, JSON], *, share: str = ""
    ) -> Value | ExpressionError:
        self.namespaces.append(share)
        if share == BUSY:
            await asyncio.Event().wait()
        return await super().evaluate(expression, variables)


async def test_slow_expressions_of_one_namespace_do_not_delay_another() -> None:
    evaluator = BlockedEvaluator()
    harness = ControllerHarness(Settings(reconcilers=2), evaluator=evaluator)
    for number in range(30):
        tasks = [python("work", when="params.x > 1")]
        spec = {"image": "i", "params": {"x": 1}, "tasks": tasks}
        harness.fake.put(WORKFLOWS, {"metadata": {"name": f"w{number}", "namespace": BUSY}, "spec": spec})
    async with harness.running():
        await harness.advance(1)
        harness.create("run", python("work", when="1 < 2"))
        await harness.advance(3)
        assert harness.state("run") == "Succeeded"
    assert set(evaluator.namespaces) == {BUSY, NAMESPACE}
    assert evaluator.namespaces.count(BUSY) < 30, "the queue bounds the Workflows of a namespace"


@pytest.mark.attack
async def test_a_namespace_beyond_its_rate_of_writes_delays_no_other() -> None:
    settings = Settings(reconcilers=2, namespace_write_rate=1.0, namespace_write_burst=20.0)
    harness = ControllerHarness(settings)
    for number in range(30):
        spec = {"image": "i", "tasks": [python("work", expand=[{"name": "n", "over": list(range(10))}])]}
        harness.fake.put(WORKFLOWS, {"metadata": {"name": f"w{number}", "namespace": BUSY}, "spec": spec})
    async with harness.running():
        await harness.advance(5)
        of_busy = [
            write for write in harness.fake.writes() if f"/{BUSY}/" in write.path and not write.path.endswith("/events")
        ]
        assert len(of_busy) <= 20 + 5 + 1 * 5
        harness.create("run", python("work"))
        await harness.advance(3)
        assert harness.state("run") == "Succeeded"


async def test_namespaces_take_turns_in_the_queue() -> None:
    queue = WorkQueue(VirtualClock())
    for name in ("a1", "a2", "a3"):
        queue.add(Key("a", name))
    queue.add(Key("b", "b1"))
    assert [(await queue.get()).name for _ in range(4)] == ["a1", "b1", "a2", "a3"]


async def test_the_keys_of_a_namespace_that_are_processed_at_a_time_are_bounded() -> None:
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


async def test_a_large_workflow_is_planned_at_intervals_that_grow_with_its_size(
    harness: ControllerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    moments: list[float] = []

    def counted(snapshot: Snapshot, build_graph: BuildGraph) -> WorkflowPlan:
        if len(snapshot.taskruns) == SIZE:
            moments.append(snapshot.now)
        return plan(snapshot, build_graph)

    monkeypatch.setattr("torpor_operator.workflows.reconciler.plan", counted)
    harness.create("run", python("load", expand=[{"name": "n", "over": list(range(SIZE))}]), parallelism=SIZE)
    await harness.advance(3)
    assert harness.state("run") == "Succeeded"
    assert len(moments) > 3
    assert min(later - earlier for earlier, later in pairwise(moments)) >= SIZE / 10_000 - 1e-6


async def test_a_failing_status_write_is_retried_with_backoff_and_delays_no_action(
    harness: ControllerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness.fake.inject(Fault(status=503, method="PATCH", path="/run/status", times=100))
    harness.create("run", python("a"), python("b", after=["a"]))
    await harness.advance(60)
    assert len(harness.fake.all(PODS)) == 2
    tried = [request for request in harness.fake.writes() if request.path.endswith("/run/status")]
    assert 4 <= len(tried) <= 16
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]

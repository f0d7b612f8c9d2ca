"""A reconcile pass keeps what later passes need: the graph, unposted Events, and other Workflows when one fails."""

import logging
from collections.abc import AsyncIterator, Sequence

import pytest
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client.resources import ACCOUNTS, EVENTS, WORKFLOWS
from torpor_operator.graph.dag import Graph, GraphProblem
from torpor_operator.model.actions import Action, PostEvent, ReadAccount
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.model.workflow_plan import WorkflowPlan
from torpor_operator.settings import Settings
from torpor_operator.workflows.executor import WorkflowExecutor
from torpor_operator.workflows.graph_builder import GraphBuilder
from torpor_operator.workflows.plan.planner import plan
from torpor_operator.workflows.plan.run_context import BuildGraph
from torpor_operator.workflows.reconciler import WorkflowMemory
from torpor_wire import constants

from tests.support.builders import NAMESPACE, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault


def broken_task(task: str, attempt: int) -> None:
    raise RuntimeError(f"{task} broke in attempt {attempt}")


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


async def test_an_event_of_an_ended_run_is_posted_once_the_server_accepts_it(
    harness: ControllerHarness,
) -> None:
    harness.script = broken_task
    harness.fake.inject(Fault(status=503, method="POST", path="/events", times=3))
    harness.create("run", python("bad"))
    await harness.advance(30)
    assert harness.state("run") == "Failed"
    assert {"kind": "TaskRun", "reason": "Error"} in [
        {"kind": event["regarding"]["kind"], "reason": event["reason"]} for event in harness.fake.all(EVENTS)
    ]


async def test_an_event_that_is_never_accepted_is_given_up(harness: ControllerHarness) -> None:
    harness.script = broken_task
    harness.fake.inject(Fault(status=503, method="POST", path="/events", times=10_000))
    harness.create("run", python("bad"))
    await harness.advance(600)
    before = len(harness.fake.requests)
    await harness.advance(250)
    assert len(harness.fake.requests) == before


async def test_the_events_of_a_pass_share_the_concurrent_writes_of_their_run(
    harness: ControllerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    apply = WorkflowExecutor.apply

    async def counted(executor: WorkflowExecutor, workflow: Workflow, actions: Sequence[Action]) -> Sequence[Action]:
        batches.append(sum(isinstance(action, PostEvent) for action in actions))
        return await apply(executor, workflow, actions)

    monkeypatch.setattr(WorkflowExecutor, "apply", counted)
    harness.script = broken_task
    harness.create("run", python("bad", expand=[{"name": "n", "over": list(range(40))}]), parallelism=40)
    await harness.advance(20)
    assert harness.state("run") == "Failed"
    assert max(batches) > 6
    assert len([count for count in batches if count]) < 20


async def test_a_run_that_has_ended_keeps_no_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    memories: list[WorkflowMemory] = []

    def recorded() -> WorkflowMemory:
        memories.append(WorkflowMemory())
        return memories[-1]

    monkeypatch.setattr("torpor_operator.workflows.reconciler.WorkflowMemory", recorded)
    async with ControllerHarness(Settings()).running() as harness:
        harness.create("run", python("a"), suspend=True)
        await harness.advance(1)
        (memory,) = memories
        assert memory.graph is not None
        harness.fake.edit(WORKFLOWS, NAMESPACE, "run", {"spec": {"suspend": False}})
        await harness.advance(5)
        assert harness.state("run") == "Succeeded"
        await harness.advance(400)
        assert memory.graph is None


async def test_the_graph_is_built_once_for_each_generation_of_the_spec(
    harness: ControllerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    generations: list[int] = []

    async def counted(builder: GraphBuilder, workflow: Workflow) -> Graph | GraphProblem:
        generations.append(workflow.metadata.generation)
        return await build(builder, workflow)

    build = GraphBuilder.build
    monkeypatch.setattr(GraphBuilder, "build", counted)
    harness.create("run", python("a"), python("b", after=["a"]), suspend=True)
    await harness.advance(1)
    harness.fake.edit(WORKFLOWS, NAMESPACE, "run", {"spec": {"suspend": False}})
    await harness.advance(5)
    assert harness.state("run") == "Succeeded"
    assert generations == [1, 2]


async def test_a_step_of_a_chain_takes_few_plans(harness: ControllerHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = 0

    def counted(snapshot: Snapshot, build_graph: BuildGraph) -> WorkflowPlan:
        nonlocal plans
        plans += 1
        return plan(snapshot, build_graph)

    monkeypatch.setattr("torpor_operator.workflows.reconciler.plan", counted)
    tasks = [python(f"s{number}", after=[f"s{number - 1}"] if number else []) for number in range(20)]
    harness.create("run", *tasks)
    await harness.advance(10)
    assert harness.state("run") == "Succeeded"
    assert plans <= 50


async def test_the_first_status_of_a_run_counts_its_first_taskruns(harness: ControllerHarness) -> None:
    harness.create("run", python("a"))
    await harness.advance(5)
    assert harness.state("run") == "Succeeded"
    first, last = [write for write in harness.writes("PATCH", "workflows") if write.path.endswith("/status")]
    assert [task["created"] for task in first.body[-1]["value"]["tasks"]] == [1]
    assert last.body[-1]["value"]["completionTime"]


async def test_the_first_status_is_written_although_no_taskrun_can_be_created(harness: ControllerHarness) -> None:
    harness.fake.inject(Fault(status=503, method="POST", path="/taskruns", times=10_000))
    harness.create("run", python("a"))
    await harness.advance(5)
    assert harness.workflow("run")["status"]["startTime"]


async def test_an_unexpected_error_of_one_workflow_does_not_stop_another(
    harness: ControllerHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries = 0

    def broken(snapshot: Snapshot, build_graph: BuildGraph) -> WorkflowPlan:
        nonlocal tries
        if snapshot.workflow.metadata.name == "bad":
            tries += 1
            raise KeyError("a bug")
        return plan(snapshot, build_graph)

    monkeypatch.setattr("torpor_operator.workflows.reconciler.plan", broken)
    with caplog.at_level(logging.CRITICAL):
        harness.create("bad", python("a"))
        harness.create("good", python("a"))
        await harness.advance(60)
    assert harness.state("good") == "Succeeded"
    assert 4 <= tries <= 10


async def test_a_pass_after_a_failed_one_asks_again_who_may_use_an_account(
    harness: ControllerHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = {constants.ACCOUNT_TOKENS: constants.TOKENS_ALLOWED}
    harness.fake._routes.serve(ACCOUNTS)
    harness.fake.put(ACCOUNTS, {"metadata": {"name": "loader", "namespace": NAMESPACE, "annotations": mark}})
    withdrawn = {"metadata": {"annotations": {constants.ACCOUNT_TOKENS: None}}}
    failures = 0

    def failing(snapshot: Snapshot, build_graph: BuildGraph) -> WorkflowPlan:
        nonlocal failures
        if failures == 0 and any(isinstance(need, ReadAccount) for need in snapshot.known):
            failures += 1
            harness.fake.edit(ACCOUNTS, NAMESPACE, "loader", withdrawn)
            raise RuntimeError("a bug of a plan")
        return plan(snapshot, build_graph)

    monkeypatch.setattr("torpor_operator.workflows.reconciler.plan", failing)
    harness.create("run", python("a", pod={"serviceAccountName": "loader"}))
    await harness.advance(10)
    assert failures == 1
    assert harness.taskrun("run", "a")["status"]["reason"] == "Forbidden"

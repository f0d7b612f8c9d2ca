"""A run that ends early: cancelled, stopped, deleted or timed out."""

import pytest
from torpor_crds.models.workflow import Workflow
from torpor_operator.graph.dag import Graph, GraphProblem
from torpor_operator.settings import Settings
from torpor_operator.workflows.plan.planner import plan
from torpor_wire import constants, transitions
from torpor_wire.state import State

from tests.support.builders import NOW, python, wait
from tests.support.plan_fixture import PlanFixture

GRACE = Settings().triggerer_grace


def test_cancel_ends_tasks_in_every_state_and_starts_nothing() -> None:
    retried = python("retried", retries={"limit": 1})
    tasks = [python("scheduled"), python("running"), retried, python("ended"), python("next", after=["running"])]
    world = PlanFixture(*tasks).settle().succeed("ended").fail("retried")
    world.claim("running")
    world.change(cancel=True)
    assert world.tasks() == {
        "scheduled": "Cancelled",
        "running": "Cancelled",
        "retried": "Cancelled",
        "ended": "Succeeded",
        "next": "Cancelled",
    }
    assert [name for name in ("scheduled", "running", "retried") if world.live_pods(name)] == []
    assert not world.has("next")
    assert world.run("running").status.message == "spec.cancel was set"
    assert world.condition() == ("False", "Cancelled", "spec.cancel was set")


def test_the_triggerer_cancels_a_deferred_task() -> None:
    world = PlanFixture(wait("drop"), python("a")).settle().change(cancel=True)
    assert world.state("drop") is State.DEFERRED
    assert world.run("drop").status.cancel is not None
    assert world.status.state == "Cancelling"
    assert world.status.completion_time is None
    run = world.run("drop")
    world.api.patch(run, transitions.cancel(run.pin(), message="on_kill has run", now=world.now))
    world.settle()
    assert world.condition()[:2] == ("False", "Cancelled")


def test_the_operator_cancels_a_deferred_task_that_no_triggerer_cancelled() -> None:
    world = PlanFixture(wait("drop")).settle().change(cancel=True)
    assert world.plan().again_at == NOW + GRACE
    assert world.advance(GRACE - 1).state("drop") is State.DEFERRED
    assert world.advance(1).state("drop") is State.CANCELLED
    assert world.run("drop").status.message == "spec.cancel was set (no triggerer responded)"
    assert world.status.completion_time is not None


def test_a_trigger_that_fires_during_cancellation_starts_no_pod() -> None:
    world = PlanFixture(python("a")).settle().defer("a").change(cancel=True).fire("a")
    assert world.state("a") is State.CANCELLED
    assert world.live_pods("a") == []


def refuse_to_build(_: Workflow) -> Graph | GraphProblem:
    raise AssertionError("the plan needs a graph")


@pytest.mark.attack
@pytest.mark.parametrize("ending", ["delete", "cancel"])
def test_a_run_ends_at_once_without_a_graph(ending: str) -> None:
    world = PlanFixture(
        python("a"), python("b", after=["a"]), wait("c", expand=[{"name": "url", "over": ["x", "y"]}])
    ).settle()
    world.delete() if ending == "delete" else world.change(cancel=True)
    for _ in range(9):
        world.apply(plan(world.snapshot(), refuse_to_build))
        world.advance(GRACE)
    assert world.api.deleted == (ending == "delete")
    if ending == "cancel":
        assert world.condition()[1] == "Cancelled"
        assert set(world.tasks().values()) == {"Cancelled"}
        assert constants.FINALIZER not in world.stored.metadata.finalizers


@pytest.mark.attack
def test_a_deleted_run_whose_groups_are_invalid_is_let_go() -> None:
    world = PlanFixture(
        python("a", group="g"), groups=[{"name": "g", "in": "g", "expand": [{"name": "x", "over": [1]}]}]
    )
    world.delete()
    planned = plan(world.snapshot(), refuse_to_build)
    assert planned.status is not None
    assert planned.status.completion_time is not None


def test_a_deleted_run_cancels_its_taskruns_before_its_finalizer_goes() -> None:
    world = PlanFixture(python("a"), wait("drop")).settle()
    world.claim("a")
    world.delete()
    world.settle()
    assert world.state("a") is State.CANCELLED
    assert not world.api.deleted
    world.advance(GRACE)
    assert world.state("drop") is State.CANCELLED
    assert world.api.deleted


def test_a_finished_run_is_deleted_at_once() -> None:
    world = PlanFixture(python("a")).settle().succeed("a")
    assert world.workflow["metadata"]["finalizers"] == []
    world.delete()
    assert world.api.deleted


def test_a_run_gets_its_finalizer_before_it_creates_anything() -> None:
    world = PlanFixture(python("a"))
    world.workflow["metadata"]["finalizers"] = ["example.org/other"]
    world.apply(world.plan())
    assert world.workflow["metadata"]["finalizers"] == ["example.org/other", constants.FINALIZER]
    assert world.taskruns == {}
    assert world.settle().succeed("a").workflow["metadata"]["finalizers"] == ["example.org/other"]


def test_a_run_deleted_before_its_start_creates_nothing() -> None:
    world = PlanFixture(python("a"))
    world.workflow["metadata"]["finalizers"] = ["example.org/other"]
    world.delete()
    world.settle()
    assert world.taskruns == {}
    assert constants.FINALIZER not in world.workflow["metadata"]["finalizers"]


def test_a_run_that_exceeds_its_timeout_is_cancelled() -> None:
    world = PlanFixture(python("a"), wait("drop"), timeout="1h").settle()
    world.claim("a")
    assert world.settle().plan().again_at == NOW + 3600
    world.advance(3599)
    assert world.state("a") is State.RUNNING
    world.advance(1).advance(GRACE)
    assert world.tasks() == {"a": "Cancelled", "drop": "Cancelled"}
    assert world.condition() == ("False", "Timeout", "the run exceeded its timeout of 1h")


@pytest.mark.parametrize("lost", ["pod", "taskrun"])
def test_a_taskrun_that_vanishes_during_cancellation_does_not_block_it(lost: str) -> None:
    world = PlanFixture(python("a"), python("b")).settle()
    world.claim("a")
    if lost == "pod":
        world.lose_pod("a")
    else:
        world.lose_taskrun("a")
    assert world.change(cancel=True).status.completion_time is not None


def test_a_task_that_ended_before_the_cancellation_keeps_its_state() -> None:
    world = PlanFixture(python("a"), python("b")).settle().fail("a", "no disk").change(cancel=True)
    assert world.tasks() == {"a": "Failed", "b": "Cancelled"}
    assert world.condition()[1] == "Cancelled"


END = python("last", hook="end", args={"why": "${run.state}/${run.reason}: ${run.message}"})


def clear(world: PlanFixture, text: str) -> PlanFixture:
    world.workflow["metadata"].setdefault("annotations", {})[constants.CLEAR] = text
    return world.settle()


def mapped(**fields: object) -> dict[str, object]:
    return python("load", expand=[{"name": "n", "over": [1, 2, 3, 4]}], **fields)


def test_a_stop_cancels_the_taskruns_and_then_runs_the_hooks() -> None:
    hooks = [END, python("well", hook="success"), python("badly", hook="failure")]
    world = PlanFixture(python("a"), wait("drop"), python("next", after=["a"]), *hooks).settle()
    world.change(stop=True)
    assert (world.status.state, world.has("last")) == ("Cancelling", False)
    world.advance(GRACE)
    assert world.tasks() == {
        "a": "Cancelled",
        "drop": "Cancelled",
        "next": "Cancelled",
        "last": "Running",
        "well": "Skipped",
        "badly": "Running",
    }
    assert world.status.state == "Finishing"
    assert world.arguments("last") == {"why": '"Failed/Cancelled: spec.stop was set"'}
    world.succeed("badly").succeed("last")
    assert world.condition() == ("False", "Cancelled", "spec.stop was set")


def test_a_run_that_is_suspended_is_stopped_with_its_hooks() -> None:
    world = PlanFixture(python("a"), python("b"), END, suspend=True).settle().change(stop=True)
    assert world.has("last")
    assert not world.has("a")
    assert world.succeed("last").condition()[1] == "Cancelled"


def test_a_stop_while_only_hooks_run_changes_nothing() -> None:
    world = PlanFixture(python("a"), END).settle().succeed("a").change(stop=True)
    assert world.status.state == "Finishing"
    assert world.succeed("last").condition()[0] == "True"


def test_a_cancel_after_a_stop_ends_the_hooks_too() -> None:
    world = PlanFixture(python("a"), END).settle().change(stop=True)
    assert world.status.state == "Finishing"
    world.change(cancel=True)
    assert world.tasks() == {"a": "Cancelled", "last": "Cancelled"}
    assert world.condition() == ("False", "Cancelled", "spec.cancel was set")


@pytest.mark.parametrize("field", ["stop", "cancel"])
def test_a_cancelled_run_resumes_where_it_ended(field: str) -> None:
    world = PlanFixture(python("a"), python("b", after=["a"]), python("c", after=["b"]), END).settle().succeed("a")
    kept = world.run("a").metadata.uid
    world.change(**{field: True})
    if field == "stop":
        world.succeed("last")
    assert world.condition()[1] == "Cancelled"
    clear(world, "failed")
    assert (world.workflow["spec"]["stop"], world.workflow["spec"]["cancel"]) == (False, False)
    assert world.run("a").metadata.uid == kept
    world.succeed("b").succeed("c")
    assert world.succeed("last").condition()[0] == "True"
    assert world.run("b").spec.clears == 1


def test_a_resumed_run_creates_the_instances_that_the_cancellation_left_out() -> None:
    world = PlanFixture(mapped(), python("report", args={"rows": "${tasks.load.results}"}), parallelism=2).settle()
    world.succeed("load", "1", 0).claim("load", 1)
    world.change(cancel=True)
    entry = world.task("load")
    assert (entry.state, entry.total) == ("Cancelled", 4)
    clear(world, "failed")
    for index in (1, 2, 3):
        world.succeed("load", "1", index)
    assert world.succeed("report").tasks() == {"load": "Succeeded", "report": "Succeeded"}
    assert world.task("load").succeeded == 4


def test_a_partly_created_mapped_task_is_cancelled_and_resumes() -> None:
    world = PlanFixture(mapped(), parallelism=1).settle().succeed("load", "1", 0)
    world.change(suspend=True).succeed("load", "1", 1).change(cancel=True)
    entry = world.task("load")
    assert (entry.state, entry.reason, entry.total, entry.created) == ("Cancelled", "Cancelled", 4, 2)
    clear(world, "failed").change(suspend=False)
    for index in (2, 3):
        world.succeed("load", "1", index)
    assert world.tasks() == {"load": "Succeeded"}


def test_a_run_that_timed_out_resumes_with_the_missing_instances() -> None:
    world = PlanFixture(mapped(), parallelism=2, timeout="1h").settle().succeed("load", "1", 0)
    world.advance(3600)
    assert world.condition()[1] == "Timeout"
    assert world.now == NOW + 3600
    clear(world, "failed")
    for index in (1, 2, 3):
        world.succeed("load", "1", index)
    assert world.condition()[0] == "True"

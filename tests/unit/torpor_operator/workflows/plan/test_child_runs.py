"""`run`: a task that is a run of a template."""

import json

import pytest
from torpor_crds.models import workflow
from torpor_operator.taskrun.child_run import child_name
from torpor_operator.workflows.plan.start import template_copy
from torpor_wire import constants, retry, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.support.builders import NAMESPACE, UID, Body, python, run_of
from tests.support.plan_fixture import PlanFixture


def child_of(cluster: PlanFixture, task: str, index: int = constants.UNMAPPED) -> Body:
    """The run that the present attempt of a task has started."""
    return cluster.api.children[child_name(cluster.run(task, index))]


def test_the_run_is_created_before_the_task_waits_for_it() -> None:
    cluster = PlanFixture(run_of("load", params={"day": "${params.day}"}), params={"day": "monday"})
    cluster.apply(cluster.plan())
    cluster.apply(cluster.plan())
    child = child_of(cluster, "load")
    assert cluster.state("load") is State.SCHEDULED
    cluster.settle()
    waiting = cluster.run("load").status.trigger
    assert cluster.state("load") is State.DEFERRED
    assert waiting is not None
    assert json.loads(waiting.kwargs) == {"name": child["metadata"]["name"], "state": "succeeded", "whole": True}
    assert not cluster.pods


def test_the_run_has_its_template_params_owner_and_parent() -> None:
    cluster = PlanFixture(run_of("load", params={"day": "monday"})).settle()
    taskrun, child = cluster.run("load").metadata, child_of(cluster, "load")
    assert child["spec"] == {
        "templateRef": {"name": "child"},
        "params": {"day": "monday"},
        "parent": {
            "workflow": "run",
            "taskRun": taskrun.name,
            "uid": taskrun.uid,
            "attempt": 1,
            "clears": 0,
            "depth": 1,
            "root": UID,
        },
    }
    (owner,) = child["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == ("TaskRun", taskrun.uid, True)
    assert child["metadata"]["namespace"] == NAMESPACE
    assert child["metadata"]["labels"] == {constants.LABEL_PARENT: "run"}


def test_items_of_a_mapped_task_are_params_by_name() -> None:
    task = run_of("load", params={"day": "monday"}, expand=[{"name": "city", "over": ["a", "b"]}])
    cluster = PlanFixture(task).settle()
    assert [child_of(cluster, "load", index)["spec"]["params"] for index in range(2)] == [
        {"city": "a", "day": "monday"},
        {"city": "b", "day": "monday"},
    ]


def test_params_that_use_mapping_are_all_params() -> None:
    task = run_of("load", params={"at": "${mapping.value.name}"}, expandKwargs=[{"name": "a", "url": "x"}])
    cluster = PlanFixture(task).settle()
    assert child_of(cluster, "load", 0)["spec"]["params"] == {"at": "a"}


@pytest.mark.parametrize(
    ("fields", "reason", "message"),
    [
        ({"params": {"a": "x" * 9000}}, "ArgumentsTooLarge", "run.params: the params have 9,008 bytes; the limit is"),
        ({"params": {"a": "${1 / params.zero}"}}, "ExpressionFailed", "run.params: "),
        (
            {"params": {"a": 1}, "expandKwargs": [{"a": 2}]},
            "ExpandInvalid",
            "expandKwargs: item 0: a is also in run.params; remove one",
        ),
    ],
)
def test_params_that_cannot_be_stored_fail_the_task(fields: Body, reason: str, message: str) -> None:
    cluster = PlanFixture(run_of("load", **fields), params={"zero": 0}).settle()
    assert (cluster.task("load").state, cluster.task("load").reason) == ("Failed", reason)
    assert (cluster.task("load").message or "").startswith(message)
    assert not cluster.api.children


def test_a_task_with_its_own_result_does_not_need_that_of_the_run() -> None:
    cluster = PlanFixture(run_of("load", result="event.name")).settle()
    spec, waiting = cluster.run("load").spec, cluster.run("load").status.trigger
    assert spec.result == "event.name"
    assert waiting is not None
    assert "whole" not in json.loads(waiting.kwargs)
    assert PlanFixture(run_of("load")).settle().run("load").spec.result == "has(event.result) ? event.result : null"


def test_a_task_holds_a_slot_until_its_run_has_ended() -> None:
    mapped = run_of("load", expand=[{"name": "n", "over": [1, 2, 3]}])
    cluster = PlanFixture(mapped, parallelism=2).settle()
    assert len(cluster.api.children) == 2
    cluster.end_wait("load", "1", 0)
    assert len(cluster.api.children) == 3


def test_max_active_limits_the_runs_of_a_task() -> None:
    mapped = run_of("load", expand=[{"name": "n", "over": [1, 2, 3]}], maxActive=1)
    cluster = PlanFixture(mapped).settle()
    assert len(cluster.api.children) == 1


def test_a_retry_starts_another_run_and_ends_the_former() -> None:
    cluster = PlanFixture(run_of("load", retries={"limit": 1, "delay": "10s"})).settle()
    first = child_of(cluster, "load")
    failed = transitions.fail(
        cluster.run("load").pin(), retry.Policy(1, 10.0), reason=Reason.DEFERRAL_TIMEOUT, message="", now=cluster.now
    )
    cluster.api.patch(cluster.run("load"), failed)
    cluster.settle()
    assert first["spec"]["cancel"] is True
    cluster.advance(60)
    second = child_of(cluster, "load")
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert "cancel" not in second["spec"]


@pytest.mark.parametrize(
    ("change", "ending"),
    [({"cancel": True}, "cancel"), ({"stop": True}, "stop"), ({"stop": True, "cancel": True}, "cancel")],
)
def test_the_end_of_a_run_ends_those_that_it_has_started(change: Body, ending: str) -> None:
    cluster = PlanFixture(run_of("load")).settle()
    cluster.change(**change)
    assert {name for name in ("stop", "cancel") if child_of(cluster, "load")["spec"].get(name)} == {ending}


def test_the_deletion_of_a_run_cancels_those_that_it_has_started() -> None:
    cluster = PlanFixture(run_of("load")).settle()
    child = child_of(cluster, "load")
    cluster.delete()
    cluster.settle()
    assert child["spec"]["cancel"] is True


def test_a_lost_cancellation_is_repeated_after_the_end_of_the_run() -> None:
    cluster = PlanFixture(run_of("load")).settle()
    child = child_of(cluster, "load")
    cluster.change(cancel=True)
    cancelled = transitions.cancel(cluster.run("load").pin(), message="", now=cluster.now)
    cluster.api.patch(cluster.run("load"), cancelled)
    cluster.settle()
    assert cluster.status.completion_time is not None
    child["spec"]["cancel"] = False  # the write was lost
    assert cluster.settle().api.children[child["metadata"]["name"]]["spec"]["cancel"] is True


def test_a_run_that_has_ended_is_not_changed() -> None:
    cluster = PlanFixture(run_of("load")).settle()
    child_of(cluster, "load")["status"] = {"state": "Succeeded", "completionTime": "2026-11-22T10:00:00Z"}
    cluster.change(cancel=True)
    assert "cancel" not in child_of(cluster, "load")["spec"]


def test_a_run_that_a_user_cleared_after_its_end_goes_on() -> None:
    cluster = PlanFixture(run_of("load"), python("other", after=["load"], rule="all_done")).settle()
    child = child_of(cluster, "load")
    child["status"] = {"state": "Succeeded", "completionTime": "2026-11-22T09:00:00Z"}
    cluster.end_wait("load")
    child["status"] = {"state": "Running", "reopenedTime": "2026-11-22T10:00:00Z", "clears": 1}
    cluster.settle()
    assert "cancel" not in child["spec"]
    cluster.change(cancel=True)
    assert child["spec"].get("cancel") is True


def test_a_suspension_goes_down_and_ends_with_that_of_the_parent() -> None:
    cluster = PlanFixture(run_of("load")).settle()
    cluster.change(suspend=True)
    child = child_of(cluster, "load")
    suspended = [child["spec"]["suspend"]]
    cluster.change(suspend=False)
    assert [*suspended, child["spec"]["suspend"]] == [True, False]
    assert child["metadata"]["annotations"] == {}


def test_a_run_that_a_user_suspended_stays_suspended() -> None:
    cluster = PlanFixture(run_of("load")).settle()
    child = child_of(cluster, "load")
    child["spec"]["suspend"] = True
    cluster.change(suspend=True).change(suspend=False)
    assert child["spec"]["suspend"] is True


def test_a_run_that_was_deleted_fails_the_task_that_waits_for_it() -> None:
    cluster = PlanFixture(run_of("load", retries={"limit": 3})).settle()
    name = child_of(cluster, "load")["metadata"]["name"]
    cluster.api.children.clear()
    cluster.settle()
    status = cluster.run("load").status
    assert (status.state, status.reason) == (State.FAILED, "RunDeleted")
    assert status.message == f"run {name} was deleted before its end was seen; clear the task to start another run"


def test_a_run_that_the_cache_does_not_show_is_not_taken_for_deleted() -> None:
    cluster = PlanFixture(run_of("load")).settle()
    cluster.api.unseen.add(child_of(cluster, "load")["metadata"]["name"])
    cluster.settle()
    assert cluster.state("load") is State.DEFERRED


@pytest.mark.attack
def test_a_template_that_starts_itself_ends_at_the_fifth_level() -> None:
    parent = {"workflow": "outer", "taskRun": "t", "uid": "u", "depth": constants.RUN_DEPTH_MAX, "root": "root-uid"}
    cluster = PlanFixture(run_of("load", retries={"limit": 3}), parent=parent).settle()
    status = cluster.run("load").status
    assert (status.state, status.reason) == (State.FAILED, "RunLimitReached")
    assert "would be contained in 6 runs; the limit is 5" in (status.message or "")
    assert not cluster.api.children


@pytest.mark.attack
def test_a_nested_run_counts_for_the_outermost_one() -> None:
    parent = {"workflow": "outer", "taskRun": "t", "uid": "u", "depth": 1, "root": "root-uid"}
    cluster = PlanFixture(run_of("load"), parent=parent)
    cluster.api.runs_of_root = constants.CHILD_RUNS_MAX
    cluster.settle()
    assert cluster.run("load").status.reason == "RunLimitReached"
    cluster = PlanFixture(run_of("load"), parent=parent).settle()
    started = workflow.parse(child_of(cluster, "load")).spec.parent
    assert started is not None
    assert (started.depth, started.root) == (2, "root-uid")


def test_a_run_is_kept_while_a_task_waits_for_it() -> None:
    cluster = PlanFixture(python("a"), ttlAfterFinished="0s")
    cluster.api.awaited = True
    cluster.settle().succeed("a")
    assert not cluster.api.deleted
    assert "deletionTimestamp" not in cluster.workflow["metadata"]
    cluster.api.awaited = False
    assert "deletionTimestamp" in cluster.settle().workflow["metadata"]


def test_the_copy_of_a_template_leaves_the_parent_of_the_run() -> None:
    assert "parent" in template_copy.RUN_FIELDS

"""`run.name`, `run.wait`, `run.deletionPolicy`, and tasks that wait again for a run that was cleared."""

import json
from typing import Any

import pytest
from torpor_operator.taskrun.child_run import child_name
from torpor_wire import constants, retry, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.support.builders import UID, Body, python, run_of
from tests.support.plan_fixture import PlanFixture

_ENDED: Body = {"state": "Failed", "completionTime": "2026-11-22T09:00:00Z", "clears": 0}
_CLEARED: Body = {"state": "Running", "reopenedTime": "2026-11-22T10:00:00Z", "clears": 1}


def child_of(cluster: PlanFixture, task: str = "load") -> Body:
    """The run that the present attempt of a task has started."""
    return cluster.api.children[child_name(cluster.run(task))]


def fail(cluster: PlanFixture, task: str = "load") -> None:
    """The run fails, and the triggerer sees it."""
    child_of(cluster, task)["status"] = dict(_ENDED)
    failed = transitions.fail(
        cluster.run(task).pin(), retry.Policy(), reason=Reason.TRIGGER_FAILED, message="it failed", now=cluster.now
    )
    cluster.api.patch(cluster.run(task), failed)
    cluster.settle()


def clear(cluster: PlanFixture, text: str = "load") -> None:
    """As `kubectl annotate workflow run torpor.dev/clear=...` does."""
    cluster.workflow["metadata"].setdefault("annotations", {})[constants.CLEAR] = text
    cluster.settle()


def waited_for(cluster: PlanFixture, task: str = "load") -> str:
    waiting = cluster.run(task).status.trigger
    assert waiting is not None
    return str(json.loads(waiting.kwargs)["name"])


def test_the_author_chooses_the_name_of_a_run() -> None:
    cluster = PlanFixture(run_of("load", name_of_run="load-${params.day}"), params={"day": "monday"}).settle()
    assert list(cluster.api.children) == ["load-monday"]
    assert waited_for(cluster) == "load-monday"


def test_the_run_of_a_later_attempt_has_its_number_in_the_name() -> None:
    task = run_of("load", name_of_run="nightly", retries={"limit": 1, "delay": "10s"})
    cluster = PlanFixture(task).settle()
    failed = transitions.fail(
        cluster.run("load").pin(), retry.Policy(1, 10.0), reason=Reason.TRIGGER_FAILED, message="", now=cluster.now
    )
    cluster.api.patch(cluster.run("load"), failed)
    cluster.settle().advance(60)
    assert sorted(cluster.api.children) == ["nightly", "nightly-2"]
    assert waited_for(cluster) == "nightly-2"


def test_a_name_of_another_workflow_fails_the_task() -> None:
    cluster = PlanFixture(run_of("load", name_of_run="nightly", retries={"limit": 3}))
    foreign = {"metadata": {"name": "nightly", "namespace": "ns", "uid": "x"}, "spec": {"tasks": [python("a")]}}
    cluster.api.children["nightly"] = foreign
    cluster.settle()
    status = cluster.run("load").status
    assert (status.state, status.reason) == (State.FAILED, "RunNameTaken")
    assert status.message == (
        "a Workflow named nightly exists that is not the run of this task: delete it, or choose another run.name"
    )


def test_a_run_of_the_name_that_is_being_deleted_is_waited_for() -> None:
    cluster = PlanFixture(run_of("load", name_of_run="nightly"))
    metadata = {"name": "nightly", "namespace": "ns", "uid": "x", "deletionTimestamp": "2026-11-22T09:00:00Z"}
    cluster.api.children["nightly"] = {"metadata": metadata, "spec": {"tasks": [python("a")]}}
    cluster.settle()
    assert cluster.state("load") is State.SCHEDULED
    cluster.api.children.clear()
    assert cluster.settle().state("load") is State.DEFERRED


@pytest.mark.parametrize("name", ["Load", "a b", "x" * 201, "${params.day}", "${params.n}"])
def test_a_value_that_is_no_name_fails_the_task(name: str) -> None:
    cluster = PlanFixture(run_of("load", name_of_run=name), params={"day": "MONDAY", "n": 1}).settle()
    assert (cluster.task("load").state, cluster.task("load").reason) == ("Failed", "ExpressionFailed")
    assert "is not the name of a Workflow" in (cluster.task("load").message or "")


def test_a_task_that_does_not_wait_succeeds_once_its_run_exists() -> None:
    cluster = PlanFixture(
        run_of("load", wait=False), python("next", args={"run": "${tasks.load.result.name}"})
    ).settle()
    child = child_of(cluster)
    status = cluster.run("load").status
    assert status.state is State.SUCCEEDED
    assert json.loads(status.result or "") == {"name": child["metadata"]["name"], "uid": child["metadata"]["uid"]}
    assert child["metadata"]["ownerReferences"] == []
    assert cluster.has("next")


@pytest.mark.parametrize("change", [{"cancel": True}, {"stop": True}, {"suspend": True}])
def test_a_run_that_nobody_waits_for_is_left_alone(change: Body) -> None:
    cluster = PlanFixture(run_of("load", wait=False), python("other")).settle()
    cluster.change(**change)
    assert not child_of(cluster)["spec"].keys() & change.keys()
    cluster.delete()
    assert cluster.settle().api.children


@pytest.mark.attack
def test_a_run_that_does_not_wait_counts_for_the_limits() -> None:
    parent = {"workflow": "outer", "taskRun": "t", "uid": "u", "depth": constants.RUN_DEPTH_MAX, "root": "root-uid"}
    cluster = PlanFixture(run_of("load", wait=False), parent=parent).settle()
    assert cluster.run("load").status.reason == "RunLimitReached"
    cluster = PlanFixture(run_of("load", wait=False))
    cluster.api.runs_of_root = constants.CHILD_RUNS_MAX
    cluster.settle()
    assert cluster.run("load").status.reason == "RunLimitReached"
    assert not cluster.api.children


def test_a_clear_of_a_task_that_does_not_wait_starts_another_run() -> None:
    cluster = PlanFixture(run_of("load", wait=False)).settle()
    clear(cluster)
    assert len(cluster.api.children) == 2
    assert cluster.state("load") is State.SUCCEEDED
    assert not any("cancel" in child["spec"] for child in cluster.api.children.values())


@pytest.mark.parametrize(("policy", "kept"), [({}, False), ({"deletionPolicy": "Retain"}, True)])
def test_a_clear_deletes_the_run_unless_it_is_retained(policy: Body, kept: bool) -> None:
    cluster = PlanFixture(run_of("load", **policy)).settle()
    first = child_of(cluster)
    clear(cluster)
    assert (first["metadata"]["name"] in cluster.api.children) == kept
    assert first["spec"].get("cancel", False) == kept, "the other is cancelled by its deletion"
    assert waited_for(cluster) == child_of(cluster)["metadata"]["name"] != first["metadata"]["name"]


def test_a_retained_run_that_has_ended_is_not_cancelled() -> None:
    cluster = PlanFixture(run_of("load", deletionPolicy="Retain")).settle()
    first = child_of(cluster)
    fail(cluster)
    clear(cluster)
    assert "cancel" not in first["spec"]


def test_a_deleted_workflow_stays_until_its_retained_runs_end() -> None:
    cluster = PlanFixture(run_of("load", deletionPolicy="Retain")).settle()
    child = child_of(cluster)
    cluster.delete()
    cancelled = transitions.cancel(cluster.run("load").pin(), message="", now=cluster.now)
    cluster.api.patch(cluster.run("load"), cancelled)
    planned: Any = cluster.plan()
    while not cluster.api.deleted:
        assert child["spec"].get("cancel") or not any("SetFinalizers" in repr(a) for a in planned.actions)
        cluster.apply(planned)
        planned = cluster.plan()
    assert child["spec"]["cancel"] is True


def test_a_task_waits_again_for_a_failed_run_that_was_cleared() -> None:
    cluster = PlanFixture(run_of("load"), python("next", args={"rows": "${tasks.load.result}"})).settle()
    fail(cluster)
    child, former = child_of(cluster), cluster.run("load").metadata
    assert cluster.status.state == "Failed"
    child["status"] = dict(_CLEARED)
    cluster.settle()
    taskrun = cluster.run("load")
    assert taskrun.metadata.uid != former.uid
    assert cluster.state("load") is State.DEFERRED
    assert waited_for(cluster) == child["metadata"]["name"]
    assert list(cluster.api.children) == [child["metadata"]["name"]]
    assert child["spec"]["parent"] | {"uid": taskrun.metadata.uid, "attempt": 1, "clears": 1} == child["spec"]["parent"]
    assert child["metadata"]["ownerReferences"][0]["uid"] == taskrun.metadata.uid
    child["status"] = {"state": "Succeeded", "completionTime": "2026-11-22T11:00:00Z", "clears": 1}
    cluster.end_wait("load")
    assert cluster.settle().has("next")


def test_a_dependent_task_of_one_that_waits_again_starts_another_run() -> None:
    cluster = PlanFixture(run_of("load"), run_of("report", after=["load"], rule="all_done")).settle()
    fail(cluster)
    fail(cluster, "report")
    first, former = child_of(cluster), child_of(cluster, "report")
    first["status"] = dict(_CLEARED)
    cluster.settle()
    first["status"] = {"state": "Succeeded", "completionTime": "2026-11-22T11:00:00Z", "clears": 1}
    cluster.end_wait("load")
    cluster.settle()
    assert waited_for(cluster, "report") != former["metadata"]["name"]
    assert former["metadata"]["name"] not in cluster.api.children


def test_a_task_that_failed_again_with_its_run_does_not_wait_again() -> None:
    cluster = PlanFixture(run_of("load")).settle()
    fail(cluster)
    child = child_of(cluster)
    child["status"] = _ENDED | {"clears": 1, "reopenedTime": "2026-11-22T10:00:00Z"}
    assert cluster.settle().status.clears == 0
    child["status"] = _CLEARED | {"clears": 2}
    cluster.settle()
    child["status"] = _ENDED | {"clears": 2}
    failed = transitions.fail(
        cluster.run("load").pin(), retry.Policy(), reason=Reason.TRIGGER_FAILED, message="", now=cluster.now
    )
    cluster.api.patch(cluster.run("load"), failed)
    child["status"] = {"state": "Succeeded", "completionTime": "2026-11-22T09:00:00Z", "clears": 2}
    assert cluster.settle().status.clears == 1, "it has seen this clear"


def test_a_run_that_was_waited_for_again_ends_with_its_task() -> None:
    cluster = PlanFixture(run_of("load"), python("other", after=["load"], rule="all_done")).settle()
    fail(cluster)
    child = child_of(cluster)
    child["status"] = dict(_CLEARED)
    cluster.settle()
    timed_out = transitions.fail(
        cluster.run("load").pin(), retry.Policy(), reason=Reason.DEFERRAL_TIMEOUT, message="", now=cluster.now
    )
    cluster.api.patch(cluster.run("load"), timed_out)
    cluster.settle()
    assert child["spec"].get("cancel") is True


def test_a_run_in_the_middle_of_three_goes_on_too() -> None:
    parent = {"workflow": "outer", "taskRun": "t", "uid": "u", "depth": 1, "root": "root-uid"}
    cluster = PlanFixture(run_of("load"), parent=parent).settle()
    fail(cluster)
    child_of(cluster)["status"] = dict(_CLEARED)
    cluster.settle()
    assert (cluster.status.clears, cluster.status.completion_time) == (1, None), "its own task sees that"


def test_a_run_of_a_cancelled_task_does_not_reopen_the_outer_run() -> None:
    cluster = PlanFixture(run_of("load")).settle()
    child = child_of(cluster)
    cluster.change(cancel=True)
    cluster.api.patch(cluster.run("load"), transitions.cancel(cluster.run("load").pin(), message="", now=cluster.now))
    child["status"] = dict(_CLEARED)
    child["spec"]["cancel"] = False
    cluster.settle()
    assert cluster.status.clears == 0
    assert child["spec"]["cancel"] is True


def test_a_released_run_is_cancelled_if_the_outer_run_ends_meanwhile() -> None:
    cluster = PlanFixture(run_of("load")).settle()
    fail(cluster)
    child = child_of(cluster)
    child["status"] = dict(_CLEARED)
    for _ in range(10):
        cluster.apply(cluster.plan())
        if child["spec"]["parent"]["uid"] == UID:
            break
    assert child["metadata"]["ownerReferences"][0]["uid"] == UID
    cluster.change(cancel=True)
    assert child["spec"]["cancel"] is True


def test_another_workflow_with_the_name_of_a_deleted_run_is_not_it() -> None:
    cluster = PlanFixture(run_of("load", name_of_run="nightly")).settle()
    cluster.api.children["nightly"]["spec"]["parent"]["uid"] = "of-another"
    cluster.settle()
    assert cluster.run("load").status.reason == "RunDeleted"

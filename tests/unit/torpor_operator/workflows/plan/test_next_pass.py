"""Which changes of a pod or a TaskRun need a pass: those after which a plan differs."""

from dataclasses import replace
from typing import Any

import pytest
from torpor_operator.model import cached_taskrun
from torpor_operator.model.pod import Pod, parse_pod, pod_name
from torpor_operator.taskrun.step import TaskRunView
from torpor_operator.workflows.plan import dispatch, next_pass
from torpor_wire import constants, times
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.support.builders import Body, python
from tests.support.plan_fixture import PlanFixture


def started(**fields: Any) -> PlanFixture:
    return PlanFixture(python("a", **fields)).settle()


def view(world: PlanFixture) -> TaskRunView:
    return dispatch.view_of(world.snapshot(), world.run("a").metadata.name)


def present_pod(world: PlanFixture) -> Pod:
    return parse_pod(world.pods[pod_name(world.run("a"))])


def change(world: PlanFixture, status: Body) -> float | None:
    """When a pass is due after the kubelet changed the status of the pod."""
    former = present_pod(world)
    world.write_pod("a", constants.UNMAPPED, status)
    return next_pass.after_pod(view(world), former, present_pod(world), world.stored)


def test_a_created_pod_needs_a_pass_when_it_is_late() -> None:
    world = started()
    due = next_pass.after_pod(view(world), None, present_pod(world), world.stored)
    assert due == world.now + world.settings.start_grace


def test_a_pod_that_starts_needs_no_pass() -> None:
    assert change(started(), {"phase": "Running"}) is None


def test_a_pod_that_starts_needs_a_pass_when_its_attempt_times_out() -> None:
    world = started(timeout="1m")
    assert change(world, {"phase": "Running"}) == times.epoch(present_pod(world).created) + 60


@pytest.mark.parametrize(
    "status",
    [
        {"phase": "Succeeded"},
        {"phase": "Failed"},
        {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "CreateContainerConfigError"}}}]},
    ],
    ids=str,
)
def test_a_pod_that_ends_or_cannot_start_needs_a_pass_now(status: Body) -> None:
    world = started()
    assert change(world, status) == world.now


def test_a_late_pod_needs_a_pass_now_that_reads_its_events() -> None:
    world = started()
    world.pods[pod_name(world.run("a"))]["spec"]["nodeName"] = "node-1"
    world.now += 6
    assert change(world, {"phase": "Pending"}) == world.now


def reported(**spec: Any) -> tuple[PlanFixture, Pod]:
    """A run with a second task whose first pod has ended after its report."""
    world = PlanFixture(python("a"), python("b"), **spec).settle()
    world.claim("a")
    world.report_success("a")
    world.write_pod("a", constants.UNMAPPED, {"phase": "Succeeded"})
    return world, present_pod(world)


def test_a_pod_that_ends_after_its_report_needs_a_pass_if_it_is_deleted() -> None:
    world, pod = reported(podsTTL="10m")
    assert next_pass.after_pod(view(world), pod, pod, world.stored) == pod.ended_at + 600


def test_the_end_of_a_pod_needs_a_pass_now_if_its_run_ends_or_clears() -> None:
    world, pod = reported()
    world.delete()
    assert next_pass.after_pod(view(world), pod, pod, world.stored) == world.now
    world, pod = reported()
    world.workflow["status"]["clearing"] = {"asked": "x", "tasks": []}
    assert next_pass.after_pod(view(world), pod, pod, world.stored) == world.now
    world, pod = reported()
    assert next_pass.after_pod(view(world), pod, pod, None) == world.now


def test_a_pod_that_is_replaced_or_deleted_needs_a_pass_now() -> None:
    world = started()
    pod = present_pod(world)
    world.pods[pod.name]["metadata"]["uid"] = "another"
    assert next_pass.after_pod(view(world), pod, present_pod(world), world.stored) == world.now
    assert next_pass.after_pod(view(world), pod, None, world.stored) == world.now


def test_a_claim_needs_no_pass() -> None:
    world = started()
    former = world.run("a")
    world.claim("a")
    assert world.run("a").status.state is State.RUNNING
    assert next_pass.after_taskrun(view(world), former) is None


def test_a_claim_of_a_taskrun_with_a_reason_needs_a_pass_now() -> None:
    world = started()
    former = world.run("a")
    explained = former.model_copy(update={"status": former.status.model_copy(update={"reason": Reason.NODE_LOST})})
    world.claim("a")
    assert next_pass.after_taskrun(view(world), explained) == world.now


def test_every_other_change_of_a_taskrun_needs_a_pass_now() -> None:
    world = started()
    former = world.run("a")
    assert next_pass.after_taskrun(view(world), None) == world.now
    assert next_pass.after_taskrun(view(world), former) == world.now
    world.claim("a")
    claimed = world.run("a")
    world.succeed("a")
    assert next_pass.after_taskrun(view(world), claimed) == world.now


def waiting() -> tuple[PlanFixture, Body]:
    """A run with a wait, and the stored TaskRun of the wait."""
    world = started().defer("a")
    stored = world.taskruns[world.run("a").metadata.name]
    stored["metadata"]["generation"] = 1
    return world, stored


def after(world: PlanFixture, stored: Body, part: str, **fields: Any) -> float | None:
    """When a pass is due after these fields of the TaskRun have changed."""
    former = cached_taskrun.read(stored)
    stored[part] = {**stored[part], **fields}
    return next_pass.after_taskrun(replace(view(world), taskrun=cached_taskrun.read(stored)), former)


def test_a_progress_message_of_a_wait_needs_no_pass() -> None:
    world, stored = waiting()
    assert after(world, stored, "status", reason="Waiting", message="Waiting for a file: 404, 3 tries") is None
    assert after(world, stored, "status", reason="Waiting", message="Waiting for a file: 404, 4 tries") is None
    assert after(world, stored, "status", reason="Queued", message="its triggerer is at capacity") is None


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        ("status", {"reason": "SecretForbidden", "message": "m"}),
        ("status", {"cancel": times.rfc3339(1.7e9)}),
        ("status", {"state": "Scheduled", "segment": 1}),
        ("metadata", {"deletionTimestamp": times.rfc3339(1.7e9)}),
        ("metadata", {"generation": 2}),
        ("metadata", {"uid": "another"}),
    ],
)
def test_any_other_change_of_a_wait_needs_a_pass_now(part: str, fields: Body) -> None:
    world, stored = waiting()
    assert after(world, stored, part, **fields) == world.now


def test_rules_that_fail_leave_the_decision_to_the_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: TaskRunView) -> None:
        raise ValueError("a status that nobody writes")

    world = started()
    monkeypatch.setattr("torpor_operator.workflows.plan.next_pass.transitions.next_step", broken)
    assert change(world, {"phase": "Running"}) == world.now

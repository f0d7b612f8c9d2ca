"""Pods that are rejected or do not start: TaskRun and Workflow report why, and a timeout ends the attempt."""

from collections.abc import AsyncIterator

import pytest
from torpor_operator.model.pod import pod_name
from torpor_operator.model.snapshot import PodWarning
from torpor_operator.settings import Settings
from torpor_wire import times
from torpor_wire.state import State

from tests.support.builders import NOW, Body, container, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault
from tests.support.plan_fixture import PlanFixture

NO_NODE = "0/3 nodes are available: 3 Insufficient memory."
UNSCHEDULABLE: Body = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": NO_NODE}],
}
WAITING: Body = {"phase": "Pending", "startTime": times.rfc3339(NOW), "containerStatuses": []}


def started(*tasks: Body) -> PlanFixture:
    return PlanFixture(*tasks).settle()


def taken_up(world: PlanFixture, task: str, *, since: float = NOW) -> str:
    """A node creates the container of the pod; returns the uid of the pod."""
    pod = world.pods[pod_name(world.run(task))]
    state = {"waiting": {"reason": "ContainerCreating"}}
    pod["spec"]["nodeName"] = "node-1"
    pod["status"] = {"phase": "Pending", "startTime": times.rfc3339(since), "containerStatuses": [{"state": state}]}
    return str(pod["metadata"]["uid"])


def test_an_unschedulable_pod_is_reported_within_ten_seconds() -> None:
    world = started(python("a")).kubelet("a", UNSCHEDULABLE)
    assert world.run("a").status.reason is None
    world.advance(5).advance(1)
    status = world.run("a").status
    assert (status.state, status.reason) == (State.SCHEDULED, "Unschedulable")
    assert NO_NODE in (status.message or "")
    assert NO_NODE in world.condition()[2]
    assert [event.reason for event in world.events if event.regarding] == ["Unschedulable"]


def test_a_pod_that_starts_within_seconds_costs_no_write() -> None:
    world = started(python("a"))
    taken_up(world, "a")
    world.now += 4.9
    assert world.plan().actions == ()
    world.kubelet("a", {"phase": "Running"})
    world.now += 60
    assert world.plan().actions == ()
    assert world.api.looks == set()


def test_only_a_changed_message_of_the_scheduler_is_written_again() -> None:
    world = started(python("a")).kubelet("a", UNSCHEDULABLE).advance(5)
    world.now += 30
    assert world.plan().actions == ()
    other = {**UNSCHEDULABLE["conditions"][0], "message": "0/4 nodes are available"}
    world.kubelet("a", {"phase": "Pending", "conditions": [other]})
    assert "0/4 nodes" in (world.run("a").status.message or "")
    assert len([event for event in world.events if event.regarding]) == 1


def test_a_claim_clears_the_reason() -> None:
    world = started(python("a")).kubelet("a", UNSCHEDULABLE).advance(5)
    world.claim("a")
    assert world.run("a").status.reason is None


def test_the_operator_clears_the_reason_of_a_container_that_starts() -> None:
    world = started(container("a")).kubelet("a", UNSCHEDULABLE).advance(5)
    assert (world.state("a"), world.run("a").status.reason) == (State.RUNNING, "Unschedulable")
    world.kubelet("a", {"phase": "Running"})
    assert (world.state("a"), world.run("a").status.reason) == (State.RUNNING, None)


def test_a_pod_that_is_scheduled_late_is_no_longer_unschedulable() -> None:
    world = started(python("a")).kubelet("a", UNSCHEDULABLE).advance(30)
    taken_up(world, "a", since=world.now)
    world.settle()
    assert world.run("a").status.reason == "Unschedulable"
    world.advance(5)
    assert world.run("a").status.reason is None


def test_a_mount_failure_is_reported_from_the_events_of_the_pod() -> None:
    world = started(python("a"))
    message = 'MountVolume.SetUp failed for volume "v" : configmap "settings" not found'
    world.api.warnings[taken_up(world, "a")] = PodWarning("FailedMount", message)
    world.settle().advance(5)
    status = world.run("a").status
    assert (status.state, status.reason) == (State.SCHEDULED, "MountFailed")
    assert message in (status.message or "")


def test_a_missing_source_configmap_is_reported_with_the_command_to_create() -> None:
    world = started(python("a", source={"configMap": "etl"}))
    missing = 'MountVolume.SetUp failed for volume "torpor-source" : configmap "etl" not found'
    world.api.warnings[taken_up(world, "a")] = PodWarning("FailedMount", missing)
    pod = world.pods[pod_name(world.run("a"))]
    pod["status"]["containerStatuses"][0]["state"]["waiting"]["reason"] = "PodInitializing"
    world.settle().advance(5)
    status = world.run("a").status
    assert (status.state, status.reason) == (State.SCHEDULED, "MountFailed")
    assert (status.message or "").endswith(
        'configmap "etl" not found: source names the ConfigMap etl; if it does not exist, create it, '
        "and the pod starts: kubectl -n ns create configmap etl --from-file=FILE.py"
    )


def test_other_volumes_of_a_task_with_a_source_get_no_advice() -> None:
    world = started(python("a", source={"configMap": "etl"}))
    missing = 'MountVolume.SetUp failed for volume "scratch" : configmap "etl" not found'
    world.api.warnings[taken_up(world, "a")] = PodWarning("FailedMount", missing)
    world.settle().advance(5)
    assert (world.run("a").status.message or "").endswith(missing)


def test_any_other_warning_of_a_pending_pod_is_reported() -> None:
    world = started(python("a"))
    world.api.warnings[taken_up(world, "a")] = PodWarning("FailedCreatePodSandBox", "no network")
    world.settle().advance(5)
    assert world.run("a").status.reason == "PodPending"
    assert "FailedCreatePodSandBox: no network" in (world.run("a").status.message or "")


def test_a_pod_pending_for_an_unknown_cause_is_reported_after_a_minute() -> None:
    world = started(python("a"))
    taken_up(world, "a")
    world.settle().advance(59)
    assert world.run("a").status.reason is None
    world.advance(1)
    status = world.run("a").status
    assert status.reason == "PodPending"
    assert f"kubectl -n ns describe pod {pod_name(world.run('a'))}" in (status.message or "")


def test_the_events_of_few_pods_are_read_at_growing_intervals() -> None:
    world = started(python("a", expand=[{"name": "n", "over": list(range(20))}]))
    for index in range(20):
        pod = world.pods[pod_name(world.run("a", index))]
        pod["spec"]["nodeName"], pod["status"] = "node-1", WAITING
    for _ in range(600):
        world.advance(1)
    assert len({look.uid for look in world.api.looks}) == 2
    assert {look.look for look in world.api.looks} == set(range(7))


@pytest.mark.parametrize("task", [python("a", timeout="60s"), container("a", timeout="60s")])
def test_the_timeout_ends_an_attempt_whose_pod_never_starts(task: Body) -> None:
    world = started(task).kubelet("a", UNSCHEDULABLE).advance(5)
    assert world.advance(54).state("a") in {State.SCHEDULED, State.RUNNING}
    world.advance(1)
    status = world.run("a").status
    assert (status.state, status.reason) == (State.FAILED, "Timeout")
    assert "60s" in (status.message or "")
    assert "did not start" in (status.message or "")
    assert NO_NODE in (status.message or "")
    assert world.live_pods("a") == []


def test_a_timeout_before_the_start_reports_the_cause() -> None:
    world = started(python("a", timeout="60s")).kubelet("a", UNSCHEDULABLE).advance(5).advance(55)
    message = world.run("a").status.message or ""
    assert message.startswith("the pod of the attempt did not start within its timeout of 60s: Unschedulable")


def test_an_attempt_without_a_pod_due_to_quota_ends_at_its_timeout() -> None:
    world = started(python("a", timeout="60s"))
    world.api.pods.clear()
    (body,) = world.taskruns.values()
    body["status"] |= {"reason": "QuotaExceeded", "message": "exceeded quota: pods"}
    world.now += 60
    world.settle()
    assert (world.state("a"), world.run("a").status.reason) == (State.FAILED, "Timeout")


def test_a_missing_role_is_reported_with_the_command_that_binds_it() -> None:
    world = started(python("a", pod={"serviceAccountName": "loader"}))
    state = {"terminated": {"exitCode": 77, "reason": "Error", "message": "torpor: could not be claimed"}}
    world.kubelet("a", {"phase": "Failed", "containerStatuses": [{"state": state}]})
    status = world.run("a").status
    assert (status.state, status.reason) == (State.FAILED, "Forbidden")
    command = "kubectl -n ns create rolebinding torpor-task-loader --clusterrole=torpor-task --serviceaccount=ns:loader"
    assert (status.message or "").endswith(command)


def test_the_exit_code_of_a_missing_role_after_a_claim_is_lost() -> None:
    world = started(python("a"))
    world.claim("a")
    state = {"terminated": {"exitCode": 77, "reason": "Error"}}
    world.kubelet("a", {"phase": "Failed", "containerStatuses": [{"state": state}]})
    assert world.run("a").status.reason == "Lost"


@pytest.fixture
async def rig() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as harness:
        yield harness


@pytest.mark.parametrize(("status", "reason"), [(400, "BadRequest"), (403, "Forbidden")])
async def test_an_invalid_pod_fails_its_task_with_the_message_of_the_server(
    rig: ControllerHarness, status: int, reason: str
) -> None:
    message = "quantities must match the regular expression"
    rig.fake.inject(Fault(status=status, reason=reason, method="POST", path="/pods", message=message))
    rig.create("run", python("a", retries={"limit": 3}))
    await rig.advance(3)
    stored = rig.taskrun("run", "a")["status"]
    assert (stored["state"], stored["reason"]) == ("Failed", "LaunchFailed")
    assert message in stored["message"]


async def test_a_forbidden_pod_creation_is_retried_while_roles_propagate(rig: ControllerHarness) -> None:
    message = 'pods is forbidden: User "torpor" cannot create resource "pods" in API group "" in the namespace "ns"'
    rig.fake.inject(Fault(status=403, reason="Forbidden", method="POST", path="/pods", message=message, times=2))
    rig.create("run", python("a"))
    await rig.advance(10)
    assert rig.state("run") == "Succeeded"


async def test_an_unauthorized_response_does_not_fail_the_task(
    rig: ControllerHarness,
) -> None:
    rig.fake.inject(Fault(status=401, reason="Unauthorized", method="POST", path="/pods", times=2))
    rig.create("run", python("a"))
    await rig.advance(10)
    assert rig.state("run") == "Succeeded"


async def test_a_taskrun_rejected_by_quota_is_reported_on_the_workflow(
    rig: ControllerHarness,
) -> None:
    message = 'taskruns.torpor.dev "x" is forbidden: exceeded quota: runs, requested: count/taskruns.torpor.dev=1'
    rig.fake.inject(Fault(status=403, reason="Forbidden", method="POST", path="/taskruns", message=message, times=7))
    rig.create("run", python("a"))
    await rig.advance(3)
    condition = next(entry for entry in rig.workflow("run")["status"]["conditions"] if entry["type"] == "Succeeded")
    assert (condition["status"], condition["reason"]) == ("Unknown", "QuotaExceeded")
    assert "exceeded quota: runs" in condition["message"]
    await rig.advance(100)
    assert rig.state("run") == "Succeeded"

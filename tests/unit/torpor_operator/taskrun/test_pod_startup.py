"""A pod that cannot start: its TaskRun and its Workflow say why within seconds, and a timeout ends it."""

import pytest
from torpor_operator.model import pod as pods
from torpor_operator.model.snapshot import PodWarning
from torpor_wire import times
from torpor_wire.state import State

from tests.support.builders import NOW, Body, container, python
from tests.support.plan_world import World

NO_NODE = "0/3 nodes are available: 3 Insufficient memory."
UNSCHEDULABLE: Body = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": NO_NODE}],
}
WAITING: Body = {"phase": "Pending", "startTime": times.rfc3339(NOW), "containerStatuses": []}


def started(*tasks: Body) -> World:
    return World(*tasks).settle()


def taken_up(world: World, task: str, *, since: float = NOW) -> str:
    """A node has the pod and creates its container; the uid of the pod."""
    pod = world.pods[pods.name_of(world.run(task))]
    state = {"waiting": {"reason": "ContainerCreating"}}
    pod["spec"]["nodeName"] = "node-1"
    pod["status"] = {"phase": "Pending", "startTime": times.rfc3339(since), "containerStatuses": [{"state": state}]}
    return str(pod["metadata"]["uid"])


def test_a_pod_that_no_node_takes_is_told_on_taskrun_and_workflow_within_ten_seconds() -> None:
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


def test_what_the_scheduler_says_anew_is_written_anew_and_nothing_else_is() -> None:
    world = started(python("a")).kubelet("a", UNSCHEDULABLE).advance(5)
    world.now += 30
    assert world.plan().actions == ()
    other = {**UNSCHEDULABLE["conditions"][0], "message": "0/4 nodes are available"}
    world.kubelet("a", {"phase": "Pending", "conditions": [other]})
    assert "0/4 nodes" in (world.run("a").status.message or "")
    assert len([event for event in world.events if event.regarding]) == 1


def test_the_claim_of_a_pod_that_starts_after_all_takes_the_reason_back() -> None:
    world = started(python("a")).kubelet("a", UNSCHEDULABLE).advance(5)
    world.claim("a")
    assert world.run("a").status.reason is None


def test_a_container_that_starts_after_all_is_said_to_by_the_operator() -> None:
    world = started(container("a")).kubelet("a", UNSCHEDULABLE).advance(5)
    assert (world.state("a"), world.run("a").status.reason) == (State.RUNNING, "Unschedulable")
    world.kubelet("a", {"phase": "Running"})
    assert (world.state("a"), world.run("a").status.reason) == (State.RUNNING, None)


def test_a_pod_that_a_node_takes_after_all_and_is_long_in_coming_says_so_no_more() -> None:
    world = started(python("a")).kubelet("a", UNSCHEDULABLE).advance(30)
    taken_up(world, "a", since=world.now)
    world.settle()
    assert world.run("a").status.reason == "Unschedulable"
    world.advance(5)
    assert world.run("a").status.reason is None


def test_a_volume_that_cannot_be_mounted_is_told_from_the_events_of_the_pod() -> None:
    world = started(python("a"))
    said = 'MountVolume.SetUp failed for volume "v" : configmap "settings" not found'
    world.api.warnings[taken_up(world, "a")] = PodWarning("FailedMount", said)
    world.settle().advance(5)
    status = world.run("a").status
    assert (status.state, status.reason) == (State.SCHEDULED, "MountFailed")
    assert said in (status.message or "")


def test_another_warning_of_a_pod_that_does_not_start_is_told_too() -> None:
    world = started(python("a"))
    world.api.warnings[taken_up(world, "a")] = PodWarning("FailedCreatePodSandBox", "no network")
    world.settle().advance(5)
    assert world.run("a").status.reason == "PodPending"
    assert "FailedCreatePodSandBox: no network" in (world.run("a").status.message or "")


def test_a_pod_of_which_nobody_says_anything_is_told_after_a_minute() -> None:
    world = started(python("a"))
    taken_up(world, "a")
    world.settle().advance(59)
    assert world.run("a").status.reason is None
    world.advance(1)
    status = world.run("a").status
    assert status.reason == "PodPending"
    assert f"kubectl -n ns describe pod {pods.name_of(world.run('a'))}" in (status.message or "")


def test_the_events_of_few_pods_are_read_and_less_and_less_often() -> None:
    world = started(python("a", expand=[{"name": "n", "over": list(range(20))}]))
    for index in range(20):
        pod = world.pods[pods.name_of(world.run("a", index))]
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


def test_a_timeout_before_the_start_says_what_kept_the_pod() -> None:
    world = started(python("a", timeout="60s")).kubelet("a", UNSCHEDULABLE).advance(5).advance(55)
    message = world.run("a").status.message or ""
    assert message.startswith("the pod of the attempt did not start within its timeout of 60s: Unschedulable")


def test_an_attempt_that_the_quota_keeps_without_a_pod_ends_with_its_timeout() -> None:
    world = started(python("a", timeout="60s"))
    world.api.pods.clear()
    (body,) = world.taskruns.values()
    body["status"] |= {"reason": "QuotaExceeded", "message": "exceeded quota: pods"}
    world.now += 60
    world.settle()
    assert (world.state("a"), world.run("a").status.reason) == (State.FAILED, "Timeout")


def test_an_account_without_its_role_is_told_with_the_command_that_binds_it() -> None:
    world = started(python("a", pod={"serviceAccountName": "loader"}))
    state = {"terminated": {"exitCode": 77, "reason": "Error", "message": "torpor: could not be claimed"}}
    world.kubelet("a", {"phase": "Failed", "containerStatuses": [{"state": state}]})
    status = world.run("a").status
    assert (status.state, status.reason) == (State.FAILED, "Forbidden")
    command = "kubectl -n ns create rolebinding torpor-task-loader --clusterrole=torpor-task --serviceaccount=ns:loader"
    assert (status.message or "").endswith(command)


def test_a_task_that_ends_its_process_with_that_code_after_its_claim_is_lost() -> None:
    world = started(python("a"))
    world.claim("a")
    state = {"terminated": {"exitCode": 77, "reason": "Error"}}
    world.kubelet("a", {"phase": "Failed", "containerStatuses": [{"state": state}]})
    assert world.run("a").status.reason == "Lost"

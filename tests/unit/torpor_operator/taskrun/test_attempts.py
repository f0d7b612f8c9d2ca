"""Attempts: retries, lost and disrupted pods, images that cannot be pulled, timeouts."""

import pytest
from torpor_operator.model.actions import ConfirmPod
from torpor_operator.settings import Settings
from torpor_wire import times
from torpor_wire.state import State

from tests.support.builders import NOW, python
from tests.support.plan_fixture import PlanFixture

RETRIES = {"limit": 2, "delay": "10s", "backoff": 1}
EVICTED = {"phase": "Failed", "conditions": [{"type": "DisruptionTarget", "status": "True"}]}


def test_a_failed_attempt_is_retried_after_its_delay() -> None:
    world = PlanFixture(python("a", retries=RETRIES)).settle().fail("a")
    assert (world.state("a"), world.plan().again_at) == (State.UP_FOR_RETRY, NOW + 10)
    assert world.advance(9.9).state("a") is State.UP_FOR_RETRY
    assert world.advance(0.1).state("a") is State.SCHEDULED
    (pod,) = world.live_pods("a")
    assert pod.endswith("-a2-s0")


def test_a_task_without_retries_left_fails() -> None:
    world = PlanFixture(python("a", retries=RETRIES)).settle().fail("a", "1").advance(10).fail("a", "2").advance(30)
    world.fail("a", "the last")
    assert world.tasks() == {"a": "Failed"}
    assert "the last" in world.condition()[2]
    assert len({event.key for event in world.events if event.regarding}) == 3


def test_a_retry_waits_until_the_pod_of_the_former_attempt_has_ended() -> None:
    world = PlanFixture(python("a", retries=RETRIES)).settle()
    world.claim("a")
    (former,) = world.pods
    world.fail("a")
    world.pods[former]["status"] = {"phase": "Running"}
    world.api.graceful = True
    world.advance(10)
    assert world.live_pods("a") == [former]
    world.advance(10)
    assert "deletionTimestamp" in world.pods[former]["metadata"]
    assert world.live_pods("a") == [former]
    (pod,) = world.reap().live_pods("a")
    assert pod.endswith("-a2-s0")


@pytest.mark.parametrize("claimed", [True, False])
def test_a_pod_that_ended_without_a_report_is_lost_with_a_cause(*, claimed: bool) -> None:
    world = PlanFixture(python("a", retries=RETRIES)).settle()
    if claimed:
        world.claim("a")
    terminated = {"reason": "OOMKilled", "exitCode": 137, "message": "memory"}
    world.kubelet("a", {"phase": "Failed", "containerStatuses": [{"state": {"terminated": terminated}}]})
    status = world.run("a").status
    assert (status.state, status.reason) == (State.UP_FOR_RETRY, "Lost")
    assert "OOMKilled, exit code 137: memory" in (status.message or "")
    assert "raise pod.resources.limits.memory" in (status.message or "")


def test_a_running_pod_that_the_cache_lacks_is_lost_only_after_a_read() -> None:
    world = PlanFixture(python("a")).settle()
    world.claim("a")
    (pod,) = world.pods
    world.api.unseen.add(pod)
    assert world.settle().state("a") is State.RUNNING
    assert [type(need) for need in world.api.confirmed] == [ConfirmPod]
    world.lose_pod("a")
    status = world.settle().run("a").status
    assert (status.state, status.reason) == (State.FAILED, "Lost")
    assert status.message == f"pod {pod} no longer exists and left no report"


@pytest.mark.parametrize(
    ("launches", "state", "launch"), [(5, State.SCHEDULED, 1), (0, State.FAILED, 0)], ids=["replaced", "too often"]
)
def test_a_disrupted_pod_that_vanished_uses_no_attempt(launches: int, state: State, launch: int) -> None:
    world = PlanFixture(python("a"), settings=Settings(max_launches=launches)).settle()
    world.claim("a")
    (pod,) = world.pods
    world.api.disrupted_pods.add(world.pods[pod]["metadata"]["uid"])
    world.lose_pod("a")
    status = world.settle().run("a").status
    assert (status.state, status.attempt, status.launch) == (state, 1, launch)


def test_another_pod_of_the_same_name_is_not_the_claimed_one() -> None:
    world = PlanFixture(python("a")).settle()
    world.claim("a")
    (pod,) = world.pods
    world.pods[pod]["metadata"] = world.pods[pod]["metadata"] | {"uid": "another"}
    assert world.settle().run("a").status.reason == "Lost"


def test_a_pod_deleted_before_its_claim_is_created_again() -> None:
    world = PlanFixture(python("a")).settle()
    world.lose_pod("a")
    world.settle()
    assert world.state("a") is State.SCHEDULED
    assert len(world.live_pods("a")) == 1


@pytest.mark.parametrize("claimed", [True, False])
@pytest.mark.parametrize("how", [EVICTED, {"phase": "Failed", "reason": "Evicted"}])
def test_a_disrupted_pod_is_launched_again_and_the_attempt_is_not_used_up(
    *, claimed: bool, how: dict[str, object]
) -> None:
    world = PlanFixture(python("a")).settle()
    if claimed:
        world.claim("a")
    world.kubelet("a", how)
    status = world.run("a").status
    assert (status.state, status.attempt, status.launch, status.pod) == (State.SCHEDULED, 1, 1, None)
    (pod,) = world.live_pods("a")
    assert pod.endswith("-a1-s0-l1")


def test_disruptions_are_bounded() -> None:
    world = PlanFixture(python("a"), settings=Settings(max_launches=2)).settle()
    for _ in range(2):
        world.kubelet("a", EVICTED)
    assert world.run("a").status.launch == 2
    assert world.kubelet("a", EVICTED).run("a").status.reason == "Lost"
    assert world.tasks() == {"a": "Failed"}


def test_a_disrupted_resume_keeps_its_event() -> None:
    world = PlanFixture(python("a")).settle().defer("a").fire("a").kubelet("a", EVICTED)
    status = world.run("a").status
    assert (status.segment, status.launch, status.event) == (1, 1, '"event"')


def waiting(reason: str) -> dict[str, object]:
    state = {"waiting": {"reason": reason, "message": "no such thing"}}
    return {"phase": "Pending", "containerStatuses": [{"state": state}]}


@pytest.mark.parametrize(
    ("reason", "expected"), [("ImagePullBackOff", "ImagePullFailed"), ("CreateContainerConfigError", "LaunchFailed")]
)
def test_a_container_that_cannot_start_is_reported_at_once_and_fails_later(reason: str, expected: str) -> None:
    world = PlanFixture(python("a", image="lost:1", retries=RETRIES)).settle().kubelet("a", waiting(reason))
    status = world.run("a").status
    assert (status.state, status.reason) == (State.SCHEDULED, expected)
    assert "no such thing" in (status.message or "")
    assert [event.reason for event in world.events if event.regarding] == [expected]
    assert world.plan().again_at == NOW + Settings().image_pull_grace
    world.advance(Settings().image_pull_grace)
    assert (world.state("a"), world.run("a").status.reason) == (State.UP_FOR_RETRY, expected)
    assert world.pods == {}


def test_an_image_that_arrives_late_clears_the_reason() -> None:
    world = PlanFixture(python("a")).settle().kubelet("a", waiting("ErrImagePull")).kubelet("a", {"phase": "Running"})
    world.claim("a")
    assert world.run("a").status.reason is None
    assert world.advance(1000).state("a") is State.RUNNING


def test_the_grace_of_an_image_starts_when_a_kubelet_accepts_the_pod() -> None:
    world = PlanFixture(python("a")).settle().advance(1000)
    world.kubelet("a", {**waiting("ErrImagePull"), "startTime": times.rfc3339(NOW + 1000)})
    assert world.state("a") is State.SCHEDULED
    assert world.advance(59).state("a") is State.SCHEDULED
    assert world.advance(1).state("a") is State.FAILED


def test_pull_failures_are_reported_once() -> None:
    world = PlanFixture(python("a")).settle().kubelet("a", waiting("ErrImagePull"))
    world.pods[next(iter(world.pods))]["status"] = waiting("ImagePullBackOff")
    assert world.plan().actions == ()


def test_an_attempt_that_exceeds_its_timeout_fails_and_its_pod_is_deleted() -> None:
    world = PlanFixture(python("a", timeout="60s", retries=RETRIES)).settle().advance(50)
    assert world.state("a") is State.SCHEDULED
    world.claim("a")  # the whole timeout counts from the start of the pod
    world.settle()
    assert world.plan().again_at == NOW + 110
    world.now = NOW + 110
    status = world.settle().run("a").status
    assert (status.state, status.reason) == (State.UP_FOR_RETRY, "Timeout")
    assert status.message == "the attempt exceeded its timeout of 60s"
    assert world.pods == {}


def test_deferred_time_counts_for_the_timeout() -> None:
    world = PlanFixture(python("a", timeout="60s")).settle().defer("a")
    world.now += 61
    assert world.settle().state("a") is State.DEFERRED  # the triggerer enforces it while the task is deferred
    world.fire("a")
    assert world.run("a").status.reason == "Timeout"
    assert world.live_pods("a") == []


def test_each_attempt_has_its_own_timeout() -> None:
    world = PlanFixture(python("a", timeout="60s", retries={"limit": 1, "delay": "1s", "backoff": 1})).settle()
    world.claim("a")
    world.advance(59)
    world.fail("a").advance(1)
    world.claim("a")
    assert world.run("a").status.started_at == times.rfc3339(NOW + 60)
    assert world.advance(59).state("a") is State.RUNNING


def test_a_running_taskrun_without_a_pod_in_its_status_is_invalid() -> None:
    world = PlanFixture(python("a", retries=RETRIES)).settle()
    world.claim("a")
    del world.taskruns[world.run("a").metadata.name]["status"]["pod"]
    status = world.settle().run("a").status
    assert (status.state, status.reason) == (State.FAILED, "StatusInvalid")


def test_a_pod_of_an_ended_task_that_lingers_is_deleted_after_a_grace() -> None:
    world = PlanFixture(python("a"), python("b")).settle().succeed("a")
    name = next(name for name in world.pods if "-a-" in name)
    world.pods[name]["status"] = {"phase": "Running"}
    assert name in world.settle().pods
    assert name not in world.advance(Settings().finished_pod_grace).pods


def test_an_exit_code_after_a_deferral_is_ignored() -> None:
    world = PlanFixture(python("a")).settle().defer("a", exits=False)
    (pod,) = world.pods
    world.pods[pod]["status"] = {"phase": "Failed"}
    assert world.settle().state("a") is State.DEFERRED


def test_the_start_of_the_first_attempt_is_kept_over_all_attempts() -> None:
    world = PlanFixture(python("a", retries={"limit": 2, "delay": "1s", "backoff": 1})).settle().fail("a")
    first = world.run("a").status.started_at
    assert first == times.rfc3339(NOW)
    world.advance(1)
    assert (world.run("a").status.started_at, world.run("a").status.first_started_at) == (None, first)
    world.advance(10).fail("a").advance(5)
    world.claim("a")
    status = world.settle().run("a").status
    assert (status.attempt, status.first_started_at) == (3, first)
    assert status.started_at == times.rfc3339(world.now)

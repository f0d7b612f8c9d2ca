"""Deferral without a pod: trigger tasks, resumes, and the deadline that the operator enforces after a grace."""

import pytest
from torpor_operator.model.actions import ConfirmPods
from torpor_operator.model.pod import pod_name
from torpor_operator.settings import Settings
from torpor_wire import constants, times
from torpor_wire.state import State

from tests.support.builders import NOW, python, wait
from tests.support.plan_fixture import PlanFixture

GRACE = Settings().triggerer_grace


def test_a_trigger_task_is_deferred_without_ever_having_a_pod() -> None:
    world = PlanFixture(
        wait("drop", kwargs={"url": "https://example.org/${params.day}"}), params={"day": "today"}
    ).settle()
    status = world.run("drop").status
    assert status.state is State.DEFERRED
    assert status.trigger is not None
    assert (status.trigger.class_name, status.trigger.kwargs) == ("http", '{"url":"https://example.org/today"}')
    assert 0 <= status.trigger.shard < constants.SHARDS
    assert (status.next, status.deadline, status.started_at) == (None, None, times.rfc3339(NOW))
    assert world.pods == {}
    assert world.task("drop").deferred == 1


def test_an_unconfirmed_pod_is_confirmed_before_another_is_created() -> None:
    world = PlanFixture(python("a")).settle()
    (first,) = world.pods
    uid = world.run("a").metadata.uid
    world.claim("a")
    world.report_deferral("a", exits=False)
    world.report_event("a")
    world.api.unseen.add(first)
    world.api.unconfirmed_pods[uid] = first
    world.settle()
    assert world.api.confirmed == [ConfirmPods("ns", uid)]
    assert list(world.pods) == [first]
    world.pods[first]["status"] = {"phase": "Succeeded"}
    assert world.settle().live_pods("a") == [pod_name(world.run("a"))]


def test_an_unconfirmed_creation_is_retried() -> None:
    world = PlanFixture(python("a"))
    world.apply(world.plan())
    world.api.unconfirmed_pods[world.run("a").metadata.uid] = pod_name(world.run("a"))
    assert world.settle().live_pods("a") == [pod_name(world.run("a"))]
    assert world.api.confirmed == []


def test_the_event_of_a_trigger_task_is_its_result() -> None:
    world = PlanFixture(wait("drop"), python("a", args={"found": "${tasks.drop.result}"})).settle()
    world.end_wait("drop", '{"status": 200}')
    assert world.tasks() == {"drop": "Succeeded", "a": "Running"}
    assert world.arguments("a") == {"found": '{"status":200}'}


@pytest.mark.parametrize(
    ("of_trigger", "of_task", "deadline"),
    [("1h", None, 3600), (None, "2h", 7200), ("1h", "2h", 3600), ("3h", "2h", 7200), (None, None, None)],
)
def test_the_deadline_is_the_earlier_of_the_triggers_and_the_tasks(
    of_trigger: str | None, of_task: str | None, deadline: float | None
) -> None:
    call = {"class": "http"} | ({"timeout": of_trigger} if of_trigger else {})
    task = {"name": "drop", "trigger": call} | ({"timeout": of_task} if of_task else {})
    stored = PlanFixture(task).settle().run("drop").status.deadline
    assert stored == (None if deadline is None else times.rfc3339(NOW + deadline))


def test_a_very_long_timeout_is_the_latest_deadline() -> None:
    world = PlanFixture(wait("drop", timeout="999999999999999999d")).settle()
    assert world.run("drop").status.deadline == "9999-12-31T23:59:59.000Z"


@pytest.mark.parametrize("kwargs", ["[1]", "{", "7"])
def test_kwargs_that_are_not_an_object_fail_only_their_task(kwargs: str) -> None:
    world = PlanFixture(wait("a"), python("b"))
    world.apply(world.plan())
    world.taskruns[world.run("a").metadata.name]["spec"]["trigger"]["kwargs"] = kwargs
    world.settle()
    assert world.run("a").status.reason == "TriggerInvalid"
    assert world.state("b") is State.SCHEDULED


def test_a_trigger_that_cannot_be_stored_fails_its_task_without_retry() -> None:
    world = PlanFixture(wait("drop", "duration", kwargs={"duration": "soon"}, retries={"limit": 3})).settle()
    status = world.run("drop").status
    assert (status.state, status.reason) == (State.FAILED, "TriggerInvalid")
    assert "'soon' is not a duration" in (status.message or "")


def test_a_duration_runs_from_the_time_of_deferral() -> None:
    world = PlanFixture(wait("nap", "duration", kwargs={"duration": "60s"})).settle()
    trigger = world.run("nap").status.trigger
    assert trigger is not None
    assert (trigger.class_name, trigger.kwargs) == ("time", f'{{"at":"{times.rfc3339(NOW + 60)}"}}')


def test_a_deferred_task_holds_no_pod_and_is_resumed_in_a_new_one() -> None:
    world = PlanFixture(python("a")).settle().defer("a")
    assert world.live_pods("a") == []
    world.fire("a")
    (pod,) = world.live_pods("a")
    assert pod.endswith("-a1-s1")
    assert world.succeed("a").condition()[0] == "True"


def test_a_pod_that_lingers_after_its_deferral_is_deleted_after_a_grace() -> None:
    world = PlanFixture(python("a")).settle().defer("a", exits=False)
    assert len(world.live_pods("a")) == 1
    assert world.plan().again_at == NOW + Settings().former_pod_grace
    world.advance(Settings().former_pod_grace)
    assert world.pods == {}


def test_a_resume_waits_until_the_former_pod_has_ended() -> None:
    world = PlanFixture(python("a")).settle().defer("a", exits=False).fire("a")
    (former,) = world.live_pods("a")
    assert former.endswith("-s0")
    world.pods[former]["status"] = {"phase": "Succeeded"}
    (resumed,) = world.settle().live_pods("a")
    assert resumed.endswith("-s1")


def test_a_former_pod_is_deleted_and_the_resume_waits_until_it_is_gone() -> None:
    world = PlanFixture(python("a")).settle().defer("a", exits=False).fire("a")
    world.api.graceful = True
    world.advance(Settings().former_pod_grace)
    (former,) = world.live_pods("a")
    assert former.endswith("-s0")
    assert "deletionTimestamp" in world.pods[former]["metadata"]
    (resumed,) = world.reap().live_pods("a")
    assert resumed.endswith("-s1")


def test_the_operator_waits_a_minute_after_the_deadline_for_the_triggerer() -> None:
    world = PlanFixture(python("a", retries={"limit": 1})).settle().defer("a", timeout=100)
    assert world.plan().again_at == NOW + 100 + GRACE
    assert world.advance(100 + GRACE - 1).state("a") is State.DEFERRED
    assert world.advance(1).state("a") is State.UP_FOR_RETRY
    status = world.run("a").status
    assert status.reason == "DeferralTimeout"
    assert "no triggerer responded" in (status.message or "")


def test_a_sensor_that_no_triggerer_timed_out_is_not_retried() -> None:
    world = PlanFixture(python("a", retries={"limit": 1})).settle().defer("a", timeout=100)
    world.api.patch(world.run("a"), [{"op": "add", "path": "/status/next/timeoutIsFinal", "value": True}])
    world.advance(100 + GRACE)
    assert (world.state("a"), world.run("a").status.reason) == (State.FAILED, "DeferralTimeout")


@pytest.mark.attack
@pytest.mark.parametrize("own", [None, 1_000_000.0])
def test_a_pod_that_writes_no_deadline_does_not_evade_its_timeout(own: float | None) -> None:
    world = (
        PlanFixture(python("a", timeout="100s", retries={"limit": 1, "delay": "1h"})).settle().defer("a", timeout=own)
    )
    assert world.advance(100 + GRACE - 1).state("a") is State.DEFERRED
    assert world.advance(2).state("a") is State.UP_FOR_RETRY
    status = world.run("a").status
    assert (status.reason, status.message) == ("Timeout", "the attempt exceeded its timeout of 100s")


@pytest.mark.attack
def test_no_number_of_deferrals_makes_an_attempt_longer_than_its_timeout() -> None:
    world = PlanFixture(python("a", timeout="100s")).settle()
    for _ in range(3):
        world.defer("a").advance(30)
        world.fire("a").reap()
    world.defer("a")
    assert world.advance(10 + GRACE + 1).state("a") is State.FAILED
    assert world.run("a").status.reason == "Timeout"


def test_time_deferred_does_not_count_where_the_task_says_so() -> None:
    world = PlanFixture(python("a", timeout="100s", timeoutWhileDeferred=False)).settle().defer("a")
    assert world.advance(10_000_000).state("a") is State.DEFERRED


def test_a_wait_without_a_deadline_is_never_ended_by_the_operator() -> None:
    world = PlanFixture(wait("drop")).settle().advance(10_000_000)
    assert world.state("drop") is State.DEFERRED
    assert world.plan().again_at is None


def test_a_retried_trigger_task_is_deferred_with_a_new_deadline() -> None:
    world = PlanFixture(wait("drop", timeout="100s", retries={"limit": 1, "delay": "10s", "backoff": 1})).settle()
    world.advance(100 + GRACE).advance(10)
    status = world.run("drop").status
    assert (status.state, status.attempt) == (State.DEFERRED, 2)
    assert status.deadline == times.rfc3339(NOW + 100 + GRACE + 10 + 100)

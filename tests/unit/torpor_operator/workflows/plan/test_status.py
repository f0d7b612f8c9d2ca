"""The status and the Events of a Workflow; messages are printable."""

import json
from collections.abc import AsyncIterator

import pytest
from torpor_crds.models import workflow
from torpor_kubernetes.client.resources import EVENTS, TASKRUNS, WORKFLOWS
from torpor_operator.settings import Settings
from torpor_wire import times

from tests.support.builders import NAMESPACE, NOW, python, wait
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault
from tests.support.plan_fixture import PlanFixture


def test_counts_follow_the_instances() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [0, 1, 2, 3]}], retries={"limit": 1})
    world = PlanFixture(mapped).settle().succeed("load", None, 0).fail("load", "", 1).defer("load", 2)
    task = world.task("load")
    assert (task.total, task.created) == (4, 4)
    assert (task.active, task.deferred, task.succeeded, task.failed) == (2, 1, 1, 0)


def test_progress_counts_ended_instances_of_expected_ones() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [0, 1]}])
    skipped = python("skipped", when="false")
    world = PlanFixture(mapped, python("report", after=["load"]), skipped).settle()
    assert world.status.progress == "0/3"
    assert world.succeed("load", None, 0).status.progress == "1/3"


def test_conditions_of_a_run_in_progress() -> None:
    world = PlanFixture(python("a")).settle()
    assert world.condition("Succeeded")[:2] == ("Unknown", "Running")
    assert world.condition("Reconciling")[:2] == ("True", "Running")
    assert world.condition("Stalled")[:2] == ("False", "Running")


def test_conditions_of_a_successful_run() -> None:
    world = PlanFixture(python("a")).settle().succeed("a")
    assert world.condition("Succeeded")[:2] == ("True", "Succeeded")
    assert world.condition("Reconciling")[0] == "False"
    assert world.condition("Stalled")[0] == "False"
    assert world.status.state == "Succeeded"


def test_conditions_of_a_failed_run() -> None:
    world = PlanFixture(python("a")).settle().fail("a", "no disk")
    for name in ("Succeeded", "Stalled"):
        assert world.condition(name)[1] == "Error"
        assert "no disk" in world.condition(name)[2]
    assert world.condition("Reconciling")[0] == "False"


def test_a_failed_run_names_its_failed_tasks() -> None:
    world = PlanFixture(*(python(name) for name in "abcdefgh"), python("last", after=["a"])).settle()
    world.fail("a", "no disk").fail("b", "no tape").succeed("h")
    for name in "cdefg":
        world.fail(name, "no net")
    message = world.condition()[2]
    assert message == f"task a: TaskRun {world.name('a', -1)}: no disk; also failed: b, c, d, e, f and 1 more"


def test_a_transition_is_dated_when_the_status_changed_not_when_written() -> None:
    world = PlanFixture(python("a"), python("b")).settle()
    world.now += 100
    world.succeed("a")
    world.now += 100
    world.succeed("b")
    dates = {entry.type: entry.last_transition_time for entry in world.status.conditions}
    assert dates["Stalled"] == times.rfc3339(NOW)
    assert dates["Succeeded"] == dates["Reconciling"] == times.rfc3339(NOW + 200)
    assert (world.status.start_time, world.status.completion_time) == (times.rfc3339(NOW), times.rfc3339(NOW + 200))


def test_the_status_has_the_observed_generation() -> None:
    assert PlanFixture(python("a")).settle().change(parallelism=2).status.observed_generation == 2


def test_an_unchanged_status_is_not_written_again() -> None:
    world = PlanFixture(python("a"), wait("b"), python("c", when="false"), python("d", after=["a"])).settle()
    status = world.fail("a").plan().status
    body = world.workflow | {"status": status.to_json() if status else None}
    assert workflow.parse(body).status == status


def test_a_status_lists_no_instances() -> None:
    many = python("load", expand=[{"name": "n", "over": list(range(500))}])
    world = PlanFixture(many, parallelism=500).settle()
    assert len(str(world.workflow["status"])) < 2_000


def test_every_failed_attempt_is_one_event_on_its_taskrun() -> None:
    world = PlanFixture(python("a", retries={"limit": 1, "delay": "10s", "backoff": 1})).settle().fail("a", "once")
    (event,) = world.events
    assert event.regarding is not None
    assert (event.reason, event.warning) == ("Error", True)
    assert event.message == f"once; next attempt at {times.rfc3339(NOW + 10)}"
    world.advance(10).fail("a", "twice")
    assert [event.message for event in world.events if event.regarding][1:] == ["twice"]


def test_a_retry_without_a_time_starts_at_once() -> None:
    world = PlanFixture(python("a")).settle()
    (body,) = world.taskruns.values()
    body["status"]["state"] = "UpForRetry"
    assert [event.message for event in world.settle().events] == ["UpForRetry; next attempt now"]


def _events_of_end(world: PlanFixture) -> list[tuple[str, bool]]:
    return [(event.reason, event.warning) for event in world.events if event.regarding is None]


def test_a_plain_success_is_no_event() -> None:
    assert _events_of_end(PlanFixture(python("a")).settle().succeed("a")) == []


def test_a_success_with_a_remark_is_one_event() -> None:
    world = PlanFixture(python("a", mayFail=True)).settle().fail("a")
    assert ("Succeeded", False) in _events_of_end(world)


def test_a_failure_is_one_event() -> None:
    world = PlanFixture(python("a")).settle().fail("a")
    assert _events_of_end(world) == [("Error", True)]


def test_a_skipped_run_succeeds() -> None:
    world = PlanFixture(python("a", when="false")).settle()
    assert (world.condition()[0], world.status.progress) == ("True", "0/0")


def test_the_workflow_reports_why_a_taskrun_does_not_advance() -> None:
    world = PlanFixture(python("a")).settle()
    waiting = {"state": {"waiting": {"reason": "ErrImagePull", "message": "no such host"}}}
    world.kubelet("a", {"phase": "Pending", "containerStatuses": [waiting]}).advance(1)
    status, _, message = world.condition()
    assert status == "Unknown"
    assert "no such host" in message


def test_a_run_in_progress_reports_failed_tasks_at_once() -> None:
    world = PlanFixture(python("a"), python("b"), python("c"), python("d")).settle()
    world.fail("a", "no disk").fail("c", "no tape")
    status, reason, message = world.condition()
    assert (world.status.state, status, reason) == ("Running", "Unknown", "Error")
    assert message.startswith(f"task a failed: Error: TaskRun {world.name('a', -1)}: no disk; task c failed: ")
    assert "no tape" in message
    assert world.condition("Reconciling")[:2] == ("True", "Running")
    messages = [event.message for event in world.events if event.regarding is None]
    assert [message.partition(":")[0] for message in messages] == ["task a failed", "task c failed"]


def test_the_first_failed_instance_is_reported_while_others_run() -> None:
    mapped = python("load", expand=[{"name": "n", "over": list(range(4))}])
    world = PlanFixture(mapped).settle().fail("load", "no disk", 2).fail("load", "no tape", 1)
    assert world.tasks() == {"load": "Running"}
    assert "task load failed: Error" in world.condition()[2]
    assert len([event for event in world.events if event.regarding is None]) == 1


def test_many_failed_tasks_are_counted() -> None:
    world = PlanFixture(*(python(f"t{number:02}") for number in range(30))).settle()
    for number in range(29):
        world.fail(f"t{number:02}", "x" * 500)
    message = world.condition()[2]
    assert message.endswith("; and 26 more")
    assert len(message) < 1024
    assert len([event for event in world.events if event.regarding is None]) == 20


def test_a_retried_attempt_is_reported_only_if_it_needs_help() -> None:
    world = PlanFixture(python("a", retries={"limit": 1}), python("b", image="lost:1", retries={"limit": 1})).settle()
    world.fail("a", "no disk")
    assert world.condition()[1:] == ("Running", "")
    waiting = {"state": {"waiting": {"reason": "ErrImagePull", "message": "no such host"}}}
    world.kubelet("b", {"phase": "Pending", "containerStatuses": [waiting]}).advance(60)
    assert world.run("b").status.state == "UpForRetry"
    assert "task b waits: ImagePullFailed" in world.condition()[2]
    posted = [(event.reason, event.regarding) for event in world.events if event.regarding is None]
    assert posted == [("ImagePullFailed", None)]


def test_a_recovered_run_reports_no_problem() -> None:
    waiting = {"state": {"waiting": {"reason": "ErrImagePull", "message": "no such host"}}}
    world = PlanFixture(python("a")).settle().kubelet("a", {"phase": "Pending", "containerStatuses": [waiting]})
    world.settle()
    assert world.condition()[1] == "ImagePullFailed"
    world.claim("a")
    assert world.settle().condition()[1:] == ("Running", "")


def test_a_clearing_keeps_the_start_time_and_restarts_the_timeout() -> None:
    world = PlanFixture(python("a"), timeout="1h").settle()
    world.now += 600
    world.fail("a")
    world.now += 7200
    world.workflow["metadata"]["annotations"] = {"torpor.dev/clear": "a"}
    cleared = world.now
    world.settle()
    assert world.status.state == "Running"
    assert world.status.start_time == times.rfc3339(NOW)
    assert world.status.reopened_time == times.rfc3339(cleared)
    world.claim("a")
    assert world.advance(3599).status.state == "Running"
    assert world.advance(1).condition()[1] == "Timeout"


def test_a_missing_role_is_reported_although_the_attempt_is_retried() -> None:
    world = PlanFixture(python("a", retries={"limit": 1})).settle()
    state = {"terminated": {"exitCode": 77, "reason": "Error", "message": "torpor: could not be claimed"}}
    world.kubelet("a", {"phase": "Failed", "containerStatuses": [{"state": state}]})
    assert (world.run("a").status.state, world.condition()[1]) == ("UpForRetry", "Forbidden")
    assert "create rolebinding" in world.condition()[2]


CLEAR = "\x1b[2J\x9b0m\u202e"


@pytest.fixture
async def rig() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


def raw(value: object) -> bool:
    return any(character in json.dumps(value, ensure_ascii=False) for character in ("\\u001b", "\x9b", "\u202e"))


def written_texts(rig: ControllerHarness) -> list[object]:
    """All texts that the operator wrote for users."""
    statuses = [rig.workflow("run")["status"], *(run["status"] for run in rig.fake.all(TASKRUNS))]
    return [*statuses, *(event["note"] for event in rig.fake.all(EVENTS))]


async def test_an_error_of_the_api_server_is_printable(rig: ControllerHarness) -> None:
    fault = Fault(status=422, causes=True, reason="Invalid", method="POST", path="/pods", message=f"no {CLEAR} such")
    rig.fake.inject(fault)
    rig.create("run", python("a"))
    await rig.advance(3)
    assert rig.state("run") == "Failed"
    assert "no \\x1b[2J\\x9b0m\\u202e such" in str(rig.taskrun("run", "a")["status"]["message"])
    assert not raw(written_texts(rig))


async def test_an_expression_error_is_printable(rig: ControllerHarness) -> None:
    rig.create("run", python("a", args={"x": f"${{params['{CLEAR}']}}"}), params={"y": 1})
    await rig.advance(3)
    assert rig.state("run") == "Failed"
    assert not raw(written_texts(rig))


async def test_a_display_name_is_printable(rig: ControllerHarness) -> None:
    rig.create("run", python("a", displayName="${params.name}"), params={"name": f"load\n{CLEAR}"})
    await rig.advance(1)
    assert rig.taskrun("run", "a")["spec"]["displayName"] == "load\\n\\x1b[2J\\x9b0m\\u202e"


async def test_a_foreign_message_of_a_taskrun_is_printable_on_its_workflow(rig: ControllerHarness) -> None:
    rig.create("run", python("a"))
    await rig.clock.advance(0.2)
    name = rig.taskrun("run", "a")["metadata"]["name"]
    ended = {"state": "Failed", "reason": "Error", "message": CLEAR, "completionTime": "2026-01-01T00:00:00Z"}
    rig.fake.edit(TASKRUNS, NAMESPACE, name, {"status": ended})
    await rig.advance(3)
    assert rig.state("run") == "Failed"
    assert not raw(rig.fake.get(WORKFLOWS, NAMESPACE, "run"))
    assert not raw([event["note"] for event in rig.fake.all(EVENTS)])

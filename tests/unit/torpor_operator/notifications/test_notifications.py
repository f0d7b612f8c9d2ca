"""Notifications in the plan of a run: which are created, what they say, and their state in the status."""

import json
from typing import Any

import pytest
from torpor_crds.models.notify import NotificationStatus
from torpor_crds.models.taskrun import TaskRun, parse
from torpor_wire import constants, retry, transitions
from torpor_wire.reason import Reason

from tests.support.builders import Body, python, wait
from tests.support.plan_fixture import PlanFixture

SLACK = {"slack": {"url": {"secretRef": {"name": "chat", "key": "url"}}}}


def entry(*on: str, name: str = "ops", **fields: Any) -> Body:
    return {"name": name, "events": list(on), "to": SLACK, **fields}


def sent(world: PlanFixture) -> list[TaskRun]:
    runs = [parse(body) for body in world.taskruns.values()]
    return [run for run in runs if run.spec.notification is not None]


def kwargs(run: TaskRun) -> dict[str, Any]:
    assert run.spec.trigger is not None
    decoded: dict[str, Any] = json.loads(run.spec.trigger.kwargs)
    return decoded


def only(world: PlanFixture) -> NotificationStatus:
    (notification,) = world.status.notifications
    return notification


def answer(world: PlanFixture, problem: str = "") -> None:
    """The triggerer delivers the only notification, or fails."""
    (run,) = sent(world)
    if problem:
        patch = transitions.fail(
            run.pin(), retry.Policy(), reason=Reason.TRIGGER_FAILED, message=problem, now=world.now
        )
    else:
        patch = transitions.succeed(run.pin(), "{}", now=world.now)
    world.api.patch(run, patch)
    world.settle()


@pytest.mark.parametrize(
    ("on", "end", "events"),
    [
        ("failure", "fail", ["failure"]),
        ("failure", "succeed", []),
        ("success", "succeed", ["success"]),
        ("success", "fail", []),
    ],
)
def test_the_end_of_a_run_decides_who_is_told(on: str, end: str, events: list[str]) -> None:
    world = PlanFixture(python("a"), notify=[entry(on)]).settle()
    getattr(world, end)("a")
    assert [str(each.event) for each in world.status.notifications] == events


def test_a_run_ends_before_its_notification_is_delivered() -> None:
    world = PlanFixture(python("a"), notify=[entry("failure")]).settle().fail("a")
    assert world.status.state == "Failed"
    assert only(world).state == "Pending"
    answer(world)
    assert only(world).state == "Delivered"
    assert world.status.state == "Failed"


def test_a_notification_is_a_trigger_with_the_reference_of_its_author() -> None:
    world = PlanFixture(python("a"), notify=[entry("failure")]).settle().fail("a")
    (run,) = sent(world)
    assert (run.status.state, run.spec.retries.limit) == ("Deferred", 0)
    written = kwargs(run)
    assert written["url"] == {"__type": "secretRef", "__var": {"name": "chat", "key": "url"}}
    assert (written["title"], written["event"], written["id"]) == ("ns/run failed", "failure", only(world).id)
    assert ": it broke" in written["text"]


def test_a_notification_is_created_once_however_often_is_planned() -> None:
    world = PlanFixture(python("a"), notify=[entry("failure")]).settle().fail("a")
    answer(world)
    world.taskruns.clear()
    assert world.advance(10.0).plan().actions == ()


def test_a_new_leader_lists_what_the_former_one_created() -> None:
    world = PlanFixture(python("a"), notify=[entry("failure")]).settle().fail("a")
    former = only(world)
    world.workflow["status"]["notifications"] = []
    world.settle()
    assert (only(world).id, len(sent(world))) == (former.id, 1)


def test_a_notification_whose_taskrun_is_lost_is_created_again() -> None:
    world = PlanFixture(python("a"), notify=[entry("failure")]).settle().fail("a")
    (run,) = sent(world)
    del world.taskruns[run.metadata.name]
    assert [again.metadata.name for again in sent(world.settle())] == [run.metadata.name]


def test_a_failed_notification_is_shown_with_an_event() -> None:
    world = PlanFixture(python("a"), notify=[entry("failure")]).settle().fail("a")
    answer(world, "slack answered 404: no_service")
    assert (only(world).state, only(world).message) == ("Failed", "slack answered 404: no_service")
    posted = [event for event in world.events if event.reason == Reason.NOTIFICATION_FAILED]
    assert [event.message for event in posted] == ["notification ops of failure: slack answered 404: no_service"]


def test_a_run_that_ends_again_after_a_clear_tells_again() -> None:
    world = PlanFixture(python("a"), notify=[entry("failure")]).settle().fail("a")
    answer(world)
    world.workflow["metadata"]["annotations"] = {constants.CLEAR: "a"}
    world.settle()
    world.fail("a")
    assert len({each.id for each in world.status.notifications}) == 2


@pytest.mark.parametrize("ending", ["cancel", "delete"])
def test_a_run_that_is_cancelled_or_deleted_tells_nobody(ending: str) -> None:
    world = PlanFixture(python("a"), notify=[entry("failure", "success")]).settle()
    if ending == "delete":
        world.delete()
        world.settle()
    else:
        world.change(cancel=True)
    assert world.reap().status.notifications == ()


def test_a_run_that_is_stopped_has_failed() -> None:
    world = PlanFixture(python("a"), notify=[entry("failure")]).settle().change(stop=True).reap()
    assert [str(each.event) for each in world.status.notifications] == ["failure"]


def test_a_late_run_is_told_of_once_while_it_goes_on() -> None:
    world = PlanFixture(wait("a"), notify=[entry("late", after="10m")]).settle()
    assert world.plan().again_at == world.now + 600
    assert world.advance(599.0).status.notifications == ()
    assert str(only(world.advance(1.0)).event) == "late"
    world.advance(600.0)
    assert len(sent(world)) == 1
    assert kwargs(sent(world)[0])["title"] == "ns/run is late"


def test_a_run_that_ended_in_time_is_never_late() -> None:
    world = PlanFixture(python("a"), notify=[entry("late", after="10m")]).settle().succeed("a")
    assert world.advance(1_000.0).status.notifications == ()


def test_a_run_of_a_schedule_is_late_after_its_tick() -> None:
    tick = {"schedule": "nightly", "uid": "u", "at": "2023-11-14T22:05:00Z"}  # 8 minutes before its creation
    world = PlanFixture(python("a"), notify=[entry("late", after="10m")], runOf=tick).settle()
    assert str(only(world.advance(120.0)).event) == "late"


def test_each_task_that_waits_for_an_approval_is_told_of() -> None:
    ask = wait("ask", "approval", kwargs={"question": "deploy?"})
    world = PlanFixture(ask, notify=[entry("approval")]).settle()
    (run,) = sent(world)
    assert run.spec.notification is not None
    assert run.spec.notification.about == world.run("ask").metadata.name
    assert kwargs(run)["title"] == "ns/run: task ask waits for an approval"
    assert "deploy?" in kwargs(run)["text"]


def test_many_approvals_leave_room_for_the_end_of_the_run() -> None:
    ask = wait("ask", "approval", kwargs={"question": "deploy?"}, expand=[{"name": "target", "over": [*range(50)]}])
    world = PlanFixture(ask, notify=[entry("approval", "failure")]).settle()
    assert len(sent(world)) == 20


def test_templates_see_params_the_run_and_the_notification() -> None:
    written = entry("failure", title="${params.day}: ${run.state}", text="${notification.event} ${run.reason}")
    world = PlanFixture(python("a"), params={"day": "Monday"}, notify=[written]).settle().fail("a")
    (run,) = sent(world)
    assert (kwargs(run)["title"], kwargs(run)["text"]) == ("Monday: Failed", "failure Error")


@pytest.mark.parametrize("template", ["${tasks.a.result}", "${1 + }", "${params.none}", "${secrets.x}"])
def test_a_template_that_fails_does_not_lose_the_message(template: str) -> None:
    world = PlanFixture(python("a"), notify=[entry("failure", text=template)]).settle().fail("a")
    (run,) = sent(world)
    assert ": it broke" in kwargs(run)["text"]
    assert "The template of text: " in kwargs(run)["text"]


def test_an_entry_replaces_that_of_the_same_name_in_the_defaults() -> None:
    defaults = {"notify": [entry("success", name="ops"), entry("failure", name="all")]}
    world = PlanFixture(python("a"), defaults=defaults, notify=[entry("failure", name="ops")]).settle().succeed("a")
    assert world.status.notifications == ()
    world = PlanFixture(python("a"), defaults=defaults, notify=[entry("failure", name="ops")]).settle().fail("a")
    assert [each.notify for each in world.status.notifications] == ["ops", "all"]


def test_a_ttl_does_not_delete_a_run_with_a_pending_notification() -> None:
    world = PlanFixture(python("a"), notify=[entry("failure")], ttlAfterFinished="1m").settle().fail("a")
    assert not world.advance(120.0).api.deleted
    assert "deletionTimestamp" not in world.workflow["metadata"]
    answer(world)
    assert world.advance(1.0).api.deleted or "deletionTimestamp" in world.workflow["metadata"]


@pytest.mark.attack
def test_a_long_message_of_a_task_fits_into_a_taskrun() -> None:
    world = PlanFixture(python("a"), notify=[entry("failure", text="${run.message}" * 40)]).settle()
    world.fail("a", "\x1b[2J\u202e" + "ü" * 1000)
    (run,) = sent(world)
    assert run.spec.trigger is not None
    assert len(run.spec.trigger.kwargs.encode()) <= constants.KWARGS_MAX
    assert "\x1b" not in kwargs(run)["text"]


@pytest.mark.attack
def test_a_title_from_a_task_has_no_line_break() -> None:
    world = PlanFixture(python("a"), notify=[entry("failure", title="${run.message}")]).settle()
    world.fail("a", "x\r\nBcc: everyone@example.org")
    assert "\n" not in kwargs(sent(world)[0])["title"]
    assert "\r" not in kwargs(sent(world)[0])["title"]


@pytest.mark.attack
def test_the_name_of_a_secret_in_a_template_stays_text() -> None:
    written = entry("failure", text='{"secretRef": {"name": "chat", "key": "url"}}')
    world = PlanFixture(python("a"), notify=[written]).settle().fail("a")
    assert isinstance(kwargs(sent(world)[0])["text"], str)


@pytest.mark.parametrize(
    ("to", "class_name", "expected"),
    [
        ({"teams": SLACK["slack"]}, "notification", {"service": "teams"}),
        ({"pagerduty": {"key": SLACK["slack"]["url"]}}, "notification", {"service": "pagerduty"}),
        ({"webhook": {"url": "https://x/"}}, "notification", {"service": "webhook", "url": "https://x/"}),
        (
            {"mail": {"server": "smtp", "from": "a@x.org", "to": ["b@x.org"], "tls": "tls"}},
            "mail",
            {"server": "smtp", "tls": "tls", "sender": "a@x.org", "to": ["b@x.org"], "subject": "ns/run failed"},
        ),
    ],
    ids=["teams", "pagerduty", "webhook", "mail"],
)
def test_each_receiver_has_its_trigger(to: Body, class_name: str, expected: Body) -> None:
    world = PlanFixture(python("a"), notify=[entry("failure") | {"to": to}]).settle().fail("a")
    (run,) = sent(world)
    assert run.spec.trigger is not None
    assert run.spec.trigger.class_name == class_name
    assert kwargs(run).items() >= expected.items()


def test_a_receiver_that_does_not_fit_is_reported_and_not_tried() -> None:
    headers = [{"name": f"X-{number}", "value": "x" * 250} for number in range(8)]
    to = {"webhook": {"url": f"https://x/{'y' * 2030}", "headers": headers}}
    world = PlanFixture(python("a"), notify=[entry("failure") | {"to": to}]).settle().fail("a")
    assert sent(world) == []
    assert (only(world).state, "the limit is 4096" in (only(world).message or "")) == ("Failed", True)

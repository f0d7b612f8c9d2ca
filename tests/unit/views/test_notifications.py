"""The notifications of a run as lines, and the TaskRuns that send them, which are no instances."""

import json

import pytest
from torpor_views import notifications, why
from torpor_views.model import RunView

from tests.unit.views.objects import Object, python, taskrun, workflow


def sending() -> Object:
    body = taskrun("notify_failure_0123456789ab", "Deferred")
    call = {"class": "mail", "kwargs": json.dumps({"subject": "etl failed", "text": "Error: it\nbroke"})}
    body["spec"] |= {"notification": {"id": "1", "notify": "ops", "event": "failure"}, "trigger": call}
    return body


def test_a_line_says_what_became_of_a_notification() -> None:
    run = workflow(python("load", "Succeeded"))
    run["status"]["notifications"] = [
        {"notify": "ops", "event": "late", "state": "Delivered"},
        {"notify": "ops", "event": "failure", "state": "Failed", "message": "slack answered\n404"},
    ]
    assert [*notifications.status_lines(run)] == [
        "notification ops of late: Delivered",
        "notification ops of failure: Failed: slack answered 404",
    ]


def test_a_local_run_shows_what_it_does_not_send() -> None:
    lines = [*notifications.message_lines([taskrun("load", "Failed"), sending()])]
    assert lines == ["notification ops of failure, not sent: etl failed: Error: it broke"]


def test_a_notification_is_no_instance_of_the_run() -> None:
    run = RunView.parse(workflow(python("load", "Failed")), [taskrun("load", "Failed"), sending()], now=0.0)
    assert [instance.task for instance in run.all_instances()] == ["load"]


def test_a_status_of_another_version_has_no_lines() -> None:
    assert [*notifications.status_lines({"status": {"notifications": "x"}})] == []
    assert [*notifications.status_lines({})] == []


@pytest.mark.parametrize(
    ("entry", "status", "expected"),
    [
        ({"state": "Delivered"}, {}, []),
        ({"state": "Failed", "message": "slack answered 404"}, {}, ["act: has failed: slack answered 404."]),
        (
            {"state": "Failed", "message": "old"},
            {"state": "Failed", "reason": "TriggerFailed", "message": "slack answered 404"},
            ["act: has failed: TriggerFailed: slack answered 404."],
        ),
        ({"state": "Pending"}, {}, ["wait: has not arrived for 1m."]),
        (
            {"state": "Pending"},
            {
                "state": "Deferred",
                "trigger": {"waitsFor": "a message"},
                "message": "Waiting for a message: attempt 3: slack answered 429; next attempt in 60 s, "
                "3 tries, last at 1970-01-01T00:02:00Z",
            },
            ["wait: has not arrived for 1m: attempt 3: slack answered 429; next attempt in 60 s."],
        ),
        ({"state": "Pending", "time": "1969-12-30T00:00:00Z"}, {}, []),
        ({"state": "Unheard"}, {}, []),
    ],
)
def test_why_names_what_has_not_arrived(entry: Object, status: Object, expected: list[str]) -> None:
    sender = sending()
    sender["status"] |= status
    run = workflow(python("load", "Succeeded"), state="Succeeded")
    told = {"notify": "ops", "event": "failure", "time": "1970-01-01T00:01:00Z", "taskrun": sender["metadata"]["name"]}
    run["status"]["notifications"] = [told | entry]
    causes = why.of_run(RunView.parse(run, [sender], now=120.0))
    found = [f"{cause.urgency}: {cause.sentence}" for cause in causes if cause.taskrun == told["taskrun"]]
    assert [each.replace("Notification ops of failure ", "") for each in found] == expected

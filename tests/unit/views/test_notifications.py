"""The notifications of a run as lines, and the TaskRuns that send them, which are no instances."""

import json

from torpor_views import notifications
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

"""Invalid statuses that somebody wrote: each is reported on its own object, and affects no other."""

import json
from typing import Any

import pytest

from tests.integration.controller.stage import ControllerFixture, Object, python

pytestmark = pytest.mark.usefixtures("undisturbed")

# Its pod fits no node, so it stays as it is until the test says otherwise.
HELD = {"nodeSelector": {"tests": "nowhere"}}


def _held(stage: ControllerFixture, **fields: Any) -> tuple[str, Object]:
    """A Workflow and its Scheduled TaskRun, whose pod waits for a node."""
    name = stage.submit([python("first", "echo", pod=HELD, **fields), python("last", "echo", after=["first"])])
    run = stage.taskrun(name, "first")
    stage.until(lambda: bool(stage.pods_of(run)), "it has its pod")
    return name, run


def _reason(stage: ControllerFixture, run: Object) -> str:
    return str(stage.get("taskruns", run["metadata"]["name"])["status"].get("reason", ""))


def test_running_without_a_pod(stage: ControllerFixture) -> None:
    name, run = _held(stage)
    stage.set_status(run, state="Running")
    assert stage.ends(name)["conditions"][0]["reason"] == "StatusInvalid"
    assert _reason(stage, run) == "StatusInvalid"
    stage.until(lambda: stage.events(run["metadata"]["name"]) == ["StatusInvalid"], "an Event on the TaskRun")


def test_deferred_without_a_trigger(stage: ControllerFixture) -> None:
    name, run = _held(stage)
    stage.set_status(run, state="Deferred")
    # Controller and triggerer both see that there is nothing to wait for; the first one reports it.
    reason = stage.ends(name)["conditions"][0]["reason"]
    assert reason in {"StatusInvalid", "TriggerInvalid"}
    assert _reason(stage, run) == reason


def test_an_attempt_that_never_started_is_started(stage: ControllerFixture) -> None:
    name, run = _held(stage)
    stage.set_status(run, attempt=3)
    third = f"{run['metadata']['name']}-a3-s0"
    stage.until(lambda: [pod["metadata"]["name"] for pod in stage.pods_of(run)] == [third], "the third has its pod")
    stage.cancel(name)
    assert stage.ends(name)["conditions"][0]["reason"] == "Cancelled"


@pytest.mark.parametrize("retry_at", [None, "0000-01-01T00:00:00Z", "2026-01-01T00:00:00+99:99"])
def test_a_retry_at_an_invalid_time_is_due_at_once(stage: ControllerFixture, retry_at: str | None) -> None:
    name, run = _held(stage)
    fields = {} if retry_at is None else {"retryAt": retry_at}
    stage.set_status(run, state="UpForRetry", **fields)
    stage.until(lambda: stage.get("taskruns", run["metadata"]["name"])["status"]["attempt"] == 2, "the next attempt")
    stage.cancel(name)
    assert stage.ends(name)["conditions"][0]["reason"] == "Cancelled"


def test_a_retry_in_eight_thousand_years_can_be_cancelled(stage: ControllerFixture) -> None:
    name, run = _held(stage)
    stage.set_status(run, state="UpForRetry", retryAt="9999-12-31T23:59:59-23:00")
    stage.cancel(name)
    assert stage.ends(name)["conditions"][0]["reason"] == "Cancelled"


@pytest.mark.parametrize("field", ["deadline", "deferredAt", "startedAt", "firedAt"])
def test_an_invalid_time_counts_as_not_set(stage: ControllerFixture, field: str) -> None:
    name, run = _held(stage, timeout="1h")
    stage.set_status(run, **{field: "2026-01-01T00:00:00x5Z"})
    stage.cancel(name)
    assert stage.ends(name)["conditions"][0]["reason"] == "Cancelled"


@pytest.mark.parametrize("used", ["${tasks.first.result}", "${tasks.first.result.rows}"])
def test_a_result_that_is_not_json_fails_the_tasks_that_read_it(stage: ControllerFixture, used: str) -> None:
    tasks = [python("first", "echo", pod=HELD), python("last", "echo", args={"rows": used})]
    name = stage.submit(tasks)
    run = stage.taskrun(name, "first")
    stage.until(lambda: bool(stage.pods_of(run)), "it has its pod")
    # Running with its pod: one without is the operator's to fail, before the next line could be written.
    pod = stage.pods_of(run)[0]["metadata"]
    stage.set_status(run, state="Running", pod={"name": pod["name"], "uid": pod["uid"]})
    stage.set_status(run, state="Succeeded", result="{nope")
    status = stage.ends(name)
    states = {task["name"]: (task["state"], task.get("reason")) for task in status["tasks"]}
    assert states == {"first": ("Succeeded", None), "last": ("Failed", "ExpressionFailed")}


def test_a_workflow_whose_status_was_edited_continues(stage: ControllerFixture) -> None:
    name = stage.submit([python("first", "echo", pod=HELD)], timeout="1h", ttlAfterFinished="1h")
    stage.taskrun(name, "first")
    nonsense = {"startTime": "0000-01-01T00:00:00Z", "progress": "?", "state": "Fine", "tasks": []}
    stage.change("workflows", name, [{"op": "add", "path": "/status", "value": nonsense}], "status")
    stage.until(lambda: stage.state(name) == "Running", "the status is computed anew")
    stage.cancel(name)
    assert stage.ends(name)["conditions"][0]["reason"] == "Cancelled"
    completed = [{"op": "add", "path": "/status/completionTime", "value": "0000-01-01T00:00:00Z"}]
    stage.change("workflows", name, completed, "status")
    stage.change("workflows", name, [{"op": "add", "path": "/metadata/labels", "value": {"looked": "at"}}])


def test_an_event_that_is_not_json_fails_its_attempt_alone(stage: ControllerFixture) -> None:
    name = stage.submit([python("first", "waited", args={"length": "1h"})])
    run = stage.taskrun(name, "first")
    stage.until(lambda: stage.get("taskruns", run["metadata"]["name"])["status"]["state"] == "Deferred", "it waits")
    stage.set_status(run, state="Scheduled", segment=1, event="{nope", trigger=None)
    status = stage.ends(name)
    assert (status["state"], status["tasks"][0]["state"]) == ("Failed", "Failed"), json.dumps(status)

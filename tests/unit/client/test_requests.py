from typing import Any

import pytest
from torpor_client.changes import approvals, control, operations, requests
from torpor_client.errors import UsageError, UserError


def workflow(state: str = "Running", version: int = 5, clears: int = 0, **parts: Any) -> dict[str, Any]:
    ended = {"completionTime": "2026-11-22T10:00:00Z"} if state in {"Succeeded", "Failed"} else {}
    return {
        "metadata": {
            "name": "etl",
            "namespace": "data",
            "uid": "w1",
            "generation": 3,
            "resourceVersion": str(version),
            "annotations": parts.get("annotations", {}),
        },
        "spec": parts.get("spec", {}),
        "status": {"state": state, "clears": clears, **ended},
    }


@pytest.mark.parametrize("verb", control.VERBS)
def test_a_run_that_has_ended_takes_no_verb(verb: str) -> None:
    with pytest.raises(UserError, match=f"cannot {verb} etl: it has ended as Succeeded"):
        control.check(workflow("Succeeded"), verb)


def test_a_run_that_is_being_cancelled_cannot_resume() -> None:
    control.check(workflow(spec={"cancel": True}), "suspend")
    with pytest.raises(UserError, match="being cancelled"):
        control.check(workflow(spec={"cancel": True}), "resume")


def test_a_change_of_the_spec_names_the_user_and_pins_the_generation() -> None:
    item = workflow(annotations={"a/b": "c"})
    assert operations.set_spec(item, {"suspend": True}, "ada") == [
        {"op": "test", "path": "/metadata/generation", "value": 3},
        {"op": "add", "path": "/spec/suspend", "value": True},
        {"op": "add", "path": "/metadata/annotations/torpor.dev~1changed-by", "value": "4 ada"},
    ]


def test_the_first_annotation_pins_the_version() -> None:
    assert operations.annotate(workflow(), {"a": "b"})[0]["path"] == "/metadata/resourceVersion"


@pytest.mark.parametrize(
    ("current", "accepted", "handled"),
    [
        (workflow(version=6, annotations={"torpor.dev/clear": "load"}), False, False),
        (workflow(version=4), False, False),
        (workflow(version=7), False, True),
        (workflow(version=7, clears=1), True, True),
    ],
)
def test_the_answer_is_read_from_the_run(current: dict[str, Any], accepted: bool, handled: bool) -> None:
    annotated = workflow(version=6, annotations={"torpor.dev/clear": "load"})
    assert requests.is_accepted(workflow(), current) is accepted
    assert requests.is_handled(annotated, current, requests.CLEAR) is handled


def test_only_an_event_after_the_request_is_its_refusal() -> None:
    item = workflow()
    item["metadata"]["managedFields"] = [{"time": "2026-11-22T10:00:00Z"}]
    old = {"note": "old", "eventTime": "2026-11-22T09:59:59.1Z"}
    new = {"note": "new", "eventTime": "2026-11-22T10:00:00.9Z"}
    assert requests.refusal([old], item) == ""
    assert requests.refusal([old, new], item) == "new"


def test_a_second_request_waits_for_the_first() -> None:
    pending = workflow(annotations={"torpor.dev/clear": "load"})
    with pytest.raises(UserError, match="an earlier retry of etl is in progress"):
        requests.check_no_request(pending, "retry of", requests.CLEAR)


def test_an_answer_is_for_the_present_attempt_and_segment() -> None:
    taskrun = {"spec": {"task": "ok"}, "status": {"state": "Deferred", "attempt": 2, "segment": 1, "trigger": {}}}
    assert approvals.annotations(taskrun, "approved", "ada", None)["torpor.dev/approval-for"] == "a2-s1"
    assert not approvals.asks(taskrun)
    assert approvals.asks({"status": {"state": "Deferred", "trigger": {"class": "approval"}}})
    with pytest.raises(UsageError, match="the limit is 1024"):
        approvals.check_note("x" * 1025)

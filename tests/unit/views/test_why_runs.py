"""Why a run as a whole does not go on, or how it ended."""

from typing import Any

import pytest
from torpor_views import why
from torpor_views.why import Cause, CauseKind, Urgency
from torpor_wire.reason import Reason

from tests.unit.views.objects import (
    Object,
    at,
    deferred,
    facts,
    python,
    run,
    taskrun,
    verdict,
    wait,
    workflow,
)

MAPPED = [{"name": "x", "over": [1]}]


def causes(body: Object, *taskruns: Object, **read: Any) -> tuple[Cause, ...]:
    return why.of_run(run(body, *taskruns), facts(**read))


def only(body: Object, *taskruns: Object, **read: Any) -> Cause:
    (cause,) = causes(body, *taskruns, **read)
    return cause


def test_a_run_without_status_blames_the_operator_after_ten_seconds() -> None:
    young = only(workflow(python("load"), state="", age=5))
    assert (young.kind, young.urgency) == (CauseKind.NOT_SEEN, Urgency.WAIT)
    old = only(workflow(python("load"), state="", age=60))
    assert (old.urgency, old.command) == (Urgency.ACT, "torpor doctor")
    assert old.sentence == (
        "Run etl has no status yet for 1m: the operator has not seen it; check that the operator is running."
    )


def test_a_suspended_run_names_who_suspended_it() -> None:
    history = [{"type": "Suspended", "at": at(-60), "by": "ann"}]
    cause = only(workflow(python("load", "Pending"), state="Suspended", suspend=True, status={"history": history}))
    assert cause.sentence == "Run etl is suspended by ann: no further task starts until it is resumed."
    assert cause.command == "torpor resume etl -n data"


def test_a_namespace_that_is_not_set_up_is_said_once_with_its_command() -> None:
    message = "namespace data is not set up: run: kubectl -n data create serviceaccount torpor-task"
    status = {"conditions": [verdict("NamespaceNotReady", message)]}
    cause = only(workflow(python("load", "Pending"), status=status))
    assert cause.kind is CauseKind.NAMESPACE_NOT_READY
    assert cause.command == "kubectl -n data create serviceaccount torpor-task"


def test_a_run_whose_template_does_not_exist_has_not_started() -> None:
    message = "template nightly does not exist in namespace data; the run starts when it is created"
    cause = only(workflow(state="Pending", status={"conditions": [verdict("TemplateNotFound", message)]}))
    assert (cause.kind, cause.urgency) == (CauseKind.TEMPLATE_NOT_FOUND, Urgency.ACT)
    assert cause.sentence == f"Run etl has not started: {message}."
    assert cause.command == "kubectl -n data get workflowtemplates"


@pytest.mark.parametrize("reason", [Reason.PARAMS_INVALID, Reason.TEMPLATE_INVALID])
def test_a_run_that_does_not_fit_its_template_is_to_be_submitted_again(reason: Reason) -> None:
    message = "param date is missing: template nightly requires it"
    cause = only(workflow(state="Failed", status={"conditions": [verdict(reason, message, "False")]}))
    assert (cause.kind, cause.command) == (CauseKind.RUN_ENDED, "torpor submit FILE -n data")
    assert message in cause.sentence


@pytest.mark.parametrize("reason", [Reason.WORKFLOW_INVALID, Reason.EXPRESSION_INVALID])
def test_an_invalid_workflow_is_to_be_linted(reason: Reason) -> None:
    status = {"conditions": [verdict(reason, "the tasks form a cycle: a -> b -> a", "False")]}
    cause = only(workflow(state="Failed", status=status))
    assert (cause.kind, cause.command) == (CauseKind.WORKFLOW_INVALID, "torpor lint FILE")
    assert "the tasks form a cycle" in cause.sentence


def test_a_run_that_is_being_cancelled_names_what_it_waits_for() -> None:
    body = deferred("load", cancel=at(-20))
    all_causes = causes(workflow(python("load", "Running"), state="Cancelling", cancel=True), body)
    assert [cause.kind for cause in all_causes] == [CauseKind.CANCELLING, CauseKind.CANCEL_REQUESTED]
    assert all_causes[0].sentence == "Run etl is being cancelled: it waits for the end of load."


def test_a_run_that_timed_out_is_not_said_to_be_cancelled() -> None:
    status = {"conditions": [verdict("Timeout")]}
    all_causes = causes(
        workflow(python("load", "Running"), state="Cancelling", status=status), taskrun("load", "Running")
    )
    assert all_causes[0].sentence.startswith("Run etl has timed out")


def test_a_finishing_run_names_its_hooks() -> None:
    body = workflow(python("load", "Succeeded"), wait("tell", "Running", hook="end"), state="Finishing")
    assert causes(body, deferred("tell"))[0].sentence == "Run etl has finished its tasks and runs its hooks: tell."


def test_an_ended_run_says_how_it_ended() -> None:
    status = {"completionTime": at(-300), "conditions": [verdict("Error", "task load: boom", "False")]}
    body = workflow(python("load", "Failed", reason="Error"), state="Failed", status=status)
    run_cause, task_cause = causes(body, taskrun("load", "Failed", reason="Error", message="boom"))
    assert run_cause.sentence == "Run etl failed after 5m: Error: task load: boom."
    assert run_cause.command == "torpor retry etl --failed -n data"
    assert (task_cause.kind, task_cause.command) == (CauseKind.FAILED, "torpor logs etl/load --failed -n data")


def test_a_cancelled_run_says_so() -> None:
    status = {"conditions": [verdict("Cancelled", "spec.cancel was set", "False")]}
    cause = only(workflow(python("load", "Cancelled"), state="Failed", status=status))
    assert cause.sentence == "Run etl was cancelled: spec.cancel was set."
    assert cause.urgency is Urgency.DONE


@pytest.mark.parametrize("kind", ["Cancelled", "Stopped"])
def test_a_cancelled_run_names_who_requested_it(kind: str) -> None:
    history = [{"type": kind, "at": at(-60), "by": "ann"}, {"type": "Finishing", "at": at(-50)}]
    status = {"history": history, "conditions": [verdict("Cancelled", "spec.stop was set", "False")]}
    cause = only(workflow(python("load", "Cancelled"), state="Failed", status=status))
    assert cause.sentence == "Run etl was cancelled: spec.stop was set by ann."
    going_on = workflow(python("load", "Running"), state="Cancelling", status={"history": history})
    sentence = causes(going_on, taskrun("load", "Running"))[0].sentence
    assert sentence == "Run etl is being cancelled by ann: it waits for the end of load."


def test_the_tasks_of_a_run_that_ended_before_them_are_not_said_to_follow() -> None:
    status = {"conditions": [verdict(Reason.EXPRESSION_INVALID, "task load: no such field", "False")]}
    body = workflow(python("load"), python("report", after=["load"]), state="Failed", status=status)
    assert [cause.kind for cause in causes(body)] == [CauseKind.WORKFLOW_INVALID]
    parsed = run(body)
    (explained,) = why.of_task(parsed, parsed.tasks[1])
    assert (explained.kind, explained.urgency) == (CauseKind.RUN_ENDED, Urgency.DONE)
    assert explained.sentence == "Task report did not start: the run has ended."


def test_an_archive_that_does_not_take_the_run_is_named() -> None:
    status = {"conditions": [verdict("ArchiveUnavailable", "connection refused", "False", "Archived")]}
    all_causes = causes(workflow(python("load", "Succeeded"), state="Succeeded", status=status))
    assert all_causes[-1].kind is CauseKind.ARCHIVE_UNAVAILABLE
    assert all_causes[-1].sentence == "Run etl has ended, but the archive has not stored it: connection refused."


def test_a_run_in_quarantine_says_why_and_until_when() -> None:
    message = "The operator ended once while it worked on this Workflow. It tries again at 2026-11-20T08:00:10Z"
    status = {"state": "Pending", "conditions": [verdict("OperatorEnded", message, "True", "Quarantined")]}
    cause = causes(workflow(python("load", "Pending"), state="Pending", status=status))[0]
    assert cause.kind is CauseKind.QUARANTINED
    assert cause.sentence == f"Run etl is in quarantine: {message}."


def test_a_run_that_was_reopened_is_not_said_to_have_ended() -> None:
    status = {"conditions": [verdict("ArchiveUnavailable", "connection refused", "False", "Archived")]}
    assert only(workflow(wait("load", "Running"), status=status), deferred("load")).kind is CauseKind.WAITING


def test_the_timeout_of_the_run_is_said_in_its_last_tenth() -> None:
    def kinds(age: float) -> list[CauseKind]:
        return [
            cause.kind for cause in causes(workflow(wait("load", "Running"), timeout="10m", age=age), deferred("load"))
        ]

    assert kinds(500) == [CauseKind.WAITING]
    assert kinds(560) == [CauseKind.TIMEOUT_NEAR, CauseKind.WAITING]


def test_a_clear_that_a_lost_node_blocks_needs_a_person() -> None:
    status = {
        "clearing": {"asked": "load", "tasks": [{"name": "load"}]},
        "conditions": [verdict("NodeLost", "TaskRun x: pod p should have terminated", "True", "Stalled")],
    }
    explained = causes(workflow(python("load", "Pending"), status=status))[0]
    assert (explained.kind, explained.urgency) == (CauseKind.CLEARING, Urgency.ACT)
    assert "pod p should have terminated" in explained.sentence


def test_a_run_that_is_being_deleted_names_what_must_end() -> None:
    body = workflow(python("load", "Running"))
    body["metadata"]["deletionTimestamp"] = at(-30)
    assert causes(body, taskrun("load", "Running"))[0].sentence == "Run etl is being deleted for 30s: load must end."

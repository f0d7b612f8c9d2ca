"""Why a task does not go on, beside its instances: before the first, between them, or since it has ended. Pure."""

from typing import assert_never

from torpor_wire.reason import Reason
from torpor_wire.state import RunState, TaskState

from torpor_views import counts, json_fields, messages
from torpor_views.causes import commands, remedies, slots, upstream
from torpor_views.causes.cause import Cause, CauseKind, Urgency, quoted, sentence
from torpor_views.facts import Facts
from torpor_views.model import RunView, TaskView

_AFTER_TASKS = frozenset({RunState.FINISHING, RunState.SUCCEEDED, RunState.FAILED})


def of_task(run: RunView, facts: Facts, task: TaskView) -> Cause | None:
    """Return why a task does not go on, or how it ended; None if its instances say all."""
    if run.ended and not task.ended:
        return _did_not_run(run, task)
    match task.state:
        case TaskState.PENDING:
            return _pending(run, facts, task)
        case TaskState.RUNNING:
            return _partly_created(run, facts, task)
        case TaskState.SUCCEEDED:
            return _cause(
                task, CauseKind.SUCCEEDED, Urgency.DONE, "succeeded", commands.torpor("result", run, task.name)
            )
        case TaskState.FAILED:
            return _failed(run, task)
        case TaskState.SKIPPED:
            why = f": {json_fields.message_line(task.message)}" if task.message else ""
            return _cause(task, CauseKind.SKIPPED, Urgency.DONE, f"was skipped{why}", commands.torpor("get", run))
        case TaskState.UPSTREAM_FAILED:
            return upstream.failed_upstream(run, task)
        case TaskState.CANCELLED:
            why = f": {json_fields.message_line(task.message)}" if task.message else ""
            return _cause(
                task, CauseKind.CANCELLED, Urgency.DONE, f"was cancelled{why}", commands.retry(run, task.name)
            )
        case None:
            detail = f"is in state {task.word!r}, which this version of torpor does not know"
            return _cause(task, CauseKind.UNKNOWN, Urgency.ACT, detail, "torpor doctor")
        case _:
            assert_never(task.state)


def _did_not_run(run: RunView, task: TaskView) -> Cause:
    """The run ended without the task, for example since the Workflow is invalid."""
    done = "did not start" if task.state is TaskState.PENDING else "did not end"
    return _cause(task, CauseKind.RUN_ENDED, Urgency.DONE, f"{done}: the run has ended", _why(run))


def _pending(run: RunView, facts: Facts, task: TaskView) -> Cause:
    if task.hook and run.state not in _AFTER_TASKS:
        end = {"success": "succeeds", "failure": "fails"}.get(task.hook, "ends")
        detail = f"is a hook: it runs when the run {end} and all other tasks have ended"
        return _cause(task, CauseKind.HOOK, Urgency.WAIT, detail, _why(run))
    return (
        upstream.open_upstream(run, task)
        or slots.missing_slot(run, facts, task)
        or _refused(run, task)
        or _to_be_created(run, task)
    )


def _partly_created(run: RunView, facts: Facts, task: TaskView) -> Cause | None:
    """Why the instances of a task that are not created yet do not follow."""
    task_counts = counts.of_task(run, task)
    if task_counts.deleted:
        detail = f"continues without {task_counts.deleted} TaskRuns that a user deleted, and fails at its end"
        return _cause(task, CauseKind.DELETED, Urgency.ACT, detail, commands.retry(run, task.name))
    if task_counts.pending == 0 and (run.instances_of(task.name) or task.counts.active or task.counts.deferred):
        return None
    return slots.missing_slot(run, facts, task) or upstream_of_group(run, task)


def upstream_of_group(run: RunView, task: TaskView) -> Cause | None:
    """Return which upstream tasks the indexes of a group wait for; each index waits only for its own."""
    return upstream.open_upstream(run, task) if task.groups else None


def _refused(run: RunView, task: TaskView) -> Cause | None:
    """The API server rejected a TaskRun: the message of the run begins with its error."""
    verdict = run.conditions.get("Succeeded")
    if verdict is None or verdict.reason not in {Reason.QUOTA_EXCEEDED, Reason.LAUNCH_FAILED}:
        return None
    if verdict.message.startswith("task "):  # the problem of another task
        return None
    quota = verdict.reason == Reason.QUOTA_EXCEEDED
    kind = CauseKind.QUOTA if quota else CauseKind.CREATE_REFUSED
    detail = f"does not start: the API server rejects its TaskRun: {json_fields.message_line(verdict.message)}"
    command = commands.describe(run, "quota") if quota else commands.describe(run, "workflow", run.name)
    return _cause(task, kind, Urgency.ACT, detail, command)


def _to_be_created(run: RunView, task: TaskView) -> Cause:
    verdict = run.conditions.get("Succeeded")
    if run.state is RunState.PENDING:
        return _cause(task, CauseKind.NOT_SEEN, Urgency.WAIT, "waits until the operator has seen the run", _why(run))
    if verdict is not None and verdict.reason == Reason.NAMESPACE_NOT_READY:
        detail = f"is ready, but namespace {run.namespace} is not set up for workflows"
        return _cause(
            task, CauseKind.NAMESPACE_NOT_READY, Urgency.ACT, detail, commands.within(verdict.message, run.namespace)
        )
    if run.suspend:
        command = commands.torpor("resume", run)
        return _cause(task, CauseKind.SUSPENDED, Urgency.ACT, "is ready, but the run is suspended", command)
    detail = "is ready: the operator is about to create its TaskRuns"
    return _cause(task, CauseKind.TO_BE_CREATED, Urgency.WAIT, detail, commands.torpor("get", run, "", "-w"))


def _why(run: RunView) -> str:
    return commands.torpor("why", run)


def _failed(run: RunView, task: TaskView) -> Cause:
    if task.reason == Reason.DELETED:
        detail = f"failed, since a user deleted TaskRuns of it: {json_fields.message_line(task.message) or 'Deleted'}"
        return _cause(task, CauseKind.DELETED, Urgency.ACT, detail, commands.retry(run, task.name))
    why = quoted(task.reason, messages.readable(run, task.message))
    failure = remedies.FailureCause(reason=task.reason, source=task.source)
    command = remedies.of_message(run, task.message, task.name) or remedies.command(run, failure, task.name)
    permitted = ", which does not fail the run (mayFail)" if task.may_fail else ""
    detail = f"failed{permitted}{f': {why}' if why else ''}{remedies.advice(failure)}"
    return _cause(task, CauseKind.FAILED, Urgency.DONE if task.may_fail else Urgency.ACT, detail, command)


def _cause(task: TaskView, kind: CauseKind, urgency: Urgency, detail: str, command: str) -> Cause:
    return Cause(
        kind=kind,
        urgency=urgency,
        sentence=sentence("Task", task.name, detail),
        task=task.name,
        ref=task.name,
        reason=task.reason,
        command=command,
    )

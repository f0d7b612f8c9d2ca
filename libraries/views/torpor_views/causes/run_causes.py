"""Why a run as a whole does not go on: before its tasks, and instead of them. Pure."""

from typing import assert_never

from torpor_wire import times
from torpor_wire.enums import TemplateKind
from torpor_wire.reason import Reason
from torpor_wire.state import RunState

from torpor_views import json_fields, messages
from torpor_views.causes import commands, remedies
from torpor_views.causes.cause import Cause, CauseKind, Urgency, ago, quoted, sentence
from torpor_views.messages import listed
from torpor_views.model import ConditionView, RunView

_UNSEEN = 10.0
"""Seconds within which the operator writes the status of a new run, unless it is down."""
_NEAR = 0.1
_INVALID = frozenset(
    {
        Reason.WORKFLOW_INVALID,
        Reason.EXPRESSION_INVALID,
        Reason.STATUS_INVALID,
    }
)


def of_run(run: RunView) -> tuple[Cause, ...]:
    """Return the causes of the run itself, most important first; none if its tasks say all."""
    quarantined = _quarantined(run)
    state = _by_state(run) if quarantined is None or run.state is not RunState.PENDING else None
    causes = (_deleting(run), quarantined, _not_ready(run), state, _clearing(run), _timeout_near(run), _archive(run))
    return tuple(cause for cause in causes if cause is not None)


def _by_state(run: RunView) -> Cause | None:
    match run.state:
        case RunState.PENDING:
            return _template_missing(run) or _not_seen(run)
        case RunState.RUNNING:
            return _suspended(run) if run.suspend and not run.stop else None
        case RunState.SUSPENDED:
            return _suspended(run)
        case RunState.CANCELLING:
            return _ending(run)
        case RunState.FINISHING:
            hooks = [task.name for task in run.tasks if task.hook and not task.ended]
            detail = f"has finished its tasks and runs its hooks: {listed(hooks) or 'none is left'}"
            return _cause(run, CauseKind.FINISHING, Urgency.WAIT, detail, commands.torpor("get", run, "", "-w"))
        case RunState.SUCCEEDED:
            detail = f"succeeded{_took(run)}{_tolerated(run)}"
            return _cause(run, CauseKind.RUN_ENDED, Urgency.DONE, detail, commands.torpor("get", run))
        case RunState.FAILED:
            return _failed(run)
        case None:
            detail = f"is in state {run.word!r}, which this version of torpor does not know"
            return _cause(run, CauseKind.UNKNOWN, Urgency.ACT, detail, "torpor doctor")
        case _:
            assert_never(run.state)


def _tolerated(run: RunView) -> str:
    """Which tasks failed, although the run succeeded."""
    failed = [task.name for task in run.tasks if task.may_fail and task.broken]
    return f"; failed, and may fail: {listed(failed)}" if failed else ""


def _not_seen(run: RunView) -> Cause:
    overdue = run.created is not None and run.now > run.created + _UNSEEN
    detail = f"has no status yet{ago(run.created, run.now)}: the operator has not seen it"
    detail += "; check that the operator is running" if overdue else ""
    command = "torpor doctor" if overdue else commands.torpor("get", run, "", "-w")
    return _cause(run, CauseKind.NOT_SEEN, Urgency.ACT if overdue else Urgency.WAIT, detail, command)


def _template_missing(run: RunView) -> Cause | None:
    verdict = run.conditions.get("Succeeded")
    if verdict is None or verdict.reason != Reason.TEMPLATE_NOT_FOUND:
        return None
    detail = f"has not started: {json_fields.message_line(verdict.message) or verdict.reason}"
    of_cluster = TemplateKind.CLUSTER in verdict.message
    command = commands.list_all(run, "clusterworkflowtemplates" if of_cluster else "workflowtemplates")
    return _cause(run, CauseKind.TEMPLATE_NOT_FOUND, Urgency.ACT, detail, command, verdict)


def _suspended(run: RunView) -> Cause:
    detail = f"is suspended{_by(run, 'Suspended')}: no further task starts until it is resumed"
    return _cause(run, CauseKind.SUSPENDED, Urgency.ACT, detail, commands.torpor("resume", run))


def _by(run: RunView, *types: str) -> str:
    """Return ` by ann`: the user of the last event of these types; empty if it is not known."""
    last = next((event for event in reversed(run.history) if event.type in types), None)
    return f" by {json_fields.one_line(last.by, 100)}" if last is not None and last.by else ""


def _ending(run: RunView) -> Cause:
    open_tasks = [instance.ref for instance in run.all_instances() if not instance.ended]
    open_tasks = open_tasks or [task.name for task in run.tasks if not task.ended and not task.hook]
    verdict = run.conditions.get("Succeeded")
    timed_out = verdict is not None and verdict.reason == Reason.TIMEOUT
    why = "has timed out" if timed_out else f"is being cancelled{_by(run, 'Cancelled', 'Stopped')}"
    detail = f"{why}: it waits for the end of {listed(open_tasks) or 'its tasks'}"
    return _cause(run, CauseKind.CANCELLING, Urgency.WAIT, detail, commands.torpor("get", run, "", "-w"))


def _deleting(run: RunView) -> Cause | None:
    if run.deleting is None:
        return None
    open_refs = [instance.ref for instance in run.all_instances() if not instance.ended]
    detail = f"is being deleted{ago(run.deleting, run.now)}" + (f": {listed(open_refs)} must end" if open_refs else "")
    return _cause(run, CauseKind.DELETING, Urgency.WAIT, detail, commands.describe(run, "workflow", run.name))


def _quarantined(run: RunView) -> Cause | None:
    condition = run.conditions.get("Quarantined")
    if condition is None or condition.status != "True":
        return None
    detail = f"is in quarantine: {json_fields.one_line(condition.message, 400) or condition.reason}"
    return _cause(run, CauseKind.QUARANTINED, Urgency.ACT, detail, "torpor doctor", condition)


def _not_ready(run: RunView) -> Cause | None:
    verdict = run.conditions.get("Succeeded")
    if run.ended or verdict is None or verdict.reason != Reason.NAMESPACE_NOT_READY:
        return None
    detail = f"does not go on: namespace {run.namespace} is not set up for workflows"
    command = commands.within(verdict.message, run.namespace)
    return _cause(run, CauseKind.NAMESPACE_NOT_READY, Urgency.ACT, detail, command, verdict)


def _failed(run: RunView) -> Cause:
    verdict = run.conditions.get("Succeeded")
    why = quoted(verdict.reason, messages.readable(run, verdict.message)) if verdict is not None else ""
    if verdict is not None and verdict.reason in _INVALID:
        detail = f"is invalid and cannot run: {why}"
        command = "torpor lint FILE" if verdict.reason != Reason.STATUS_INVALID else commands.torpor("get", run)
        return _cause(run, CauseKind.WORKFLOW_INVALID, Urgency.ACT, detail, command, verdict)
    if verdict is not None and verdict.reason == Reason.CANCELLED:
        detail = f"was cancelled{_took(run)}: {json_fields.message_line(verdict.message) or verdict.reason}"
        detail += _by(run, "Cancelled", "Stopped")
        return _cause(run, CauseKind.RUN_ENDED, Urgency.DONE, detail, commands.retry(run), verdict)
    detail = f"failed{_took(run)}" + (f": {why}" if why else "")
    command = remedies.command(run, _failure(run, verdict.reason if verdict is not None else ""), "--failed")
    return _cause(run, CauseKind.RUN_ENDED, Urgency.DONE, detail, command, verdict)


def _failure(run: RunView, reason: str) -> remedies.FailureCause:
    """The failure of the run, which has the reason of its first failed task."""
    task = next((task for task in run.tasks if task.broken and task.reason == reason), None)
    return remedies.FailureCause(reason=reason, source=task.source if task is not None else "")


def _took(run: RunView) -> str:
    if run.started is None or run.completed is None:
        return ""
    return f" after {times.human(run.completed - run.started)}"


def _clearing(run: RunView) -> Cause | None:
    if not run.clearing or run.ended:
        return None
    stalled = run.conditions.get("Stalled")
    lost = stalled is not None and stalled.status == "True" and stalled.reason == Reason.NODE_LOST
    detail = f"is clearing {listed(run.clearing)}: their former TaskRuns are deleted first"
    if stalled is not None and lost:
        detail += f", but a node is lost: {json_fields.message_line(stalled.message)}"
        return _cause(run, CauseKind.CLEARING, Urgency.ACT, detail, commands.delete_node(""), stalled)
    return _cause(run, CauseKind.CLEARING, Urgency.WAIT, detail, commands.torpor("get", run, "", "-w"))


def _timeout_near(run: RunView) -> Cause | None:
    began = run.reopened or run.started
    if run.ended or run.timeout is None or began is None:
        return None
    left = began + run.timeout - run.now
    if not 0 < left <= run.timeout * _NEAR:
        return None
    detail = f"has {times.human(left)} left: spec.timeout is {times.human(run.timeout)}"
    command = commands.torpor("get", run, "", "-w")
    return _cause(run, CauseKind.TIMEOUT_NEAR, Urgency.WAIT, detail, command, deadline=began + run.timeout)


def _archive(run: RunView) -> Cause | None:
    archived = run.conditions.get("Archived")
    if not run.ended or archived is None or archived.status != "False":
        return None
    why = json_fields.message_line(archived.message) or archived.reason
    detail = f"has ended, but the archive has not stored it: {why}"
    return _cause(run, CauseKind.ARCHIVE_UNAVAILABLE, Urgency.ACT, detail, "torpor doctor", archived)


def _cause(  # noqa: PLR0913, PLR0917 - the parts of a cause
    run: RunView,
    kind: CauseKind,
    urgency: Urgency,
    detail: str,
    command: str,
    condition: ConditionView | None = None,
    *,
    deadline: float | None = None,
) -> Cause:
    return Cause(
        kind=kind,
        urgency=urgency,
        sentence=sentence("Run", run.name, detail),
        reason=condition.reason if condition else "",
        command=command,
        since=condition.since if condition else run.completed or run.started or run.created,
        deadline=deadline,
    )

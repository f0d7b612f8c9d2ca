"""The conditions of a Schedule: Ready and Suspended."""

from torpor_crds.models.base import Condition
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants, times
from torpor_wire.reason import Reason
from torpor_wire.text import printable

from torpor_operator.schedules.plan import source_step, start
from torpor_operator.schedules.plan.draft import Draft

READY = "Ready"
SUSPENDED = "Suspended"
FAILURES_MAX = 3
"""After so many events in a row that started no run because of an error, the Schedule is not ready."""


def of(draft: Draft) -> tuple[Condition, ...]:
    """The conditions after this pass."""
    ready, reason, message = _ready(draft)
    suspended = draft.snapshot.schedule.spec.suspend
    return (
        _condition(draft, READY, ready, reason, message),
        _condition(draft, SUSPENDED, suspended, Reason.SUSPENDED if suspended else Reason.WAITING, ""),
    )


def _ready(draft: Draft) -> tuple[bool, str, str]:
    snapshot = draft.snapshot
    if snapshot.schedule.spec.suspend:
        return False, Reason.SUSPENDED, "spec.suspend is set"
    if snapshot.not_ready:
        return False, Reason.NAMESPACE_NOT_READY, snapshot.not_ready
    problem = next((one for one in draft.sources.values() if one.reason is not None), None)
    if problem is not None:
        return False, Reason.SOURCE_FAILED, problem.message or ""
    if (failing := _failing(draft)) is not None:
        return False, Reason.EVENT_FAILED, failing
    if source_step.is_over(snapshot.schedule, snapshot.now) and not any(one.next for one in draft.sources.values()):
        return False, Reason.COMPLETED, "spec.notAfter has passed"
    if (stalled := next((message for run in snapshot.runs if (message := _lacks_template(run))), None)) is not None:
        return False, Reason.TEMPLATE_NOT_FOUND, stalled
    if draft.held:
        return True, Reason.RUNS_ACTIVE, next(iter(draft.held.values()))
    return True, Reason.WAITING, ""


def _failing(draft: Draft) -> str | None:
    """Why the events of the sources start no runs; None if they do."""
    refusal, failed = start.refusal_of_last_run(draft), draft.status.failed_events
    number = draft.status.consecutive_failures + (refusal is not None)
    if number < FAILURES_MAX:
        return None
    message = refusal[1] if refusal is not None else failed[-1].message if failed else ""
    return f"the last {number} events started no run: {message}"


def _lacks_template(run: Workflow) -> str | None:
    """Why a run waits for its template; None if it does not."""
    found = (
        one for one in run.status.conditions if one.type == "Succeeded" and one.reason == Reason.TEMPLATE_NOT_FOUND
    )
    return next((f"run {run.metadata.name}: {one.message}" for one in found), None)


def _condition(draft: Draft, kind: str, value: bool, reason: str, message: str) -> Condition:
    status = "True" if value else "False"
    former = next((one for one in draft.snapshot.schedule.status.conditions if one.type == kind), None)
    since = former.last_transition_time if former and former.status == status else times.rfc3339(draft.snapshot.now)
    text = printable(message)[: constants.MESSAGE_MAX]
    return Condition(type=kind, status=status, reason=reason, message=text, last_transition_time=since)

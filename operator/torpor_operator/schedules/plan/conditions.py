"""The conditions of a Schedule: Ready and Suspended."""

from torpor_crds.models.base import Condition
from torpor_crds.models.workflow import Workflow
from torpor_wire import constants
from torpor_wire.reason import Reason

from torpor_operator.schedules.plan import event_decision, source_plan
from torpor_operator.schedules.plan.pass_state import PassState
from torpor_operator.state import conditions

READY = "Ready"
SUSPENDED = "Suspended"
FAILURES_MAX = 3
"""After so many events in a row that started no run because of an error, the Schedule is not ready."""


def schedule_conditions(state: PassState) -> tuple[Condition, ...]:
    """The conditions after this pass."""
    ready, reason, message = _ready(state)
    suspended = state.snapshot.schedule.spec.suspend
    wanted = (
        (READY, str(ready), reason, message),
        (SUSPENDED, str(suspended), Reason.SUSPENDED if suspended else Reason.WAITING, ""),
    )
    snapshot = state.snapshot
    return conditions.updated(snapshot.schedule.status.conditions, wanted, snapshot.now, constants.MESSAGE_MAX)


def _ready(state: PassState) -> tuple[bool, str, str]:
    snapshot = state.snapshot
    if snapshot.schedule.spec.suspend:
        return False, Reason.SUSPENDED, "spec.suspend is set"
    if snapshot.not_ready:
        return False, Reason.NAMESPACE_NOT_READY, snapshot.not_ready
    problem = next((source for source in state.sources.values() if source.reason is not None), None)
    if problem is not None:
        return False, Reason.SOURCE_FAILED, problem.message or ""
    if (failing := _failing(state)) is not None:
        return False, Reason.EVENT_FAILED, failing
    if source_plan.is_over(snapshot.schedule, snapshot.now) and not any(
        source.next for source in state.sources.values()
    ):
        return False, Reason.COMPLETED, "spec.notAfter has passed"
    if (stalled := next((message for run in snapshot.runs if (message := _lacks_template(run))), None)) is not None:
        return False, Reason.TEMPLATE_NOT_FOUND, stalled
    if state.held:
        return True, Reason.RUNS_ACTIVE, state.held
    return True, Reason.WAITING, ""


def _failing(state: PassState) -> str | None:
    """Why the events of the sources start no runs; None if they do."""
    refusal, failed = event_decision.refusal_of_last_run(state), state.status.failed_events
    number = state.status.consecutive_failures + (refusal is not None)
    if number < FAILURES_MAX:
        return None
    message = refusal[1] if refusal is not None else failed[-1].message if failed else ""
    return f"the last {number} events started no run: {message}"


def _lacks_template(run: Workflow) -> str | None:
    """Why a run waits for its template; None if it does not."""
    waiting = conditions.of_run(run, Reason.TEMPLATE_NOT_FOUND)
    return None if waiting is None else f"run {run.metadata.name}: {waiting.message}"

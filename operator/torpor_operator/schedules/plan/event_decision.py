"""Decides what follows from an event: a run, a queued run, no run, or waiting at its source."""

from dataclasses import dataclass, replace
from typing import assert_never

from torpor_crds.models.run_of import PreviousRun, RunOf
from torpor_crds.models.schedule_status import FailedEvent, LastRun
from torpor_crds.models.workflow import Workflow
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value
from torpor_wire import constants, names, transitions
from torpor_wire.reason import Reason

from torpor_operator.expressions.context import Pending
from torpor_operator.model.actions import Notice
from torpor_operator.scheduled_runs import run_builder
from torpor_operator.scheduled_runs.event import REQUEST, ScheduleEvent
from torpor_operator.scheduled_runs.event_expressions import EventScope
from torpor_operator.schedules.plan.actions import CancelRun, CreateRun
from torpor_operator.schedules.plan.concurrency import HoldEvent, SkipEvent, StartRun
from torpor_operator.schedules.plan.pass_state import Conclusion, PassState
from torpor_operator.state import conditions

_NOT_STARTED = (Reason.PARAMS_INVALID, Reason.WORKFLOW_INVALID)
"""Reasons of a run that ended before its first task."""
_FAILED_EVENTS = 10
_EVENT_SHOWN = 1024


@dataclass(frozen=True, slots=True)
class DecidedEvent:
    """What follows from an event, and whether that is its outcome: an event without one stays at its source."""

    conclusion: Conclusion
    has_outcome: bool = True


def decide(state: PassState, event: ScheduleEvent) -> DecidedEvent:
    """Decide what follows from the event."""
    snapshot, previous = state.snapshot, previous_run(state)
    scope = EventScope.build(event, previous, version=_version(event, previous), known=snapshot.known)
    when = snapshot.schedule.spec.when
    match True if when is None else scope.is_true(when):
        case Pending(needs):
            return DecidedEvent(Conclusion(state=state, needs=needs), has_outcome=False)
        case ExpressionError(reason=reason, message=message):
            return DecidedEvent(fail(state, event, reason, f"when: {message}"))
        case False:
            return DecidedEvent(_skip(state, event, "`when` is false"))
        case _:
            return _start(state, event, scope, previous)


def _start(state: PassState, event: ScheduleEvent, scope: EventScope, previous: PreviousRun | None) -> DecidedEvent:
    match resolve_params(state, scope, event):
        case Pending(needs):
            return DecidedEvent(Conclusion(state=state, needs=needs), has_outcome=False)
        case ExpressionError(reason=reason, message=message):
            return DecidedEvent(fail(state, event, reason, f"params: {message}"))
        case params:
            return _admit(state, event, params, previous)


def _admit(
    state: PassState, event: ScheduleEvent, params: dict[str, JSON], previous: PreviousRun | None
) -> DecidedEvent:
    snapshot = state.snapshot
    name = names.run(snapshot.schedule.metadata.name, event.key)
    if (refusal := snapshot.refused.get(name)) is not None:
        return DecidedEvent(fail(state, event, Reason.RUN_REJECTED, refusal))
    if any(run.metadata.name == name for run in snapshot.runs):
        # The former leader created it, and did not store the outcome.
        return DecidedEvent(_create_and_count(state, event, params, previous))
    match state.limit.admit():
        case StartRun(queued=queued):
            admitted = replace(state, limit=state.limit.with_created(queued=queued))
            return DecidedEvent(_create_and_count(admitted, event, params, previous, queued=queued))
        case SkipEvent(message=message):
            return DecidedEvent(_skip(state, event, message))
        case HoldEvent(message=message, replaced=replaced):
            return DecidedEvent(_hold(state, event, message, replaced), has_outcome=False)
        case unexpected:
            assert_never(unexpected)


def resolve_params(
    state: PassState, scope: EventScope, event: ScheduleEvent
) -> dict[str, JSON] | ExpressionError | Pending:
    """The params of the run: those of the event, and the others of the Schedule evaluated."""
    given = event.params
    params = scope.resolve(
        {name: value for name, value in state.snapshot.schedule.spec.params.items() if name not in given}
    )
    if not isinstance(params, Value):
        return params
    return {**(params.json if isinstance(params.json, dict) else {}), **given}


def create_run(
    state: PassState,
    event: ScheduleEvent,
    params: dict[str, JSON],
    previous: PreviousRun | None,
    *,
    queued: bool = False,
) -> Conclusion:
    """Create the run of an event, and leave the counting to a later pass."""
    schedule = state.snapshot.schedule
    name = names.run(schedule.metadata.name, event.key)
    body = run_builder.build_run(
        schedule,
        name=name,
        run_of=event.run_of(schedule, previous),
        params=params,
        labels={constants.LABEL_QUEUED: "true"} if queued else {},
        suspend=queued,
    )
    return Conclusion(state=replace(state, created=(*state.created, name)), actions=(CreateRun(body=body),))


def _create_and_count(
    state: PassState,
    event: ScheduleEvent,
    params: dict[str, JSON],
    previous: PreviousRun | None,
    *,
    queued: bool = False,
) -> Conclusion:
    """Judge the run before, then create and count the run of an event of a source."""
    schedule = state.snapshot.schedule
    name, run_of = names.run(schedule.metadata.name, event.key), event.run_of(schedule, previous)
    return (
        _judge_last_run(state)
        .then(lambda judged: create_run(judged, event, params, previous, queued=queued))
        .then(lambda created: count_started_run(created, name, run_of, queued=queued))
    )


def count_started_run(
    state: PassState, name: str, run_of: RunOf, *, queued: bool = False, origin: str = "its sources"
) -> Conclusion:
    """Count a run that this pass creates. `origin` is what started it, if no single source did."""
    reason = Reason.RUN_QUEUED if queued else Reason.RUN_STARTED
    origin = f"source {run_of.source}" if run_of.source else origin
    message = f"{'queued' if queued else 'started'} {name} for {origin} at {run_of.at}"
    last_run = LastRun(name=name, at=run_of.at, source=run_of.source)
    return Conclusion(
        state=state.with_status(started=state.status.started + 1, last_run=last_run),
        notices=(Notice(reason=reason, message=message),),
    )


def _judge_last_run(state: PassState) -> Conclusion:
    """Count the run before as a failed event if it could not start; otherwise the row of failures ends.

    A run that this pass creates tells nothing yet.
    """
    last = state.status.last_run
    if state.created:
        return Conclusion(state=state)
    if last is not None and (refusal := refusal_of_last_run(state)) is not None:
        return fail(state, ScheduleEvent(source=last.source, at=last.at, key=last.name), *refusal)
    return Conclusion(state=state.with_status(consecutive_failures=0))


def refusal_of_last_run(state: PassState) -> tuple[str, str] | None:
    """Reason and message of the run of the last event if it ended before its first task: its params do not fit."""
    snapshot, last = state.snapshot, state.status.last_run
    if last is None or (last.source is None and not snapshot.schedule.spec.all_of):  # a user started it
        return None
    run = next((run for run in snapshot.runs if run.metadata.name == last.name), None)
    refused = None if run is None else conditions.of_run(run, *_NOT_STARTED)
    return None if refused is None else (refused.reason, f"run {last.name}: {refused.message}")


def previous_run(state: PassState) -> PreviousRun | None:
    """The run that was started last, with its present state."""
    last = state.status.last_run
    if last is None:
        return None
    run = next((run for run in state.snapshot.runs if run.metadata.name == last.name), None)
    if run is None:
        return PreviousRun(name=last.name, at=last.at)
    return PreviousRun(name=last.name, at=last.at, state=run.status.state, result=run.status.result)


def _skip(state: PassState, event: ScheduleEvent, message: str) -> Conclusion:
    """Count an event without a run."""
    notice = Notice(reason=Reason.EVENT_SKIPPED, message=f"{event.title} skipped: {message}")
    return Conclusion(state=state.with_status(skipped=state.status.skipped + 1), notices=(notice,))


def fail(state: PassState, event: ScheduleEvent, reason: str, message: str) -> Conclusion:
    """Count and keep an event that started no run because of an error.

    A user's request fails alone: it says nothing about the events of the sources.
    """
    shown = None if event.text is None else transitions.shorten(event.text, _EVENT_SHOWN)
    message = transitions.shorten(message)
    failed = FailedEvent(source=event.source, at=event.at, event=shown, reason=reason, message=message)
    status = state.status
    counted = state.with_status(
        failed=status.failed + 1,
        consecutive_failures=status.consecutive_failures + (event.origin != REQUEST),
        failed_events=(*status.failed_events, failed)[-_FAILED_EVENTS:],
    )
    notice = Notice(reason=Reason.EVENT_FAILED, message=f"{event.title} started no run: {message}", warning=True)
    return Conclusion(state=counted, notices=(notice,))


def _hold(state: PassState, event: ScheduleEvent, message: str, replaced: Workflow | None) -> Conclusion:
    """Leave the event at its source, and cancel the run that it replaces."""
    held = replace(state, held=state.held or f"{event.title} waits: {message}")
    if replaced is None:
        return Conclusion(state=held)
    text = f"cancelled {replaced.metadata.name}: {event.title} replaces it"
    notice = Notice(reason=Reason.RUN_REPLACED, message=text)
    return Conclusion(state=held, actions=(CancelRun(run=replaced),), notices=(notice,))


def _version(event: ScheduleEvent, previous: PreviousRun | None) -> str:
    """Identifies what the expressions see: while an event waits, the previous run may end."""
    return event.key if previous is None else f"{event.key}/{previous.name}/{previous.state}"

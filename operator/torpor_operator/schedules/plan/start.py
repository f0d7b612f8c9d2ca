"""Decides what follows from an event: a run, a queued run, no run, or waiting at its source."""

from typing import assert_never

from torpor_crds.models.run_of import PreviousRun
from torpor_crds.models.workflow import Workflow
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value
from torpor_wire import constants, names
from torpor_wire.reason import Reason

from torpor_operator.schedules.plan import run_builder
from torpor_operator.schedules.plan.actions import CancelRun, CreateRun
from torpor_operator.schedules.plan.concurrency import ConcurrencyLimit, HoldEvent, SkipEvent, StartRun
from torpor_operator.schedules.plan.draft import Draft
from torpor_operator.schedules.plan.event import ScheduleEvent
from torpor_operator.schedules.plan.event_expressions import EventScope, Unanswered

_NOT_STARTED = frozenset({Reason.PARAMS_INVALID, Reason.WORKFLOW_INVALID})
"""Reasons of a run that ended before its first task."""


def decide(draft: Draft, room: ConcurrencyLimit, event: ScheduleEvent) -> bool:
    """Add to the draft what follows from the event. Returns False if the event has no outcome yet."""
    schedule = draft.snapshot.schedule
    previous = previous_run(draft)
    scope = EventScope(values=values(event, previous), version=_version(event, previous), known=draft.snapshot.known)
    match _applies(schedule.spec.when, scope):
        case Unanswered(needs):
            draft.needs += needs
            return False
        case ExpressionError(reason=reason, message=message):
            draft.fail(event, reason, f"when: {message}")
            return True
        case False:
            draft.skip(event, "`when` is false")
            return True
        case _:
            pass
    match resolve_params(draft, scope, event):
        case Unanswered(needs):
            draft.needs += needs
            return False
        case ExpressionError(reason=reason, message=message):
            draft.fail(event, reason, f"params: {message}")
            return True
        case params:
            return _admit(draft, room, event, params, previous)


def resolve_params(
    draft: Draft, scope: EventScope, event: ScheduleEvent
) -> dict[str, JSON] | ExpressionError | Unanswered:
    """The params of the run: those of the event, and the others of the Schedule evaluated."""
    given = event.params
    params = scope.resolve(
        {name: one for name, one in draft.snapshot.schedule.spec.params.items() if name not in given}
    )
    if not isinstance(params, Value):
        return params
    return {**(params.json if isinstance(params.json, dict) else {}), **given}


def creation(
    draft: Draft, event: ScheduleEvent, params: dict[str, JSON], previous: PreviousRun | None, *, queued: bool = False
) -> CreateRun:
    """The action that creates the run of an event."""
    schedule = draft.snapshot.schedule
    labels = {constants.LABEL_QUEUED: "true"} if queued else {}
    body = run_builder.build_run(
        schedule,
        name=names.run(schedule.metadata.name, event.key),
        run_of=event.run_of(schedule, previous),
        params=params,
        labels=labels,
        suspend=queued,
    )
    return CreateRun(body=body)


def _create(
    draft: Draft, event: ScheduleEvent, params: dict[str, JSON], previous: PreviousRun | None, *, queued: bool = False
) -> None:
    action = creation(draft, event, params, previous, queued=queued)
    _judge_last_run(draft)
    draft.actions.append(action)
    draft.start(action.body["metadata"]["name"], event.run_of(draft.snapshot.schedule, previous), queued=queued)


def _judge_last_run(draft: Draft) -> None:
    """Count the run before as a failed event if it could not start; otherwise the row of failures ends.

    A run that this pass creates tells nothing yet.
    """
    last = draft.status.last_run
    if any(isinstance(action, CreateRun) for action in draft.actions):
        return
    if last is not None and (refusal := refusal_of_last_run(draft)) is not None:
        draft.fail(ScheduleEvent(source=last.source, at=last.at, key=last.name), *refusal)
    else:
        draft.update(consecutive_failures=0)


def refusal_of_last_run(draft: Draft) -> tuple[str, str] | None:
    """Reason and message of the run of the last event if it ended before its first task: its params do not fit."""
    schedule, last = draft.snapshot.schedule, draft.status.last_run
    if last is None or (last.source is None and not schedule.spec.all_of):  # a user started it
        return None
    conditions = [one for run in draft.snapshot.runs if run.metadata.name == last.name for one in run.status.conditions]
    found = next((one for one in conditions if one.type == "Succeeded" and one.reason in _NOT_STARTED), None)
    return None if found is None else (found.reason, f"run {last.name}: {found.message}")


def previous_run(draft: Draft) -> PreviousRun | None:
    """The run that was started last, with its present state."""
    last = draft.status.last_run
    if last is None:
        return None
    run = next((run for run in draft.snapshot.runs if run.metadata.name == last.name), None)
    return PreviousRun(name=last.name, at=last.at, state=run.status.state if run else None)


def _admit(
    draft: Draft, room: ConcurrencyLimit, event: ScheduleEvent, params: dict[str, JSON], previous: PreviousRun | None
) -> bool:
    name = names.run(draft.snapshot.schedule.metadata.name, event.key)
    if (refusal := draft.snapshot.refused.get(name)) is not None:
        draft.fail(event, Reason.RUN_REJECTED, refusal)
        return True
    if any(run.metadata.name == name for run in draft.snapshot.runs):
        _create(draft, event, params, previous)  # the former leader created it, and did not store the outcome
        return True
    match room.admit():
        case StartRun(queued=queued):
            _create(draft, event, params, previous, queued=queued)
            return True
        case SkipEvent(message=message):
            draft.skip(event, message)
            return True
        case HoldEvent(message=message, replaced=replaced):
            _wait(draft, event, message, replaced)
            return False
        case unexpected:
            assert_never(unexpected)


def _wait(draft: Draft, event: ScheduleEvent, message: str, replaced: Workflow | None) -> None:
    draft.held[event.source or ""] = f"{event.title} waits: {message}"
    if replaced is not None:
        draft.actions.append(CancelRun(run=replaced))
        text = f"cancelled {replaced.metadata.name}: {event.title} replaces it"
        draft.notify(Reason.RUN_REPLACED, text)


def _applies(when: str | None, scope: EventScope) -> bool | ExpressionError | Unanswered:
    return True if when is None else scope.is_true(when)


def _version(event: ScheduleEvent, previous: PreviousRun | None) -> str:
    """Identifies what the expressions see: while an event waits, the previous run may end."""
    return event.key if previous is None else f"{event.key}/{previous.name}/{previous.state}"


def values(event: ScheduleEvent, previous: PreviousRun | None) -> dict[str, JSON]:
    """What `when` and `params` see."""
    return {
        "event": event.value,
        "at": event.at,
        "previous": None if previous is None else previous.to_json(),
        "source": event.source,
    }

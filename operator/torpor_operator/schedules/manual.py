"""A run that a user requests with the annotation `torpor.dev/run`. It starts even while other runs are active."""

import json
from collections.abc import Mapping

from torpor_api.models.run_of import PreviousRun
from torpor_api.models.schedule import Schedule
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON
from torpor_wire import constants, names, times
from torpor_wire.reason import Reason

from torpor_operator.model.actions import RemoveAnnotation
from torpor_operator.schedules import start
from torpor_operator.schedules.draft import Draft
from torpor_operator.schedules.event import Event
from torpor_operator.schedules.event_expressions import EventScope, Unanswered


def requested_name(schedule: Schedule) -> str | None:
    """The name of the run that the annotation requests; None without the annotation."""
    value = schedule.metadata.annotations.get(constants.RUN_NOW)
    return None if value is None else names.run(schedule.metadata.name, _key(schedule, value))


def apply(draft: Draft) -> None:
    """Create the requested run; once it exists, or cannot, remove the annotation."""
    schedule = draft.snapshot.schedule
    value, name = schedule.metadata.annotations.get(constants.RUN_NOW), requested_name(schedule)
    if value is None or name is None:
        return
    event = Event(
        source=None,
        at=times.rfc3339(draft.snapshot.now),
        key=_key(schedule, value),
        params=_params(value),
        origin="request",
    )
    removal = RemoveAnnotation(name=constants.RUN_NOW, value=value)
    previous = start.previous_run(draft)
    run = next((run for run in draft.snapshot.runs if run.metadata.name == name), None)
    if run is not None:
        draft.start(name, event.run_of(schedule, previous))
        draft.actions.append(removal)
    elif (refusal := draft.snapshot.refused.get(name)) is not None:
        draft.fail(event, Reason.RUN_REJECTED, refusal)
        draft.actions.append(removal)
    else:
        _create(draft, event, previous, removal)


def _create(draft: Draft, event: Event, previous: PreviousRun | None, removal: RemoveAnnotation) -> None:
    scope = EventScope(values=start.values(event, previous), version=event.key, known=draft.snapshot.known)
    match start.resolve_params(draft, scope, event):
        case Unanswered(needs):
            draft.needs += needs
        case ExpressionError(reason=reason, message=message):
            draft.fail(event, reason, f"params: {message}")
            draft.actions.append(removal)
        case params:
            draft.actions.append(start.creation(draft, event, params, previous))


def _key(schedule: Schedule, value: str) -> str:
    return names.manual_run_key(schedule.metadata.uid, value)


def _params(value: str) -> Mapping[str, JSON]:
    """The params of a request `{"id": ..., "params": {...}}`; none for any other text."""
    try:
        request = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    params = request.get("params") if isinstance(request, dict) else None
    return params if isinstance(params, dict) else {}

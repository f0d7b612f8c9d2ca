"""A run that a user requests with the annotation `torpor.dev/run`. It starts even while other runs are active."""

import json
from collections.abc import Mapping

from torpor_crds.models.run_of import PreviousRun
from torpor_crds.models.schedule import Schedule
from torpor_crds.models.workflow import Workflow
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON
from torpor_wire import constants, names, times
from torpor_wire.reason import Reason

from torpor_operator.model.actions import RemoveAnnotation
from torpor_operator.schedules.plan import start
from torpor_operator.schedules.plan.draft import Draft
from torpor_operator.schedules.plan.event import REQUEST, ScheduleEvent
from torpor_operator.schedules.plan.event_expressions import EventScope, Unanswered

_INVALID = (
    f'the annotation {constants.RUN_NOW} must be an object such as {{"id": "1", "params": {{"day": "2026-11-20"}}}}, '
    "or text that does not begin with {"
)


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
    params = _params(value)
    event = ScheduleEvent(
        source=None,
        at=times.rfc3339(draft.snapshot.now),
        key=_key(schedule, value),
        params=params or {},
        origin=REQUEST,
    )
    removal = RemoveAnnotation(name=constants.RUN_NOW, value=value)
    run = next((run for run in draft.snapshot.runs if run.metadata.name == name), None)
    if params is None:
        draft.fail(event, Reason.EVENT_INVALID, _INVALID)
        draft.actions.append(removal)
    elif run is not None:
        _count(draft, run)
        draft.actions.append(removal)
    elif (refusal := draft.snapshot.refused.get(name)) is not None:
        draft.fail(event, Reason.RUN_REJECTED, refusal)
        draft.actions.append(removal)
    else:
        _create(draft, event, start.previous_run(draft), removal)


def _count(draft: Draft, run: Workflow) -> None:
    """Count the run unless the status has it: the same request may be made again while its run exists."""
    run_of, last = run.spec.run_of, draft.status.last_run
    if run_of is not None and (last is None or last.at < run_of.at):
        draft.start(run.metadata.name, run_of, origin="a request")


def _create(draft: Draft, event: ScheduleEvent, previous: PreviousRun | None, removal: RemoveAnnotation) -> None:
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


def _params(value: str) -> Mapping[str, JSON] | None:
    """The params of a request: those of an object `{"id": ..., "params": {...}}`, none for other text.

    Returns None for text that begins as an object and is not such an object.
    """
    if not value.lstrip().startswith("{"):
        return {}
    try:
        request = json.loads(value)
    except (ValueError, RecursionError):
        return None
    params = request.get("params", {})
    return params if isinstance(params, dict) and request.keys() <= {"id", "params"} else None

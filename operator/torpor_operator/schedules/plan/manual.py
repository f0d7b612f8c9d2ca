"""A run that a user requests with the annotation `torpor.dev/run`. It starts even while other runs are active."""

import json
from collections.abc import Mapping
from functools import partial

from torpor_crds.models.schedule import Schedule
from torpor_crds.models.workflow import Workflow
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON
from torpor_wire import constants, names, times
from torpor_wire.reason import Reason

from torpor_operator.expressions.context import Pending
from torpor_operator.model.actions import RemoveAnnotation
from torpor_operator.scheduled_runs.event import REQUEST, ScheduleEvent
from torpor_operator.scheduled_runs.event_expressions import EventScope
from torpor_operator.schedules.plan import event_decision
from torpor_operator.schedules.plan.pass_state import Conclusion, PassDecision, PassState

_INVALID = (
    f'the annotation {constants.RUN_NOW} must be an object such as {{"id": "1", "params": {{"day": "2026-11-20"}}}}, '
    "or text that does not begin with {"
)


def requested_name(schedule: Schedule) -> str | None:
    """The name of the run that the annotation requests; None without the annotation."""
    value = schedule.metadata.annotations.get(constants.RUN_NOW)
    return None if value is None else names.run(schedule.metadata.name, _key(schedule, value))


def start_requested_run(state: PassState) -> Conclusion:
    """Create the requested run; once it exists, or cannot, remove the annotation."""
    snapshot, schedule = state.snapshot, state.snapshot.schedule
    value, name = schedule.metadata.annotations.get(constants.RUN_NOW), requested_name(schedule)
    if value is None or name is None:
        return Conclusion(state=state)
    params = _params(value)
    event = ScheduleEvent(
        source=None,
        at=times.rfc3339(snapshot.now),
        key=_key(schedule, value),
        params=params or {},
        origin=REQUEST,
    )
    run = next((run for run in snapshot.runs if run.metadata.name == name), None)
    remove = partial(_remove_annotation, value=value)
    if params is None:
        return event_decision.fail(state, event, Reason.EVENT_INVALID, _INVALID).then(remove)
    if run is not None:
        return _count(state, run).then(remove)
    if (refusal := snapshot.refused.get(name)) is not None:
        return event_decision.fail(state, event, Reason.RUN_REJECTED, refusal).then(remove)
    return _create(state, event, remove)


def _remove_annotation(state: PassState, value: str) -> Conclusion:
    return Conclusion(state=state, actions=(RemoveAnnotation(name=constants.RUN_NOW, value=value),))


def _count(state: PassState, run: Workflow) -> Conclusion:
    """Count the run unless the status has it: the same request may be made again while its run exists."""
    run_of, last = run.spec.run_of, state.status.last_run
    if run_of is None or (last is not None and last.at >= run_of.at):
        return Conclusion(state=state)
    return event_decision.count_started_run(state, run.metadata.name, run_of, origin="a request")


def _create(state: PassState, event: ScheduleEvent, remove: PassDecision) -> Conclusion:
    previous = event_decision.previous_run(state)
    scope = EventScope.build(event, previous, version=event.key, known=state.snapshot.known)
    match event_decision.resolve_params(state, scope, event):
        case Pending(needs):
            return Conclusion(state=state, needs=needs)
        case ExpressionError(reason=reason, message=message):
            return event_decision.fail(state, event, reason, f"params: {message}").then(remove)
        case params:
            return event_decision.create_run(state, event, params, previous)


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

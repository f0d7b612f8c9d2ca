"""A run that a user requests with the annotation `torpor.dev/run`, whatever the other runs do."""

import json
from collections.abc import Mapping

from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON
from torpor_wire import constants, names, times
from torpor_wire.reason import Reason

from torpor_operator.model.actions import RemoveAnnotation
from torpor_operator.schedules import start
from torpor_operator.schedules.draft import Draft
from torpor_operator.schedules.event import Event
from torpor_operator.schedules.event_expressions import EventScope, Unanswered


def apply(draft: Draft) -> None:
    """Create the requested run, and remove the annotation."""
    schedule = draft.snapshot.schedule
    value = schedule.metadata.annotations.get(constants.RUN_NOW)
    if value is None:
        return
    event = Event(
        source=None,
        at=times.rfc3339(draft.snapshot.now),
        key=names.manual_run_key(schedule.metadata.uid, value),
        params=_params(value),
        origin="request",
    )
    previous = start.previous_run(draft)
    scope = EventScope(values=start.values(event, previous), version=event.key, known=draft.snapshot.known)
    params = scope.resolve(dict(schedule.spec.params))
    name = names.run(schedule.metadata.name, event.key)
    if isinstance(params, Unanswered):
        draft.needs += params.needs
        return
    if isinstance(params, ExpressionError):
        draft.fail(event, params.reason, f"params: {params.message}")
    elif (refusal := draft.snapshot.refused.get(name)) is not None:
        draft.fail(event, Reason.RUN_REJECTED, refusal)
    else:
        resolved = params.json if isinstance(params.json, dict) else {}
        start.create(draft, event, {**resolved, **event.params}, previous)
    draft.actions.append(RemoveAnnotation(name=constants.RUN_NOW, value=value))


def _params(value: str) -> Mapping[str, JSON]:
    """The params of a request `{"id": ..., "params": {...}}`; none for any other text."""
    try:
        request = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    params = request.get("params") if isinstance(request, dict) else None
    return params if isinstance(params, dict) else {}

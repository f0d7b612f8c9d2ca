"""`allOf`: one run for the events of several sources.

The event of each source is kept in the status, where a later one of the same source replaces it. The run is created,
and the events are removed, in one pass, before the sources' next events are taken.
"""

import json

from torpor_crds.models.schedule_status import PendingEvent
from torpor_expressions.value import JSON
from torpor_wire import times
from torpor_wire.reason import Reason

from torpor_operator.model.actions import Notice
from torpor_operator.scheduled_runs import event as events
from torpor_operator.scheduled_runs.event import ScheduleEvent
from torpor_operator.schedules.plan import event_decision
from torpor_operator.schedules.plan.pass_state import Conclusion, PassState


def is_complete(state: PassState) -> bool:
    """Whether each source of `allOf` has an event, as far as the status says."""
    names = state.snapshot.schedule.spec.all_of
    return bool(names) and all(state.sources[name].pending for name in names)


def start_joined_run(state: PassState) -> Conclusion:
    """Start the run of a complete set of events, without those that are too old."""
    if state.snapshot.schedule.spec.suspend or state.pauses:
        return Conclusion(state=state)
    return Conclusion(state=state).then(_drop_removed).then(_drop_old).then(_start)


def _start(state: PassState) -> Conclusion:
    if not is_complete(state):
        return Conclusion(state=state)
    decision = event_decision.decide(state, joined_event(state))
    return decision.conclusion.then(_remove_events) if decision.has_outcome else decision.conclusion


def _remove_events(state: PassState) -> Conclusion:
    for name in state.snapshot.schedule.spec.all_of:
        state = state.with_source(name, pending=None)
    return Conclusion(state=state)


def joined_event(state: PassState) -> ScheduleEvent:
    """The event of a complete set: its value has the event of each source under the name of the source."""
    pending = _pending(state)
    value: dict[str, JSON] = {name: events.parse_value(kept.event) for name, kept in pending.items()}
    uid = state.snapshot.schedule.metadata.uid
    return ScheduleEvent(
        source=None,
        at=max(kept.at for kept in pending.values()),
        key=events.join_key(uid, (kept.key for kept in pending.values())),
        text=json.dumps(value, separators=(",", ":"), ensure_ascii=False),
        value=value,
    )


def _pending(state: PassState) -> dict[str, PendingEvent]:
    names = state.snapshot.schedule.spec.all_of
    return {name: kept for name in names if (kept := state.sources[name].pending)}


def _drop_removed(state: PassState) -> Conclusion:
    """Drop the event of a source that is no longer in `allOf`, because its next event must not join an old one."""
    all_of = state.snapshot.schedule.spec.all_of
    removed = {name: source.pending for name, source in state.sources.items() if source.pending and name not in all_of}
    return _drop(
        state,
        {
            name: f"event {event.at} of source {name} starts no run: the source is no longer in spec.allOf"
            for name, event in removed.items()
        },
    )


def _drop_old(state: PassState) -> Conclusion:
    spec, pending = state.snapshot.schedule.spec, _pending(state)
    if spec.within is None or not pending:
        return Conclusion(state=state)
    oldest = max(times.epoch(kept.at) for kept in pending.values()) - times.seconds(spec.within)
    return _drop(
        state,
        {
            name: f"event {kept.at} of source {name} is older than {spec.within} and starts no run: spec.within"
            for name, kept in pending.items()
            if times.epoch(kept.at) < oldest
        },
    )


def _drop(state: PassState, messages: dict[str, str]) -> Conclusion:
    """Drop the events of these sources."""
    for name in messages:
        state = state.with_source(name, pending=None)
    notices = tuple(Notice(reason=Reason.EVENT_SKIPPED, message=message) for message in messages.values())
    return Conclusion(state=state, notices=notices)

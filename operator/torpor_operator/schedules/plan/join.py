"""`allOf`: one run for the events of several sources.

The event of each source is kept in the status, where a later one of the same source replaces it. The run is created,
and the events are removed, in one pass, before the sources' next events are taken.
"""

import json

from torpor_crds.models.schedule_status import PendingEvent
from torpor_expressions.value import JSON
from torpor_wire import times
from torpor_wire.reason import Reason

from torpor_operator.schedules.plan import event as events
from torpor_operator.schedules.plan import run_names, start
from torpor_operator.schedules.plan.concurrency import ConcurrencyLimit
from torpor_operator.schedules.plan.draft import Draft
from torpor_operator.schedules.plan.event import ScheduleEvent


def is_complete(draft: Draft) -> bool:
    """Whether each source of `allOf` has an event, as far as the stored status says."""
    names = draft.snapshot.schedule.spec.all_of
    return bool(names) and all(draft.sources[name].pending for name in names)


def apply(draft: Draft, room: ConcurrencyLimit) -> None:
    """Start the run of a complete set of events, without those that are too old."""
    _drop_removed(draft)
    _drop_old(draft)
    if not is_complete(draft):
        return
    if start.decide(draft, room, event(draft)):
        for name in draft.snapshot.schedule.spec.all_of:
            draft.update_source(name, pending=None)


def event(draft: Draft) -> ScheduleEvent:
    """The event of a complete set: its value has the event of each source under the name of the source."""
    pending = _pending(draft)
    value: dict[str, JSON] = {name: events.parsed(kept.event) for name, kept in pending.items()}
    uid = draft.snapshot.schedule.metadata.uid
    return ScheduleEvent(
        source=None,
        at=max(kept.at for kept in pending.values()),
        key=run_names.join_key(uid, (kept.key for kept in pending.values())),
        text=json.dumps(value, separators=(",", ":"), ensure_ascii=False),
        value=value,
    )


def _pending(draft: Draft) -> dict[str, PendingEvent]:
    names = draft.snapshot.schedule.spec.all_of
    return {name: kept for name in names if (kept := draft.sources[name].pending)}


def _drop_removed(draft: Draft) -> None:
    """Drop the event of a source that is no longer in `allOf`, because its next event must not join an old one."""
    for name, one in draft.sources.items():
        if one.pending and name not in draft.snapshot.schedule.spec.all_of:
            draft.update_source(name, pending=None)
            message = f"event {one.pending.at} of source {name} starts no run: the source is no longer in spec.allOf"
            draft.notify(Reason.EVENT_SKIPPED, message)


def _drop_old(draft: Draft) -> None:
    spec, pending = draft.snapshot.schedule.spec, _pending(draft)
    if spec.within is None or not pending:
        return
    newest = max(times.epoch(kept.at) for kept in pending.values())
    for name, kept in pending.items():
        if times.epoch(kept.at) < newest - times.seconds(spec.within):
            draft.update_source(name, pending=None)
            message = f"event {kept.at} of source {name} is older than {spec.within} and starts no run: spec.within"
            draft.notify(Reason.EVENT_SKIPPED, message)

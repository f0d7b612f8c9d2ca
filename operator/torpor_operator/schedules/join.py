"""`allOf`: one run for the events of several sources.

The event of each source is kept in the status, where a later one of the same source replaces it. The run is created,
and the events are removed, in one pass, before the sources' next events are taken.
"""

import json

from torpor_api.models.schedule import PendingEvent
from torpor_cel.value import JSON
from torpor_wire import times
from torpor_wire.reason import Reason

from torpor_operator.schedules import event as events
from torpor_operator.schedules import run_names, start
from torpor_operator.schedules.concurrency import Room
from torpor_operator.schedules.draft import Draft
from torpor_operator.schedules.event import Event


def is_complete(draft: Draft) -> bool:
    """Whether each source of `allOf` has an event, as far as the stored status says."""
    names = draft.snapshot.schedule.spec.all_of
    return bool(names) and all(draft.sources[name].pending for name in names)


def apply(draft: Draft, room: Room) -> None:
    """Start the run of a complete set of events, without those that are too old."""
    _drop_old(draft)
    if not is_complete(draft):
        return
    pending = {name: kept for name in draft.snapshot.schedule.spec.all_of if (kept := draft.sources[name].pending)}
    if start.decide(draft, room, _joined(draft, pending)):
        for name in pending:
            draft.update_source(name, pending=None)


def _joined(draft: Draft, pending: dict[str, PendingEvent]) -> Event:
    value: dict[str, JSON] = {name: events.parsed(kept.event) for name, kept in pending.items()}
    uid = draft.snapshot.schedule.metadata.uid
    return Event(
        source=None,
        at=max(kept.at for kept in pending.values()),
        key=run_names.join_key(uid, (kept.key for kept in pending.values())),
        text=json.dumps(value, separators=(",", ":"), ensure_ascii=False),
        value=value,
    )


def _drop_old(draft: Draft) -> None:
    spec = draft.snapshot.schedule.spec
    pending = {name: kept for name in spec.all_of if (kept := draft.sources[name].pending)}
    if spec.within is None or not pending:
        return
    newest = max(times.epoch(kept.at) for kept in pending.values())
    for name, kept in pending.items():
        if times.epoch(kept.at) < newest - times.seconds(spec.within):
            draft.update_source(name, pending=None)
            message = f"event {kept.at} of source {name} is older than {spec.within} and starts no run: spec.within"
            draft.notify(Reason.EVENT_SKIPPED, message)

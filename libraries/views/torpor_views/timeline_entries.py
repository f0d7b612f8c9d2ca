"""The transitions of an instance in the order of time: its history, with what older versions did not write. Pure.

A worker of an older version writes no entries. The moments of the status then give the transitions of the present
attempt.
"""

from dataclasses import replace

from torpor_wire.reason import Reason
from torpor_wire.state import EDGES, State

from torpor_views.instance import HistoryEntry, InstanceView

_SAME = 1.0
"""Seconds by which an entry may be older than the moment of the same transition."""


def of_instance(one: InstanceView) -> list[HistoryEntry]:
    """Return the transitions, beginning with the creation; empty if not even this is known."""
    history = one.history
    return _with_first(one, _with_unwritten(one, history)) if history else _from_moments(one)


def follows(entry: HistoryEntry, following: HistoryEntry) -> bool:
    """Whether no transition is missing between two entries."""
    if entry.state is None or following.state is None or entry.count > 1:
        return True
    if following.state is State.SCHEDULED and following.attempt != entry.attempt:
        return entry.state is State.UP_FOR_RETRY
    if following.state is State.SCHEDULED and following.segment != entry.segment:
        return entry.state is State.DEFERRED
    return _is_transition(entry.state, following)


def _is_transition(before: State, entry: HistoryEntry) -> bool:
    """Whether the transition exists. Only a mark of a user ends an instance well that has not run."""
    if before is State.SCHEDULED and entry.state in {State.SUCCEEDED, State.SKIPPED}:
        return entry.reason == Reason.MARKED
    return (before, entry.state) in EDGES


def _with_unwritten(one: InstanceView, history: tuple[HistoryEntry, ...]) -> list[HistoryEntry]:
    """Add the transitions that workers made without an entry, as far as the status has their moments."""
    found = list(history)
    present = [entry for entry in history if entry.attempt == one.attempt]
    folded = history[0].count > 1
    claimed = any(entry.state is State.RUNNING for entry in present)
    if one.started_at is not None and one.started_at != one.deferred_at and not claimed and not folded:
        _insert(found, State.RUNNING, one.started_at, one, 0)
    waited = any(entry.state is State.DEFERRED and entry.at >= (one.deferred_at or 0.0) - _SAME for entry in present)
    if one.deferred_at is not None and not waited and not folded:
        fired = one.fired_at is not None and one.fired_at >= one.deferred_at
        _insert(found, State.DEFERRED, one.deferred_at, one, max(one.segment - 1, 0) if fired else one.segment)
    if found[-1].state is State.SCHEDULED and one.state not in {State.SCHEDULED, None}:
        found.append(replace(found[-1], state=State.RUNNING, word=State.RUNNING, pod=one.pod))
    return found


def _insert(found: list[HistoryEntry], state: State, at: float, one: InstanceView, segment: int) -> None:
    """Insert an entry of the present attempt before the first later one."""
    place = next((place for place, entry in enumerate(found) if entry.at > at), len(found))
    found.insert(place, HistoryEntry(state=state, word=state, at=at, attempt=one.attempt, segment=segment))


def _with_first(one: InstanceView, history: list[HistoryEntry]) -> list[HistoryEntry]:
    """The history with the creation, which has no entry; in the order of time, although clocks of writers differ.

    An object that an older version created has no entries for its first transitions, so its beginning is a gap.
    """
    first = history[0]
    created = min(one.created if one.created is not None else first.at, first.at)
    complete = (first.attempt, first.segment) == (1, 0) and _is_transition(State.SCHEDULED, first)
    state = State.SCHEDULED if complete else None
    entries = [HistoryEntry(state=state, word=state or "", at=created)]
    for entry in history:
        entries.append(replace(entry, at=max(entry.at, entries[-1].at)))
    return entries


def _from_moments(one: InstanceView) -> list[HistoryEntry]:
    """The transitions that the moments of a status without history tell: those of the present attempt and segment."""
    found = [(State.SCHEDULED, one.created, 0)]
    if one.attempt > 1 and one.retry_at is not None:
        found.append((State.SCHEDULED, one.retry_at, 0))
    if one.started_at is not None and one.started_at != one.deferred_at:
        found.append((State.RUNNING, one.started_at, 0))
    found.append((State.DEFERRED, one.deferred_at, max(one.segment - 1, 0)))
    if one.fired_at is not None and (one.deferred_at is None or one.fired_at >= one.deferred_at):
        resumed = State.RUNNING if one.state is State.RUNNING or one.ended else State.SCHEDULED
        found.append((resumed, one.fired_at, one.segment))
    if one.completed is not None:
        found.append((one.state or State.SUCCEEDED, one.completed, one.segment))
    known = [(state, at, segment) for state, at, segment in found if at is not None]
    known.sort(key=lambda entry: entry[1])
    return [
        HistoryEntry(state=state, word=state, at=at, attempt=one.attempt, segment=segment, pod=one.pod)
        for state, at, segment in known
    ]

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


def of_instance(instance: InstanceView) -> list[HistoryEntry]:
    """Return the transitions, beginning with the creation; empty if not even this is known."""
    history = instance.history
    return _with_first(instance, _with_unwritten(instance, history)) if history else _from_moments(instance)


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


def _with_unwritten(instance: InstanceView, history: tuple[HistoryEntry, ...]) -> list[HistoryEntry]:
    """Add the transitions that workers made without an entry, as far as the status has their moments."""
    entries = list(history)
    present = [entry for entry in history if entry.attempt == instance.attempt]
    folded = history[0].count > 1
    claimed = any(entry.state is State.RUNNING for entry in present)
    if instance.started_at is not None and instance.started_at != instance.deferred_at and not claimed and not folded:
        _insert(entries, State.RUNNING, instance.started_at, instance, 0)
    waited = any(
        entry.state is State.DEFERRED and entry.at >= (instance.deferred_at or 0.0) - _SAME for entry in present
    )
    if instance.deferred_at is not None and not waited and not folded:
        fired = instance.fired_at is not None and instance.fired_at >= instance.deferred_at
        segment = max(instance.segment - 1, 0) if fired else instance.segment
        _insert(entries, State.DEFERRED, instance.deferred_at, instance, segment)
    if entries[-1].state is State.SCHEDULED and instance.state not in {State.SCHEDULED, None}:
        entries.append(replace(entries[-1], state=State.RUNNING, word=State.RUNNING, pod=instance.pod))
    return entries


def _insert(entries: list[HistoryEntry], state: State, at: float, instance: InstanceView, segment: int) -> None:
    """Insert an entry of the present attempt before the first later one."""
    place = next((place for place, entry in enumerate(entries) if entry.at > at), len(entries))
    entries.insert(place, HistoryEntry(state=state, word=state, at=at, attempt=instance.attempt, segment=segment))


def _with_first(instance: InstanceView, history: list[HistoryEntry]) -> list[HistoryEntry]:
    """The history with the creation, which has no entry; in the order of time, although clocks of writers differ.

    An object that an older version created has no entries for its first transitions, so its beginning is a gap.
    """
    first = history[0]
    created = min(instance.created if instance.created is not None else first.at, first.at)
    complete = (first.attempt, first.segment) == (1, 0) and _is_transition(State.SCHEDULED, first)
    state = State.SCHEDULED if complete else None
    entries = [HistoryEntry(state=state, word=state or "", at=created)]
    for entry in history:
        entries.append(replace(entry, at=max(entry.at, entries[-1].at)))
    return entries


def _from_moments(instance: InstanceView) -> list[HistoryEntry]:
    """The transitions that the moments of a status without history tell: those of the present attempt and segment."""
    transitions = [(State.SCHEDULED, instance.created, 0)]
    if instance.attempt > 1 and instance.retry_at is not None:
        transitions.append((State.SCHEDULED, instance.retry_at, 0))
    if instance.started_at is not None and instance.started_at != instance.deferred_at:
        transitions.append((State.RUNNING, instance.started_at, 0))
    transitions.append((State.DEFERRED, instance.deferred_at, max(instance.segment - 1, 0)))
    if instance.fired_at is not None and (instance.deferred_at is None or instance.fired_at >= instance.deferred_at):
        resumed = State.RUNNING if instance.state is State.RUNNING or instance.ended else State.SCHEDULED
        transitions.append((resumed, instance.fired_at, instance.segment))
    if instance.completed is not None:
        transitions.append((instance.state or State.SUCCEEDED, instance.completed, instance.segment))
    known = [(state, at, segment) for state, at, segment in transitions if at is not None]
    known.sort(key=lambda entry: entry[1])
    return [
        HistoryEntry(state=state, word=state, at=at, attempt=instance.attempt, segment=segment, pod=instance.pod)
        for state, at, segment in known
    ]

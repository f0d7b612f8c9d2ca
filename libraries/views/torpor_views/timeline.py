"""The timeline of a run: for each instance the intervals in which it was queued, ran in a pod, or waited. Pure.

`status.history` gives the intervals. Without it (an object of an older version), the single moments of the status give
those of the present attempt.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import pairwise
from typing import assert_never

from torpor_wire import names
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_views import json_fields, timeline_entries
from torpor_views.json_fields import Fields
from torpor_views.model import HistoryEntry, InstanceView, RunView

_NOT_STARTED = frozenset(
    {
        Reason.IMAGE_PULL_FAILED,
        Reason.LAUNCH_FAILED,
        Reason.UNSCHEDULABLE,
        Reason.MOUNT_FAILED,
        Reason.POD_PENDING,
        Reason.QUOTA_EXCEEDED,
        Reason.QUEUE_PENDING,
    }
)
"""Reasons of a pod whose container has not started."""


class TimelinePhase(StrEnum):
    """What an instance does during an interval."""

    QUEUED = "queued"
    """Scheduled, without a pod: it waits for a slot. Also the time until its pod runs, if the pods are not given."""
    STARTING = "starting"
    """With a pod that has not claimed the TaskRun, or whose container has not started."""
    RUNNING = "running"
    """In a pod."""
    WAITING = "waiting"
    """Deferred: it holds no pod."""
    BACKING_OFF = "backing off"
    """UpForRetry: until the next attempt."""
    GAP = "gap"
    """Older transitions that were folded into one entry, or a state that this version does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineInterval:
    """An interval of an instance. `end` is now for the last one of an instance that has not ended (`open`).

    `detail`: the pod of RUNNING and STARTING, the trigger class of WAITING, the number of transitions of GAP.
    """

    phase: TimelinePhase
    start: float
    end: float
    open: bool = False
    attempt: int = 1
    segment: int = 0
    launch: int = 0
    reason: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineRow:
    """The intervals of an instance in the order of time, without overlap. `exact`: from `status.history`.

    `state` is the present state as written; `ended` is when it became terminal.
    """

    task: str
    ref: str
    label: str
    path: tuple[int, ...]
    taskrun: str
    state: str
    reason: str
    ended: float | None
    exact: bool
    intervals: tuple[TimelineInterval, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """Rows in the order of tasks and paths, within `start` and `end`, in seconds since the epoch."""

    start: float
    end: float
    rows: tuple[TimelineRow, ...]


def build(run: RunView, *, pods: Iterable[Fields] = ()) -> Timeline:
    """Return the timeline of a run with TaskRuns. Pods (JSON) that still exist separate QUEUED and STARTING."""
    created = _pod_creations(pods)
    rows = tuple(row(instance, now=run.now, pods=created) for instance in run.all_instances())
    moments = [moment for timeline_row in rows for each in timeline_row.intervals for moment in (each.start, each.end)]
    start = min([moment for moment in (run.started, run.created) if moment is not None] + moments, default=run.now)
    end = max([run.completed if run.completed is not None else run.now, *moments])
    return Timeline(start=start, end=max(start, end), rows=rows)


def row(instance: InstanceView, *, now: float, pods: Mapping[str, float] | None = None) -> TimelineRow:
    """Return the row of one instance. `pods`: when pods were created, by name."""
    intervals = [
        interval
        for interval in _between(instance, timeline_entries.of_instance(instance), now)
        if interval.end > interval.start or interval.open
    ]
    split = (part for interval in intervals for part in _split(instance, interval, pods or {}))
    return TimelineRow(
        task=instance.task,
        ref=instance.ref,
        label=instance.display_name or instance.ref,
        path=instance.path,
        taskrun=instance.name,
        state=instance.word,
        reason=instance.reason,
        ended=instance.completed,
        exact=bool(instance.history),
        intervals=tuple(split),
    )


def _pod_creations(pods: Iterable[Fields]) -> Mapping[str, float]:
    moments: dict[str, float] = {}
    for pod in pods:
        metadata = json_fields.fields(json_fields.fields(pod).get("metadata"))
        created = json_fields.moment(metadata.get("creationTimestamp"))
        if created is not None:
            moments[json_fields.text(metadata.get("name"))] = created
    return moments


def _between(instance: InstanceView, entries: list[HistoryEntry], now: float) -> Iterator[TimelineInterval]:
    """The intervals from each transition to the next.

    The last one of an instance that goes on ends now. A history whose end is missing ends at the completion.
    """
    for entry, following in pairwise(entries):
        interval = _interval(entry, following.at, following.reason)
        yield interval if timeline_entries.follows(entry, following) else replace(interval, phase=TimelinePhase.GAP)
    last = entries[-1] if entries else None
    if last is None or (last.state is not None and _phase(last.state) is None):
        return
    if not instance.ended:
        yield replace(_interval(last, max(now, last.at), instance.reason), open=True)
    elif instance.completed is not None:
        yield _interval(last, max(instance.completed, last.at), instance.reason)


def _interval(entry: HistoryEntry, end: float, why: str) -> TimelineInterval:
    """The interval that an entry begins. `why`: the reason of its end, or the present one.

    A container task is Running as soon as its pod exists, so the pod may never have started.
    """
    phase = TimelinePhase.GAP if entry.count > 1 else _phase(entry.state) or TimelinePhase.GAP
    phase = TimelinePhase.STARTING if phase is TimelinePhase.RUNNING and why in _NOT_STARTED else phase
    detail = str(entry.count) if entry.count > 1 else entry.trigger or entry.pod
    return TimelineInterval(
        phase=phase,
        start=entry.at,
        end=end,
        attempt=entry.attempt,
        segment=entry.segment,
        launch=entry.launch,
        reason=entry.reason,
        detail=detail,
    )


def _phase(state: State | None) -> TimelinePhase | None:
    """What follows the entry of a state; None after a terminal one."""
    match state:
        case State.SCHEDULED:
            return TimelinePhase.QUEUED
        case State.RUNNING:
            return TimelinePhase.RUNNING
        case State.DEFERRED:
            return TimelinePhase.WAITING
        case State.UP_FOR_RETRY:
            return TimelinePhase.BACKING_OFF
        case State.SUCCEEDED | State.FAILED | State.SKIPPED | State.CANCELLED:
            return None
        case None:
            return TimelinePhase.GAP
        case _:
            assert_never(state)


def _split(instance: InstanceView, interval: TimelineInterval, pods: Mapping[str, float]) -> Iterator[TimelineInterval]:
    """A queued interval as the part before the creation of its pod, and the part after."""
    pod = _pod_name(instance, interval)
    created = pods.get(pod)
    if interval.phase is not TimelinePhase.QUEUED or created is None or created >= interval.end:
        yield interval
        return
    if created > interval.start:
        yield replace(interval, end=created, open=False)
    yield replace(interval, phase=TimelinePhase.STARTING, start=max(created, interval.start), detail=pod)


def _pod_name(instance: InstanceView, interval: TimelineInterval) -> str:
    return names.pod(instance.name, interval.attempt, interval.segment, interval.launch)

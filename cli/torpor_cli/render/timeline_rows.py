"""The rows of a timeline, as the chart in the terminal and the picture draw them. Pure.

A mapped task with many instances becomes one folded row and a sample of its instances.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import assert_never

from torpor_views import timeline
from torpor_views.timeline import TimelinePhase

FOLD_ABOVE = 8
"""Instances of a mapped task that are shown one by one."""
SAMPLE = 3
"""Instances shown of a folded task: failed ones first, then the longest."""


class SpanKind(StrEnum):
    """What an instance did in a span of time."""

    QUEUED = "queued"
    POD = "pod"
    WAIT = "wait"
    BACKOFF = "back-off"
    UNKNOWN = "unknown"
    """Older transitions that the history has as one entry, or a state of a newer version."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A span of time; start and end in seconds since the epoch."""

    kind: SpanKind
    start: float
    end: float
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRow:
    """A line of the chart. A folded row has the bars of `count` instances."""

    label: str
    bars: tuple[Bar, ...] = ()
    state: str = ""
    depth: int = 0
    count: int = 1

    @property
    def end(self) -> float | None:
        """The end of the last bar."""
        return max((bar.end for bar in self.bars), default=None)

    @property
    def seconds(self) -> float | None:
        """The time from the first start to the last end, as `torpor get` shows it; None before the first start."""
        started = min((bar.start for bar in self.bars if bar.kind is not SpanKind.QUEUED), default=None)
        return None if started is None or self.end is None else self.end - started


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """A run as rows. `end` is now for a run that goes on."""

    title: str
    state: str
    start: float
    end: float
    rows: tuple[ChartRow, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences below the chart, for example about objects without history."""

    @property
    def seconds(self) -> float:
        """The time that the chart shows; never 0, so that it can be divided by."""
        return max(self.end - self.start, 1e-3)


def of_timeline(built: timeline.Timeline, *, unfold: bool = False) -> tuple[ChartRow, ...]:
    """Return the rows of a run. `unfold` shows each instance of every task."""
    rows: list[ChartRow] = []
    for task, instances in groupby(built.rows, key=lambda row: row.task):
        each = [_row(row) for row in instances]
        rows += each if unfold else fold(task, each)
    return tuple(rows)


def _row(row: timeline.TimelineRow) -> ChartRow:
    return ChartRow(label=row.label, state=row.state, bars=tuple(_bar(each) for each in row.intervals))


def _bar(interval: timeline.TimelineInterval) -> Bar:
    kind = _kind(interval.phase)
    return Bar(kind=kind, start=interval.start, end=interval.end, note=interval.reason or interval.detail)


def _kind(phase: TimelinePhase) -> SpanKind:
    match phase:
        case TimelinePhase.QUEUED | TimelinePhase.STARTING:
            return SpanKind.QUEUED
        case TimelinePhase.RUNNING:
            return SpanKind.POD
        case TimelinePhase.WAITING:
            return SpanKind.WAIT
        case TimelinePhase.BACKING_OFF:
            return SpanKind.BACKOFF
        case TimelinePhase.GAP:
            return SpanKind.UNKNOWN
        case _:
            assert_never(phase)


def fold(task: str, instances: Sequence[ChartRow], *, above: int = FOLD_ABOVE) -> list[ChartRow]:
    """Return the rows of a task's instances: all of them, or one folded row and a sample."""
    if len(instances) <= above:
        return list(instances)
    bars = tuple(bar for row in instances for bar in row.bars)
    folded = ChartRow(label=f"{task} ({len(instances)})", bars=bars, state=_states(instances), count=len(instances))
    return [folded, *(replace(row, depth=row.depth + 1) for row in sample(instances))]


def sample(instances: Sequence[ChartRow], size: int = SAMPLE) -> list[ChartRow]:
    """Return failed instances, then the longest, in their own order."""
    ranked = sorted(range(len(instances)), key=lambda at: _rank(instances[at]))[:size]
    return [instances[at] for at in sorted(ranked)]


def _rank(row: ChartRow) -> tuple[bool, float]:
    return row.state != "Failed", -(row.seconds or 0.0)


def _states(instances: Iterable[ChartRow]) -> str:
    """Return the number of instances in each state: `97 Succeeded, 3 Failed`."""
    counts = Counter(row.state for row in instances)
    return ", ".join(f"{count} {state}" for state, count in counts.most_common())

"""How many pods a run held, and how many waits held none, over time. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from torpor_views.timeline import Timeline, TimelinePhase

POINTS_MAX = 600
_PODS = frozenset({TimelinePhase.STARTING, TimelinePhase.RUNNING})


class PhaseInterval(NamedTuple):
    """What an instance did from `start` to `end`, in seconds since the epoch."""

    phase: str
    start: float
    end: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """Steps: from `times[i]` to the next time there were at most `pods[i]` pods and `waits[i]` waits.

    `pod_seconds` and `wait_seconds` are exact sums over all intervals.
    """

    times: tuple[float, ...] = ()
    pods: tuple[int, ...] = ()
    waits: tuple[int, ...] = ()
    pod_seconds: float = 0.0
    wait_seconds: float = 0.0

    @classmethod
    def of_timeline(cls, timeline: Timeline) -> Self:
        """Return the occupancy of a run."""
        return cls.of_intervals(
            PhaseInterval(each.phase, each.start, each.end) for row in timeline.rows for each in row.intervals
        )

    @classmethod
    def of_intervals(cls, intervals: Iterable[PhaseInterval], points: int = POINTS_MAX) -> Self:
        """Return the occupancy of intervals in any order. Of more steps than `points`, neighbours become one step."""
        changes: dict[float, list[int]] = {}
        sums = [0.0, 0.0]
        for phase, start, end in intervals:
            kind = 0 if phase in _PODS else 1 if phase == TimelinePhase.WAITING else None
            if kind is None or end <= start:
                continue
            sums[kind] += end - start
            changes.setdefault(start, [0, 0])[kind] += 1
            changes.setdefault(end, [0, 0])[kind] -= 1
        steps = _highest(list(_steps(changes)), points)
        return cls(
            times=tuple(step.at for step in steps),
            pods=tuple(step.pods for step in steps),
            waits=tuple(step.waits for step in steps),
            pod_seconds=sums[0],
            wait_seconds=sums[1],
        )


class _Step(NamedTuple):
    at: float
    pods: int
    waits: int


def _steps(changes: dict[float, list[int]]) -> Iterable[_Step]:
    pods = waits = 0
    for at in sorted(changes):
        pods, waits = pods + changes[at][0], waits + changes[at][1]
        yield _Step(at, pods, waits)


def _highest(steps: Sequence[_Step], points: int) -> Sequence[_Step]:
    """The steps, or about `points` of equal length with the highest numbers of each. The last step is the end."""
    if len(steps) <= points:
        return steps
    first, width = steps[0].at, (steps[-1].at - steps[0].at) / (points - 1)
    merged: list[_Step] = []
    before = steps[0]
    for step in steps[:-1]:
        place = int((step.at - first) / width)
        at = first + place * width
        if merged and at > merged[-1].at + 1.5 * width:  # nothing changed in between
            merged.append(_Step(merged[-1].at + width, before.pods, before.waits))
        if not merged or at > merged[-1].at + width / 2:  # what a former step left goes on into this one
            merged.append(_Step(at, before.pods, before.waits))
        known = merged[-1]
        merged[-1] = _Step(known.at, max(known.pods, step.pods), max(known.waits, step.waits))
        before = step
    return [*merged, steps[-1]]

"""What the cluster does: pods against waits over a day, pod hours that waiting saved, slots and quotas. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torpor_views import facts, json_fields, timeline
from torpor_views.instance import InstanceView
from torpor_views.json_fields import Fields, text
from torpor_views.occupancy import Occupancy, PhaseInterval
from torpor_views.timeline import TimelinePhase
from torpor_wire.state import State

from torpor_ui.presentation.run_rows import RunRow

Json = dict[str, Any]
HISTORY_SECONDS = 24 * 3600.0
_POINTS = 300
_HOUR = 3600.0
_QUANTITY = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)([numkMGTPE]|[KMGTPE]i)?", re.ASCII)
_SUFFIXES = {
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "E": 1e18,
    **{f"{letter}i": 1024.0 ** (power + 1) for power, letter in enumerate("KMGTPE")},
}


@dataclass(slots=True)
class ClusterStatistics:
    """What was added. Intervals of the last day are kept, TaskRuns are not. `now`: seconds since the epoch."""

    now: float
    pods: int = 0
    waits: int = 0
    wait_seconds: float = 0.0
    """Seconds that all TaskRuns have waited, from their beginning: each held no pod."""
    intervals: list[PhaseInterval] = field(default_factory=list)
    slots: Counter[tuple[str, str, State]] = field(default_factory=Counter)
    """TaskRuns with a pool of slots, by namespace, pool and state."""

    def add(self, taskruns: Sequence[Fields]) -> None:
        """Add TaskRuns. Never raises for their content."""
        for body in taskruns:
            view = InstanceView.parse(body)
            self.pods += view.state is State.RUNNING
            self.waits += view.state is State.DEFERRED
            if view.pool and view.state is not None:
                self.slots[view.namespace, view.pool, view.state] += 1
            for each in timeline.row(view, now=self.now).intervals:
                if each.phase is TimelinePhase.WAITING:
                    self.wait_seconds += max(each.end - each.start, 0.0)
                self._keep(each.phase, each.start, each.end)

    def _keep(self, phase: str, start: float, end: float) -> None:
        first = max(start, self.now - HISTORY_SECONDS)
        if end > first and phase in {TimelinePhase.RUNNING, TimelinePhase.STARTING, TimelinePhase.WAITING}:
            self.intervals.append(PhaseInterval(phase, first, min(end, self.now)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterReads:
    """What the page is built from. `pools`: the ConfigMap `torpor-pools` of each namespace that has one."""

    statistics: ClusterStatistics
    runs: Iterable[RunRow] = ()
    pools: Mapping[str, Fields] = field(default_factory=dict)
    quotas: Sequence[Fields] = ()
    notes: Sequence[str] = ()


def build(reads: ClusterReads) -> Json:
    """Return the page."""
    statistics = reads.statistics
    history = Occupancy.of_intervals(statistics.intervals, _POINTS)
    return {
        "pods": statistics.pods,
        "waits": statistics.waits,
        "saved": {"podHours": round(statistics.wait_seconds / _HOUR, 4), "now": statistics.waits},
        "slots": [
            slot for namespace, body in sorted(reads.pools.items()) for slot in _slots(namespace, body, statistics)
        ],
        "quotas": [quota for body in reads.quotas for quota in _quota(body)],
        "runs": dict(Counter(run.state for run in reads.runs)),
        "history": _until_now(history, statistics),
        "notes": list(reads.notes),
    }


def _until_now(history: Occupancy, statistics: ClusterStatistics) -> Json:
    """The steps of the last day, the last one at this moment."""
    if not history.times:
        return {"t": [], "pods": [], "waits": []}
    ended = history.times[-1] < statistics.now
    return {
        "t": [*(round(moment, 1) for moment in history.times), *([round(statistics.now, 1)] if ended else [])],
        "pods": [*history.pods, *history.pods[-1:]] if ended else [*history.pods[:-1], statistics.pods],
        "waits": [*history.waits, *history.waits[-1:]] if ended else [*history.waits[:-1], statistics.waits],
    }


def _slots(namespace: str, body: Fields, statistics: ClusterStatistics) -> Iterable[Json]:
    for name, pool in sorted(facts.parse_pools(body).items()):
        count = statistics.slots
        held = count[namespace, name, State.RUNNING]
        held += count[namespace, name, State.DEFERRED] if pool.deferred else 0
        queued = count[namespace, name, State.SCHEDULED]
        yield {"namespace": namespace, "name": name, "size": pool.slots, "used": held, "queued": queued}


def _quota(body: Fields) -> Iterable[Json]:
    """The resources of a ResourceQuota that are limited."""
    metadata, status = json_fields.fields(body.get("metadata")), json_fields.fields(body.get("status"))
    used = json_fields.fields(status.get("used"))
    for resource, hard in json_fields.fields(status.get("hard")).items():
        limit, taken = quantity(hard), quantity(used.get(resource))
        if limit is not None:
            yield {
                "namespace": text(metadata.get("namespace")),
                "name": text(metadata.get("name")),
                "resource": json_fields.one_line(resource, 100),
                "hard": limit,
                "used": taken or 0.0,
            }


def quantity(value: object) -> float | None:
    """Return a quantity of Kubernetes, such as `500m` or `2Gi`; None for anything else."""
    match = _QUANTITY.fullmatch(str(value)) if isinstance(value, str | int) else None
    return None if match is None else float(match[1]) * _SUFFIXES.get(match[2] or "", 1.0)

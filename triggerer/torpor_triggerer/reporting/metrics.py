"""What a replica counts, as Prometheus reads it at `/metrics`; docs/reference/metrics.md explains each name.

Counters grow where something happens. All else is read off what the replica holds when somebody asks (`Standing`), so
that a wait costs nothing. Labels are bounded, whatever stands on TaskRuns: the name of a trigger class is one of the
registered ones, or one word for all others. It reaches nothing outside, and measures nothing itself.
"""

from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import assert_never

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from torpor_triggerer.model.deferred_taskrun import Wait
from torpor_triggerer.model.outcome import Cancelled, Done, Failed, Fired, Outcome, Skipped, TimedOut

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
UNREGISTERED = "unregistered"
"""The class of every trigger whose name is not on the allow-list."""

_BY_CLASS = ("pool", "class")
_LATENESS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LAG = (0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a replica holds at a moment. Mappings are by class, as TaskRuns name it; `silent` is in seconds."""

    capacity: int = 0
    running: Mapping[str, int] = field(default_factory=dict)
    queued: Mapping[str, int] = field(default_factory=dict)
    shared: Mapping[str, int] = field(default_factory=dict)
    shards: int = 0
    members: int = 0
    silent: float = 0.0
    streams: int = 0
    restarts: int = 0
    dropped: int = 0


class Metrics:
    """One for a process. `classes` are the registered names."""

    def __init__(self, pool: str, classes: Collection[str]) -> None:
        self._pool = pool
        self._classes = frozenset(classes)
        self._registry = CollectorRegistry()
        self._fired = self._counter("fired", "Waits ended by an event.")
        self._failed = self._counter("failed", "Waits that came to nothing, by reason.", "reason")
        self._skipped = self._counter("skipped", "Waits whose trigger said that its task is skipped.")
        self._timed_out = self._counter("timed_out", "Waits that took too long and whose task goes on.")
        self._cancelled = self._counter("cancelled", "Waits that were cancelled.")
        self._lost = self._counter("lost", "Outcomes that another had written first, or that nobody needed any more.")
        self._blocked = Counter(
            "torpor_loop_blocked",
            "Times that a trigger of the class blocked the loop.",
            _BY_CLASS,
            registry=self._registry,
        )
        self._lateness = Histogram(
            "torpor_fire_lateness_seconds",
            "From the moment that a wait was due, or its event was there, until the API server had it.",
            _BY_CLASS,
            buckets=_LATENESS,
            registry=self._registry,
        )
        self._lag = Histogram(
            "torpor_loop_lag_seconds",
            "How late the loop was, asked once a second.",
            ("pool",),
            buckets=_LAG,
            registry=self._registry,
        ).labels(pool)

    def watch(self, standing: Callable[[], Standing]) -> None:
        """Tell also what the replica holds, asked each time that somebody reads."""
        self._registry.register(_Gauges(self._pool, self._classes, standing))

    def watch_process(self) -> None:
        """Tell also what the process costs: CPU, memory, open files."""
        self._registry.register(ProcessCollector(namespace="torpor", registry=None))

    def text(self) -> bytes:
        """Everything, as Prometheus reads it."""
        return generate_latest(self._registry)

    def ended(self, wait: Wait, outcome: Outcome, lateness: float | None = None) -> None:
        """An outcome was written, so many seconds after it was due."""
        labels = self._labels(_name(wait))
        match outcome:
            case Fired() | Done():
                self._fired.labels(*labels).inc()
                if lateness is not None:
                    self._lateness.labels(*labels).observe(max(lateness, 0.0))
            case Failed(reason=reason):
                self._failed.labels(*labels, str(reason)).inc()
            case Skipped():
                self._skipped.labels(*labels).inc()
            case TimedOut():
                self._timed_out.labels(*labels).inc()
            case Cancelled():
                self._cancelled.labels(*labels).inc()
            case _:
                assert_never(outcome)

    def lost(self, wait: Wait) -> None:
        """There was nothing left to write."""
        self._lost.labels(*self._labels(_name(wait))).inc()

    def blocked(self, class_name: str) -> None:
        """A trigger of this class blocked the loop. May be called from any thread."""
        self._blocked.labels(*self._labels(class_name)).inc()

    def lagged(self, seconds: float) -> None:
        """The loop came so late to what it should have done."""
        self._lag.observe(seconds)

    def _counter(self, what: str, means: str, *more: str) -> Counter:
        return Counter(f"torpor_triggers_{what}", means, (*_BY_CLASS, *more), registry=self._registry)

    def _labels(self, class_name: str) -> tuple[str, str]:
        return self._pool, _known(class_name, self._classes)


def by_class(waits: Iterable[Wait]) -> Mapping[str, int]:
    """How many there are of each class, as they stand on their TaskRuns."""
    return Tally(map(_name, waits))


def _name(wait: Wait) -> str:
    return wait.asked.class_name if wait.asked else ""


def _known(name: str, classes: AbstractSet[str]) -> str:
    return name if name in classes else UNREGISTERED


class _Gauges(Collector):
    """What a standing comes to, with a zero where a class has none: what is absent cannot be added up."""

    def __init__(self, pool: str, classes: AbstractSet[str], standing: Callable[[], Standing]) -> None:
        self._pool = pool
        self._classes = classes
        self._standing = standing

    def describe(self) -> Iterator[Metric]:
        """Names and meanings, for a registry that looks for names that clash."""
        return self._families(Standing())

    def collect(self) -> Iterator[Metric]:
        """The values of now."""
        return self._families(self._standing())

    def _families(self, held: Standing) -> Iterator[Metric]:
        yield self._by_class("running", "Waits whose trigger runs here, by itself or shared.", held.running)
        yield self._by_class("queued", "Waits of this replica's shards that wait for room.", held.queued)
        yield self._by_class("shared", "Waits that another's trigger is run for: pokes saved.", held.shared)
        yield self._one("torpor_capacity", "How many waits run here at a time, at most.", held.capacity)
        yield self._one("torpor_shards_owned", "Shards of the pool that are this replica's.", held.shards)
        yield self._one("torpor_members", "Live replicas of the pool, as this one sees it.", held.members)
        yield self._one("torpor_lease_age_seconds", "Since this replica's Lease was renewed.", held.silent)
        yield self._one("torpor_watches", "Watches of TaskRuns that are open.", held.streams)
        yield self._grown("torpor_watch_restarts", "Watches of TaskRuns opened or listed again.", held.restarts)
        yield self._grown("torpor_events_dropped", "Events that had no room within their rate.", held.dropped)

    def _by_class(self, what: str, means: str, counts: Mapping[str, int]) -> Metric:
        family = GaugeMetricFamily(f"torpor_triggers_{what}", means, labels=_BY_CLASS)
        bounded = dict.fromkeys((*sorted(self._classes), UNREGISTERED), 0)
        for name, count in counts.items():
            bounded[_known(name, self._classes)] += count
        for name, count in bounded.items():
            family.add_metric((self._pool, name), count)
        return family

    def _one(self, name: str, means: str, value: float) -> Metric:
        family = GaugeMetricFamily(name, means, labels=("pool",))
        family.add_metric((self._pool,), value)
        return family

    def _grown(self, name: str, means: str, value: int) -> Metric:
        family = CounterMetricFamily(name, means, labels=("pool",))
        family.add_metric((self._pool,), value)
        return family

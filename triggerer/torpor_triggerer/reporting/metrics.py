"""The metrics of a replica at `/metrics`; docs/reference/metrics.md describes each.

Counters are incremented where something happens. Gauges are computed from `ReplicaState` when they are read, so a wait
costs nothing. Labels are bounded: a trigger class is a registered name or `unregistered`.
"""

from collections import Counter as Tally
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import assert_never

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Cancelled, Done, Failed, Fired, Outcome, Skipped, TimedOut
from torpor_triggerer.model.packed_wait import PackedWait

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
UNREGISTERED = "unregistered"
"""The class label of every trigger that is not registered."""

_BY_CLASS = ("pool", "class")
_LATENESS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
_LAG = (0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicaState:
    """The state of a replica. Mappings are by class name; `lease_age` is in seconds."""

    capacity: int = 0
    running: Mapping[str, int] = field(default_factory=dict)
    queued: Mapping[str, int] = field(default_factory=dict)
    shared: Mapping[str, int] = field(default_factory=dict)
    shards: int = 0
    members: int = 0
    lease_age: float = 0.0
    watches: int = 0
    restarts: int = 0
    dropped: int = 0


class TriggererMetrics:
    """One for a process. `classes` are the registered names."""

    def __init__(self, pool: str, classes: Collection[str]) -> None:
        self._pool = pool
        self._classes = frozenset(classes)
        self._registry = CollectorRegistry()
        self._fired = self._counter("fired", "Waits ended by an event.")
        self._failed = self._counter("failed", "Waits that failed, by reason.", "reason")
        self._skipped = self._counter("skipped", "Waits whose trigger skipped the task.")
        self._timed_out = self._counter("timed_out", "Waits that timed out and whose task continues.")
        self._cancelled = self._counter("cancelled", "Waits that were cancelled.")
        self._lost = self._counter("lost", "Outcomes that another writer preceded, or that were not needed.")
        self._blocked = Counter(
            "torpor_loop_blocked",
            "Times that a trigger of the class blocked the event loop.",
            _BY_CLASS,
            registry=self._registry,
        )
        self._lateness = Histogram(
            "torpor_fire_lateness_seconds",
            "From the event, or its due time, until the API server stored the outcome.",
            _BY_CLASS,
            buckets=_LATENESS,
            registry=self._registry,
        )
        self._lag = Histogram(
            "torpor_loop_lag_seconds",
            "How late the event loop was, measured once a second.",
            ("pool",),
            buckets=_LAG,
            registry=self._registry,
        ).labels(pool)

    def add_gauges(self, state: Callable[[], ReplicaState]) -> None:
        """Export the state of the replica, computed for each scrape."""
        self._registry.register(_Gauges(self._pool, self._classes, state))

    def add_process_metrics(self) -> None:
        """Export CPU, memory and open files of the process."""
        self._registry.register(ProcessCollector(namespace="torpor", registry=None))

    def text(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._registry)

    def ended(self, wait: TriggerWait, outcome: Outcome, lateness: float | None = None) -> None:
        """Count a written outcome; `lateness` is in seconds."""
        labels = self._labels(_class_name(wait))
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

    def lost(self, wait: TriggerWait) -> None:
        """Count an outcome that was not needed."""
        self._lost.labels(*self._labels(_class_name(wait))).inc()

    def blocked(self, class_name: str) -> None:
        """Count a block of the event loop by a trigger class. May be called from any thread."""
        self._blocked.labels(*self._labels(class_name)).inc()

    def lagged(self, seconds: float) -> None:
        """Record how late the event loop was, in seconds."""
        self._lag.observe(seconds)

    def _counter(self, what: str, description: str, *more: str) -> Counter:
        return Counter(f"torpor_triggers_{what}", description, (*_BY_CLASS, *more), registry=self._registry)

    def _labels(self, class_name: str) -> tuple[str, str]:
        return self._pool, _known(class_name, self._classes)


def by_class(waits: Iterable[PackedWait]) -> Mapping[str, int]:
    """Return the number of waits of each class, as named on the TaskRuns."""
    return Tally(wait.class_name for wait in waits)


def _class_name(wait: TriggerWait) -> str:
    return wait.trigger.class_name if wait.trigger else ""


def _known(name: str, classes: AbstractSet[str]) -> str:
    return name if name in classes else UNREGISTERED


class _Gauges(Collector):
    """The gauges of a state, with a zero for each class without waits: absent series cannot be added up."""

    def __init__(self, pool: str, classes: AbstractSet[str], state: Callable[[], ReplicaState]) -> None:
        self._pool = pool
        self._classes = classes
        self._state = state

    def describe(self) -> Iterator[Metric]:
        """Return names and help texts, for the registry's check of duplicates."""
        return self._families(ReplicaState())

    def collect(self) -> Iterator[Metric]:
        """Return the current values."""
        return self._families(self._state())

    def _families(self, state: ReplicaState) -> Iterator[Metric]:
        yield self._by_class("running", "Waits whose trigger runs here, by itself or shared.", state.running)
        yield self._by_class("queued", "Waits of this replica's shards that wait for capacity.", state.queued)
        yield self._by_class("shared", "Waits that the trigger of another wait serves.", state.shared)
        yield self._gauge("torpor_capacity", "Maximum of waits that run here.", state.capacity)
        yield self._gauge("torpor_shards_owned", "Shards of the pool that this replica owns.", state.shards)
        yield self._gauge("torpor_members", "Live replicas of the pool, as this one sees it.", state.members)
        yield self._gauge("torpor_lease_age_seconds", "Seconds since this replica renewed its Lease.", state.lease_age)
        yield self._gauge("torpor_watches", "Watches of TaskRuns that are open.", state.watches)
        yield self._grown("torpor_watch_restarts", "Watches of TaskRuns opened or listed again.", state.restarts)
        yield self._grown("torpor_events_dropped", "Events dropped because of the rate limit.", state.dropped)

    def _by_class(self, what: str, description: str, counts: Mapping[str, int]) -> Metric:
        family = GaugeMetricFamily(f"torpor_triggers_{what}", description, labels=_BY_CLASS)
        bounded = dict.fromkeys((*sorted(self._classes), UNREGISTERED), 0)
        for name, count in counts.items():
            bounded[_known(name, self._classes)] += count
        for name, count in bounded.items():
            family.add_metric((self._pool, name), count)
        return family

    def _gauge(self, name: str, description: str, value: float) -> Metric:
        family = GaugeMetricFamily(name, description, labels=("pool",))
        family.add_metric((self._pool,), value)
        return family

    def _grown(self, name: str, description: str, value: int) -> Metric:
        family = CounterMetricFamily(name, description, labels=("pool",))
        family.add_metric((self._pool,), value)
        return family

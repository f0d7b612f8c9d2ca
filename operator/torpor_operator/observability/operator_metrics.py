"""The metrics of one operator replica, served at `/metrics`; docs/reference/metrics.md describes each.

Counters are incremented where something happens. Gauges are computed at each scrape. Labels are bounded: kinds and
verbs are fixed sets, and `label_budget` bounds names that users choose.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SHORT = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 120.0)
_LAG = (0.001, 0.005, 0.01, 0.05, 0.1, 0.2, 0.5, 1.0, 3.0, 10.0, 30.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorState:
    """The state of a replica at a scrape. Mappings are by kind; ages are in seconds."""

    is_leader: bool = False
    cache_age: Mapping[str, float] = field(default_factory=dict)
    cached: Mapping[str, int] = field(default_factory=dict)
    watch_restarts: Mapping[str, int] = field(default_factory=dict)
    dropped_events: int = 0


class OperatorMetrics:
    """One for a process."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._depths: dict[str, Callable[[], int]] = {}
        self._passes = Counter(
            "torpor_operator_reconcile",
            "Reconcile passes, by result: success or error.",
            ("kind", "result"),
            registry=self.registry,
        )
        self._pass_seconds = self._histogram("reconcile_time", "Duration of reconcile passes.", ("kind",), _SECONDS)
        self._wait_seconds = self._histogram(
            "workqueue_queue_duration", "Time that a due object waited for its pass.", ("kind",), _SECONDS
        )
        self._plan_seconds = self._histogram("plan_time", "Duration of plans, which are pure.", ("kind",), _SHORT)
        self._writes = Counter(
            "torpor_operator_writes",
            "Writes to the API server. The result of a success is OK.",
            ("resource", "verb", "result"),
            registry=self.registry,
        )
        self._write_seconds = self._histogram(
            "write_time", "Duration of writes to the API server.", ("resource",), _SECONDS
        )
        self._lag = self._histogram("loop_lag", "How late the event loop was, measured once a second.", (), _LAG)
        self.registry.register(_QueueDepths(self._depths))

    def loop(self, kind: str) -> "KindLoopMetrics":
        """The metrics of the loop of one kind."""
        return KindLoopMetrics(
            waits=self._wait_seconds.labels(kind),
            plans=self._plan_seconds.labels(kind),
            passes=self._pass_seconds.labels(kind),
            succeeded=self._passes.labels(kind, "success"),
            failed=self._passes.labels(kind, "error"),
            set_depth=lambda depth: self._depths.__setitem__(kind, depth),
        )

    def wrote(self, resource: str, verb: str, result: str, seconds: float) -> None:
        """Count a write to the API server."""
        self._writes.labels(resource, verb, result).inc()
        self._write_seconds.labels(resource).observe(seconds)

    def lagged(self, seconds: float) -> None:
        """Record how late the event loop was."""
        self._lag.observe(seconds)

    def add_state(self, state: Callable[[], OperatorState]) -> None:
        """Export the state of the replica, computed for each scrape."""
        self.registry.register(_StateGauges(state))

    def add_process_metrics(self) -> None:
        """Export CPU, memory and open files of the process."""
        self.registry.register(ProcessCollector(namespace="torpor_operator", registry=None))

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

    def _histogram(self, name: str, text: str, labels: tuple[str, ...], buckets: tuple[float, ...]) -> Histogram:
        return Histogram(f"torpor_operator_{name}_seconds", text, labels, buckets=buckets, registry=self.registry)


@dataclass(frozen=True, slots=True, kw_only=True)
class KindLoopMetrics:
    """The series of one kind, looked up once."""

    waits: Histogram
    plans: Histogram
    passes: Histogram
    succeeded: Counter
    failed: Counter
    set_depth: Callable[[Callable[[], int]], None]

    def waited(self, seconds: float) -> None:
        """A key was taken from the queue after this time."""
        self.waits.observe(seconds)

    def passed(self, seconds: float, *, failed: bool) -> None:
        """A pass ended."""
        self.passes.observe(seconds)
        (self.failed if failed else self.succeeded).inc()

    def planned(self, seconds: float) -> None:
        """A plan was computed."""
        self.plans.observe(seconds)

    def watch_depth(self, depth: Callable[[], int]) -> None:
        """Export the number of due keys."""
        self.set_depth(depth)


class _QueueDepths(Collector):
    def __init__(self, depths: Mapping[str, Callable[[], int]]) -> None:
        self._depths = depths

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily(
            "torpor_operator_workqueue_depth", "Objects that are due and wait for their pass.", labels=("kind",)
        )
        for kind, depth in self._depths.items():
            family.add_metric((kind,), depth())
        yield family


class _StateGauges(Collector):
    def __init__(self, state: Callable[[], OperatorState]) -> None:
        self._state = state

    def describe(self) -> Iterator[Metric]:
        return self._families(OperatorState())

    def collect(self) -> Iterator[Metric]:
        return self._families(self._state())

    def _families(self, state: OperatorState) -> Iterator[Metric]:
        leader = GaugeMetricFamily("torpor_operator_leader", "1 if this replica leads, else 0.")
        leader.add_metric((), int(state.is_leader))
        yield leader
        age = "Seconds since a watch of this kind last brought an event or a bookmark."
        yield _by_kind(GaugeMetricFamily, "torpor_operator_cache_age_seconds", age, state.cache_age)
        yield _by_kind(GaugeMetricFamily, "torpor_operator_cache_objects", "Objects in the cache.", state.cached)
        restarts = "Watches of this kind opened or listed again."
        yield _by_kind(CounterMetricFamily, "torpor_operator_watch_restarts", restarts, state.watch_restarts)
        dropped = CounterMetricFamily(
            "torpor_operator_events_dropped", "Kubernetes Events dropped because of the rate limit."
        )
        dropped.add_metric((), state.dropped_events)
        yield dropped


def _by_kind(
    family: type[GaugeMetricFamily] | type[CounterMetricFamily], name: str, text: str, values: Mapping[str, float]
) -> Metric:
    metric = family(name, text, labels=("kind",))
    for kind, value in values.items():
        metric.add_metric((kind,), value)
    return metric

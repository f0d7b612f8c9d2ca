"""The series of metrics that authors define: their values, and how many a namespace may have. Pure.

The type is part of the exported name, so that two namespaces that use one name for different types do not clash. Every
series has the label `namespace`.
"""

import math
from collections import Counter as Tally
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client.core import Metric
from prometheus_client.registry import Collector
from torpor_crds.models.metrics import CustomMetric
from torpor_wire.enums import MetricType

PREFIX = "torpor_custom"
_BUCKETS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
_VALUE_MAX = 100
Labels = tuple[tuple[str, str], ...]
OVERFLOW: Labels = (("overflow", "true"),)
"""The labels of what is beyond the share."""


@dataclass(slots=True, kw_only=True)
class CustomSeries:
    """One series. `bounds` and `counts` are of a histogram."""

    value: float = 0.0
    count: int = 0
    bounds: tuple[float, ...] = ()
    counts: list[int] = field(default_factory=list)

    def record(self, kind: MetricType, value: float) -> None:
        """Take in a value."""
        self.value = value if kind is MetricType.GAUGE else self.value + value
        self.count += 1
        for index, bound in enumerate(self.bounds):
            self.counts[index] += value <= bound


class CustomSeriesStore(Collector):
    """All series of a process. `per_namespace` and `total` count samples: a histogram has several."""

    def __init__(self, *, per_namespace: int = 200, total: int = 10_000, names_per_namespace: int = 50) -> None:
        self._per_namespace = per_namespace
        self._total = total
        self._names_per_namespace = names_per_namespace
        self._families: dict[tuple[MetricType, str], dict[tuple[str, Labels], CustomSeries]] = {}
        self._help: dict[tuple[MetricType, str], str] = {}
        self._samples: Tally[str] = Tally()
        self._names: dict[str, set[tuple[MetricType, str]]] = {}

    def record(self, namespace: str, metric: CustomMetric, value: float, labels: Mapping[str, str]) -> str | None:
        """Take in a value; return why it is not exported, or None."""
        if not math.isfinite(value) or (metric.type is MetricType.COUNTER and value < 0):
            return f"the value is {value:g}; a {metric.type} needs a finite number" + (
                " that is not negative" if metric.type is MetricType.COUNTER else ""
            )
        name = (metric.type, metric.name)
        names = self._names.setdefault(namespace, set())
        if name not in names and len(names) >= self._names_per_namespace:
            return f"namespace {namespace} has {len(names)} metrics, which is the limit"
        names.add(name)
        self._series(namespace, metric, tuple((key, text[:_VALUE_MAX]) for key, text in sorted(labels.items()))).record(
            metric.type, value
        )
        return None

    def collect(self) -> Iterator[Metric]:
        """All series as Prometheus expects them."""
        for (kind, name), series in self._families.items():
            full = f"{PREFIX}_{kind}_{name.removesuffix('_total') if kind is MetricType.COUNTER else name}"
            family = Metric(full, self._help[kind, name] or f"Metric {name} of tasks and runs.", kind.value)
            for (namespace, labels), each in series.items():
                _add_samples(family, full, kind, {"namespace": namespace, **dict(labels)}, each)
            yield family

    def _series(self, namespace: str, metric: CustomMetric, labels: Labels) -> CustomSeries:
        name = (metric.type, metric.name)
        family = self._families.setdefault(name, {})
        self._help.setdefault(name, metric.help or "")
        if (known := family.get((namespace, labels))) is not None:
            return known
        bounds = tuple(sorted(metric.buckets or _BUCKETS)) if metric.type is MetricType.HISTOGRAM else ()
        size = len(bounds) + 2 if bounds else 1
        full = self._samples[namespace] + size > self._per_namespace or self._samples.total() + size > self._total
        if full and labels not in {(), OVERFLOW}:
            return self._series(namespace, metric, OVERFLOW)
        self._samples[namespace] += size
        return family.setdefault((namespace, labels), CustomSeries(bounds=bounds, counts=[0] * len(bounds)))


def _add_samples(family: Metric, name: str, kind: MetricType, labels: dict[str, str], series: CustomSeries) -> None:
    match kind:
        case MetricType.GAUGE:
            family.add_sample(name, labels, series.value)
        case MetricType.COUNTER:
            family.add_sample(f"{name}_total", labels, series.value)
        case MetricType.HISTOGRAM:
            for bound, count in zip(series.bounds, series.counts, strict=True):
                family.add_sample(f"{name}_bucket", {**labels, "le": str(bound)}, count)
            family.add_sample(f"{name}_bucket", {**labels, "le": "+Inf"}, series.count)
            family.add_sample(f"{name}_sum", labels, series.value)
            family.add_sample(f"{name}_count", labels, series.count)

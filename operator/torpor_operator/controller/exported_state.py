"""Connects the cache to what the process exports: gauges of the replica, metrics of runs, and spans."""

from collections.abc import Callable
from typing import Any

from torpor_kubernetes.cache.reflector import Reflector
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_kubernetes.timing import Clock

from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.write_limits import WriteLimits
from torpor_operator.observability.operator_metrics import OperatorMetrics, OperatorState
from torpor_operator.observability.span_exporter import SpanExporter
from torpor_operator.observability.workload_metrics import WorkloadMetrics


class ExportedState:
    """The state of one replica. That of the runs is exported while it leads."""

    def __init__(
        self, clock: Clock, cluster: ClusterCache, limits: WriteLimits, *, is_leader: Callable[[], bool]
    ) -> None:
        self._clock = clock
        self._cluster = cluster
        self._limits = limits
        self._is_leader = is_leader
        self._reflectors: dict[str, Reflector[Any]] = {TASKRUNS.kind: cluster.taskruns, PODS.kind: cluster.pods}

    def add_to(self, metrics: OperatorMetrics, spans: SpanExporter | None) -> None:
        """Export the state from now on."""
        metrics.add_state(self.read)
        of_runs = WorkloadMetrics(
            metrics.registry,
            now=self._clock.now,
            is_leader=self._is_leader,
            find_workflow=self._cluster.owner_of,
        )
        if spans is not None:
            spans.is_leader = self._is_leader
            of_runs.on_run_ended.append(spans.add_run)
        self._cluster.subscribe(of_runs)

    def read(self) -> OperatorState:
        """The state now."""
        reflectors = self._reflectors.items()
        cached = {kind: len(reflector.store) for kind, reflector in reflectors}
        return OperatorState(
            is_leader=self._is_leader(),
            cache_age={kind: reflector.age() for kind, reflector in reflectors},
            cached=cached | {WORKFLOWS.kind: len(self._cluster.workflows)},
            watch_restarts={kind: reflector.watches + reflector.relists for kind, reflector in reflectors},
            dropped_events=self._limits.events.dropped,
        )

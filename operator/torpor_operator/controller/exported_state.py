"""Connects the cache to what the process exports: gauges of the replica, metrics of runs, and spans."""

from collections.abc import Callable
from typing import Any

from torpor_crds.models.base import Metadata
from torpor_kubernetes.cache.reflector import Reflector
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_kubernetes.timing import Clock
from torpor_wire.reason import Reason

from torpor_operator import object_reports
from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.write_limits import WriteLimits
from torpor_operator.model.actions import Notice
from torpor_operator.observability.custom_metrics import CustomMetrics
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

    def add_to(self, metrics: OperatorMetrics, spans: SpanExporter | None, custom: CustomMetrics) -> None:
        """Export the state from now on."""
        metrics.add_state(self.read)
        of_runs = WorkloadMetrics(
            metrics.registry,
            now=self._clock.now,
            is_leader=self._is_leader,
            find_workflow=self._cluster.owner_of,
        )
        of_runs.on_run_ended.append(custom.on_run_ended)
        of_runs.on_taskrun_ended.append(custom.on_taskrun_ended)
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


class MetricReporter:
    """Reports why a metric of an author has no value."""

    def __init__(self, limits: WriteLimits) -> None:
        self._limits = limits

    async def report(self, workflow: Metadata, message: str) -> None:
        """Post an Event about the Workflow. One that cannot be posted is logged and lost."""
        notice = Notice(reason=Reason.METRIC_INVALID, message=message, warning=True)
        await object_reports.post(self._limits.events, WORKFLOWS, workflow, [notice])

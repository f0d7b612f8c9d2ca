"""Metrics of runs and tasks: how many are in each state, how long they took, and how long they waited for a pod.

It follows the cache, so it sends nothing. Only the leader counts and exports: a standby sees the same changes, and
sums over replicas would count each run twice. What ended while no replica led is not counted.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_wire import times
from torpor_wire.state import TERMINAL, State

from torpor_operator.observability.label_budget import OTHER, LabelBudget

_SECONDS = (1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0, 4 * 3600.0, 12 * 3600.0, 24 * 3600.0, 7 * 24 * 3600.0)
_QUEUED = (0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0)
_OF_RUN = ("namespace", "template", "schedule")
_RUN_STATES = frozenset({"Pending", "Running", "Suspended", "Cancelling", "Finishing", "Succeeded", "Failed"})

T = TypeVar("T")
FindWorkflow = Callable[[TaskRun], Workflow | None]


class SeenRun(NamedTuple):
    """What is counted of a Workflow."""

    uid: str
    labels: tuple[str, ...]
    ended: bool


class WorkloadMetrics:
    """Counts runs and TaskRuns as the cache reports them. A listener of the cache."""

    def __init__(
        self,
        registry: CollectorRegistry,
        *,
        now: Callable[[], float],
        is_leader: Callable[[], bool],
        find_workflow: FindWorkflow,
        budget: LabelBudget | None = None,
    ) -> None:
        self._now = now
        self._is_leader = is_leader
        self._find_workflow = find_workflow
        self.on_run_ended: list[Callable[[Workflow], None]] = []
        self.on_taskrun_ended: list[Callable[[TaskRun, Workflow], None]] = []
        self._budget = budget or LabelBudget()
        self._runs: dict[tuple[str, str], SeenRun] = {}
        self._runs_by_state: Tally[tuple[str, ...]] = Tally()
        self._taskruns: dict[str, tuple[str, str]] = {}  # namespace and state by uid
        self._taskruns_by_state: Tally[tuple[str, str]] = Tally()
        self._scheduled: dict[str, float] = {}  # by uid: since when
        self._run_seconds = self._histogram(
            registry, "run_duration", "From the start of a run to its end.", _SECONDS, "state"
        )
        self._run_queued = self._histogram(
            registry, "run_queue_duration", "From the creation of a run to its start.", _QUEUED
        )
        self._taskrun_seconds = self._histogram(
            registry, "taskrun_duration", "From the creation of a TaskRun to its end.", _SECONDS, "state"
        )
        self._taskrun_queued = self._histogram(
            registry,
            "taskrun_queue_duration",
            "From the moment that a TaskRun is due, by its creation, an event or a retry, to the claim of its pod.",
            _QUEUED,
        )
        registry.register(_StateCounts(self))

    def on_workflow(self, key: tuple[str, str], workflow: Workflow | None) -> None:
        """Count the state of a run, and observe its end."""
        if workflow is None:
            return
        former = self._runs.get(key)
        status, labels = workflow.status, self._labels(workflow)
        state = status.state if status.state in _RUN_STATES else OTHER if status.state else "Pending"
        seen = SeenRun(workflow.metadata.uid, (*labels, state), status.completion_time is not None)
        self._replace_run(key, seen)
        if former is None or former.uid != seen.uid or not self._is_leader():
            return
        if seen.ended and not former.ended and status.start_time is not None:
            for report in self.on_run_ended:
                report(workflow)
            seconds = times.epoch(status.completion_time or "") - times.epoch(status.start_time)
            self._run_seconds.labels(*labels, state).observe(max(seconds, 0.0))
        if former.labels[-1] == "Pending" and state != "Pending" and status.start_time is not None:
            seconds = times.epoch(status.start_time) - times.epoch(workflow.metadata.creation_timestamp)
            self._run_queued.labels(*labels).observe(max(seconds, 0.0))

    def on_workflow_dropped(self, key: tuple[str, str], workflow: Workflow | None) -> None:  # noqa: ARG002
        """Forget a run."""
        self._replace_run(key, None)

    def on_taskrun(self, taskrun: TaskRun, former: TaskRun | None) -> None:
        """Count the state of a TaskRun, and observe its claim and its end."""
        uid, state = taskrun.metadata.uid, taskrun.status.state
        known = self._taskruns.get(uid)
        self._replace_taskrun(uid, (taskrun.metadata.namespace, state.value))
        if state is State.SCHEDULED and (known is None or known[1] != state):
            self._scheduled[uid] = _due(taskrun, former, self._now())
            return
        since = self._scheduled.pop(uid, None) if state is not State.SCHEDULED else None
        if known is None or taskrun.spec.schedule is not None or not self._is_leader():
            return
        if state is State.RUNNING and since is not None:
            self._taskrun_queued.labels(*self._labels(self._find_workflow(taskrun), taskrun)).observe(
                max(self._now() - since, 0.0)
            )
        if state in TERMINAL and known[1] not in TERMINAL and taskrun.status.completion_time is not None:
            seconds = times.epoch(taskrun.status.completion_time) - times.epoch(taskrun.metadata.creation_timestamp)
            workflow = self._find_workflow(taskrun)
            if workflow is not None:
                for report in self.on_taskrun_ended:
                    report(taskrun, workflow)
            labels = self._labels(workflow, taskrun)
            self._taskrun_seconds.labels(*labels, state.value).observe(max(seconds, 0.0))

    def on_taskrun_dropped(self, taskrun: TaskRun) -> None:
        """Forget a TaskRun."""
        self._replace_taskrun(taskrun.metadata.uid, None)
        self._scheduled.pop(taskrun.metadata.uid, None)

    def on_pod(self, taskrun: TaskRun, pod: object, former: object) -> None:
        """Do nothing."""

    def on_orphaned_pod(self, pod: object) -> None:
        """Do nothing."""

    def counts(self) -> tuple[Tally[tuple[str, ...]], Tally[tuple[str, str]]]:
        """The number of runs by labels and state, and of TaskRuns by namespace and state; empty in a standby."""
        return (self._runs_by_state, self._taskruns_by_state) if self._is_leader() else (Tally(), Tally())

    def _replace_run(self, key: tuple[str, str], seen: SeenRun | None) -> None:
        former = self._runs.pop(key, None)
        if former is not None:
            _decrement(self._runs_by_state, former.labels)
        if seen is not None:
            self._runs[key] = seen
            self._runs_by_state[seen.labels] += 1

    def _replace_taskrun(self, uid: str, seen: tuple[str, str] | None) -> None:
        former = self._taskruns.pop(uid, None)
        if former is not None:
            _decrement(self._taskruns_by_state, former)
        if seen is not None:
            self._taskruns[uid] = seen
            self._taskruns_by_state[seen] += 1

    def _labels(self, workflow: Workflow | None, taskrun: TaskRun | None = None) -> tuple[str, ...]:
        if workflow is None:
            return self._budget.admit(taskrun.metadata.namespace if taskrun else "", ("", ""))
        spec = workflow.spec
        template = spec.template_ref.name if spec.template_ref else ""
        schedule = spec.run_of.schedule if spec.run_of else ""
        return self._budget.admit(workflow.metadata.namespace, (template, schedule))

    @staticmethod
    def _histogram(
        registry: CollectorRegistry, name: str, text: str, buckets: tuple[float, ...], *more: str
    ) -> Histogram:
        return Histogram(f"torpor_{name}_seconds", text, (*_OF_RUN, *more), buckets=buckets, registry=registry)


def _due(taskrun: TaskRun, former: TaskRun | None, now: float) -> float:
    """Since when a TaskRun is due. The API server writes the creation in whole seconds, so it lies in the second after.

    A TaskRun that was not seen before may have been due for long.
    """
    if former is not None and former.metadata.uid == taskrun.metadata.uid:
        return now
    status = taskrun.status
    since = status.fired_at if status.segment else status.retry_at if status.attempt > 1 else None
    if since is not None:
        return min(times.epoch(since), now)
    created = times.epoch(taskrun.metadata.creation_timestamp) if taskrun.metadata.creation_timestamp else now
    return max(created, min(now, created + 1.0))


def _decrement(counts: Tally[T], key: T) -> None:
    counts[key] -= 1
    if counts[key] <= 0:
        del counts[key]


class _StateCounts(Collector):
    def __init__(self, metrics: WorkloadMetrics) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        runs, taskruns = self._metrics.counts()
        family = GaugeMetricFamily("torpor_runs", "Workflows by state.", labels=(*_OF_RUN, "state"))
        for labels, count in runs.items():
            family.add_metric(labels, count)
        yield family
        family = GaugeMetricFamily("torpor_taskruns", "TaskRuns by state.", labels=("namespace", "state"))
        for state, count in taskruns.items():
            family.add_metric(state, count)
        yield family

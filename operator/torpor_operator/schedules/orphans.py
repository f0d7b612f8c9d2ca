"""Reports TaskRuns that name a Schedule which has no such source: the operator ignores them."""

from collections.abc import Iterator
from typing import Never

from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.timing import Clock
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator.controller.workqueue import Key
from torpor_operator.schedules.cache import ScheduleCache
from torpor_operator.schedules.executor import ScheduleExecutor
from torpor_operator.taskrun import builder
from torpor_operator.workflows.cache import ClusterCache

_REPORTS_PER_ROUND = 50


class OrphanedSources:
    """Reports each orphan once, after it was found in two rounds, `grace` seconds apart."""

    def __init__(self, cluster: ClusterCache, cache: ScheduleCache, clock: Clock, grace: float) -> None:
        self._cluster = cluster
        self._cache = cache
        self._clock = clock
        self._grace = grace

    async def run(self, executor: ScheduleExecutor) -> Never:
        """Report, while this replica leads."""
        found_before = set[str]()
        while True:
            await self._clock.sleep(self._grace)
            orphans = {run.metadata.uid: run for run in self._orphans()}
            for uid in list(orphans.keys() & found_before)[:_REPORTS_PER_ROUND]:
                await executor.report_orphan(orphans[uid], self._message(orphans[uid]))
            found_before = set(orphans)

    def _orphans(self) -> Iterator[TaskRun]:
        for run in self._cluster.taskruns.store.values():
            ended = run.status.state in TERMINAL or run.metadata.deletion_timestamp is not None
            is_reported = ended or run.status.reason == Reason.UNOWNED
            if run.spec.schedule is not None and not is_reported and self._problem(run):
                yield run

    def _message(self, run: TaskRun) -> str:
        return f"{self._problem(run)}. Torpor ignores this TaskRun; delete it"

    def _problem(self, run: TaskRun) -> str:
        owner, source = run.spec.owner, run.spec.task
        schedule = self._cache.get(Key(run.metadata.namespace, owner.name))
        if schedule is None:
            return f"Schedule {owner.name} does not exist in this namespace"
        if schedule.metadata.uid != owner.uid:
            return f"Schedule {owner.name} has another uid: {schedule.metadata.uid}"
        if not builder.is_named_for_its_spec(run):
            return f"the TaskRun of source {source} of Schedule {owner.name} has another name"
        return ""

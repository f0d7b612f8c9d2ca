"""The TaskRuns that name a Schedule which has no such source."""

from collections.abc import Iterator

from torpor_crds.models.taskrun import TaskRun
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL

from torpor_operator.controller.cluster_cache import ClusterCache
from torpor_operator.controller.workqueue import owner_key
from torpor_operator.schedules.cache import ScheduleCache
from torpor_operator.taskrun import builder


class OrphanedSources:
    """The TaskRuns of sources that belong to no Schedule."""

    def __init__(self, cluster: ClusterCache, cache: ScheduleCache) -> None:
        self._cluster = cluster
        self._cache = cache

    def find(self) -> Iterator[TaskRun]:
        """The orphans that have not ended and are not reported."""
        for taskrun in self._cluster.taskruns.store.values():
            ended = taskrun.status.state in TERMINAL or taskrun.metadata.deletion_timestamp is not None
            is_reported = ended or taskrun.status.reason == Reason.UNOWNED
            if taskrun.spec.schedule is not None and not is_reported and self._problem(taskrun):
                yield taskrun

    def message(self, taskrun: TaskRun) -> str:
        """Why Torpor ignores a TaskRun."""
        return f"{self._problem(taskrun)}. Torpor ignores this TaskRun; delete it"

    def _problem(self, taskrun: TaskRun) -> str:
        owner, source = taskrun.spec.owner, taskrun.spec.task
        schedule = self._cache.objects.get(owner_key(taskrun))
        if schedule is None:
            return f"Schedule {owner.name} does not exist in this namespace"
        if schedule.metadata.uid != owner.uid:
            return f"Schedule {owner.name} has another uid: {schedule.metadata.uid}"
        if not builder.is_named_for_its_spec(taskrun):
            return f"the TaskRun of source {source} of Schedule {owner.name} has another name"
        return ""

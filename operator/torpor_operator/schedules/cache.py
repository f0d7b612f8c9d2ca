"""The Schedules, and what the plan of each reads: the TaskRuns of its sources and its runs."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torpor_crds.models import schedule as schedules
from torpor_crds.models.schedule import Schedule
from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import SCHEDULES

from torpor_operator.controller.workqueue import Key
from torpor_operator.model.actions import Need
from torpor_operator.model.snapshot import Answer, TriggerPool
from torpor_operator.quarantine.work_guard import WorkGuard
from torpor_operator.schedules.plan.snapshot import ScheduleSnapshot
from torpor_operator.settings import Settings
from torpor_operator.workflows.cache import ClusterCache

_LOG = logging.getLogger(__name__)


class ScheduleCache:
    """Schedules from a reflector, TaskRuns and runs from the cluster's cache.

    `enqueue` takes the key of a Schedule that has changed. `triggerer_pool`, `archives` and `why_not_ready` are read
    for each snapshot.
    """

    def __init__(  # noqa: PLR0913 - callbacks and what a snapshot reads
        self,
        api: Api,
        cluster: ClusterCache,
        *,
        enqueue: Callable[[Key], None],
        jitter: Callable[[], float],
        triggerer_pool: Callable[[str], TriggerPool] = lambda _: TriggerPool(),
        archives: Callable[[], bool] = lambda: False,
        why_not_ready: Callable[[str], str] = lambda _: "",
        guard: WorkGuard | None = None,
        namespaces: Sequence[str] = (),
    ) -> None:
        self._cluster = cluster
        self._enqueue = enqueue
        self._triggerer_pool = triggerer_pool
        self._archives = archives
        self._why_not_ready = why_not_ready
        self.schedules: Reflector[Schedule] = Reflector(
            api,
            SCHEDULES,
            (guard or WorkGuard()).reader(SCHEDULES.kind, schedules.parse),
            on_change=self._on_schedule,
            jitter=jitter,
            namespaces=namespaces,
        )

    def all_keys(self) -> list[Key]:
        """The keys of all Schedules."""
        return [_key(schedule) for schedule in self.schedules.store.values()]

    def get(self, key: Key) -> Schedule | None:
        """A Schedule by its key."""
        return self.schedules.store.get(*key)

    def enqueue_namespace(self, namespace: str) -> None:
        """Enqueue every Schedule of a namespace."""
        for key in self.all_keys():
            if key.namespace == namespace:
                self._enqueue(key)

    def absorb(self, stored: dict[str, Any]) -> None:
        """Take in the API server's answer to a write."""
        self.schedules.store.absorb(stored)

    def snapshot(
        self, key: Key, known: Mapping[Need, Answer], refused: Mapping[str, str], settings: Settings, now: float
    ) -> ScheduleSnapshot | None:
        """The Schedule and its objects, or None if there is no such Schedule, or it cannot be read."""
        schedule = self.schedules.store.get(*key)
        if schedule is None or self.schedules.store.unreadable(*key) is not None:
            return None
        uid = schedule.metadata.uid
        return ScheduleSnapshot(
            schedule=schedule,
            taskruns={run.spec.task: run for run in self._sources(key, uid)},
            runs=tuple(
                run
                for run in self._cluster.runs_of(uid)
                if run.metadata.namespace == key.namespace and run.spec.run_of and run.spec.run_of.backfill is None
            ),
            known=known,
            settings=settings,
            now=now,
            pools=self._triggerer_pool,
            archives=self._archives(),
            not_ready=self._why_not_ready(key.namespace),
            refused=refused,
        )

    def _sources(self, key: Key, uid: str) -> list[TaskRun]:
        taskruns = self._cluster.taskruns.store
        return [
            run
            for run in taskruns.indexed(uid)
            if run.metadata.namespace == key.namespace
            and run.spec.schedule is not None
            and taskruns.unreadable(key.namespace, run.metadata.name) is None
        ]

    def _on_schedule(self, change: Notice[Schedule]) -> None:
        if isinstance(change, Unreadable):
            _LOG.warning("cannot read Schedule %s/%s: %s", change.namespace, change.name, change.message)
        self._enqueue(Key(change.namespace, change.name))


def _key(schedule: Schedule) -> Key:
    return Key(schedule.metadata.namespace, schedule.metadata.name)

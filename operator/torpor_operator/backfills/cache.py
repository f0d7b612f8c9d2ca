"""The Backfills, and what the plan of each reads from memory: its Schedule and the runs of that."""

from collections.abc import Callable, Iterator
from typing import Any, Protocol

from torpor_crds.models import backfill as backfills
from torpor_crds.models.backfill import Backfill
from torpor_crds.models.schedule import Schedule
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.cache.store import Unreadable
from torpor_kubernetes.client.resources import BACKFILLS

from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.reflected_objects import ReflectedObjects
from torpor_operator.controller.workqueue import Key, WorkQueue, key_of


class ScheduleLookup(Protocol):
    """Where Backfills find their Schedules, as in the cache of Schedules."""

    def find(self, key: Key) -> Schedule | Unreadable | None:
        """The Schedule, why it cannot be read, or None if it does not exist."""

    def follow(self, follower: Callable[[Key], None]) -> None:
        """Call `follower` with the key of each Schedule that changes, or an object of which does."""


class BackfillCache:
    """Backfills from a reflector; Schedules and runs from the caches of the other controllers.

    It enqueues a Backfill when the Backfill, its Schedule or a run of that has changed.
    """

    def __init__(self, context: ControllerContext, schedules: ScheduleLookup, queue: WorkQueue) -> None:
        self._cluster = context.cluster
        self._schedules = schedules
        self._queue = queue
        self.objects = ReflectedObjects(context, BACKFILLS, backfills.parse, queue.add, index=_by_schedule)
        schedules.follow(self._enqueue_schedule)

    def get(self, key: Key) -> Backfill | None:
        """The Backfill, unless it is gone, being deleted, or cannot be read."""
        backfill = self.objects.find(key)
        if backfill is None or isinstance(backfill, Unreadable):
            return None
        return None if backfill.metadata.deletion_timestamp is not None else backfill

    def schedule_of(self, backfill: Backfill) -> Schedule | Unreadable | None:
        """The Schedule of a Backfill, why it cannot be read, or None if it does not exist."""
        return self._schedules.find(Key(backfill.metadata.namespace, backfill.spec.schedule))

    def runs_of(self, schedule: Schedule) -> Iterator[Workflow]:
        """The runs of a Schedule, with those of all its Backfills."""
        runs = self._cluster.runs_of(schedule.metadata.uid)
        return (run for run in runs if run.metadata.namespace == schedule.metadata.namespace)

    def absorb_run(self, stored: dict[str, Any]) -> str | None:
        """Take in the API server's answer about a run. Returns why it cannot be read, or None if it can."""
        return self._cluster.store_workflow(stored)

    def _enqueue_schedule(self, schedule: Key) -> None:
        """Enqueue the Backfills of a Schedule that have not ended: the Schedule or a run of it has changed."""
        for backfill in self.objects.indexed(_word(*schedule)):
            if backfill.status.completion_time is None:
                self._queue.add(key_of(backfill.metadata))


def _by_schedule(backfill: Backfill) -> tuple[str, ...]:
    return (_word(backfill.metadata.namespace, backfill.spec.schedule),)


def _word(namespace: str, schedule: str) -> str:
    return f"{namespace}/{schedule}"

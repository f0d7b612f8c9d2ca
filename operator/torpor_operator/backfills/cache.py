"""The Backfills, and what the plan of each reads from memory: its Schedule and the runs of that."""

import logging
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from torpor_crds.models import backfill as backfills
from torpor_crds.models.backfill import Backfill
from torpor_crds.models.schedule import Schedule
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client.resources import BACKFILLS

from torpor_operator.controller.context import ControllerContext
from torpor_operator.controller.workqueue import Key, WorkQueue, key_of

_LOG = logging.getLogger(__name__)


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
        self.backfills: Reflector[Backfill] = Reflector(
            context.api,
            BACKFILLS,
            context.guard.reader(BACKFILLS.kind, backfills.parse),
            on_change=self._on_backfill,
            index=_by_schedule,
            jitter=context.jitter,
            namespaces=context.settings.namespaces,
        )
        schedules.follow(self._enqueue_schedule)

    def all_keys(self) -> list[Key]:
        """The keys of all Backfills."""
        return [key_of(backfill.metadata) for backfill in self.backfills.store.values()]

    def enqueue_namespace(self, namespace: str) -> None:
        """Enqueue every Backfill of a namespace."""
        for key in self.all_keys():
            if key.namespace == namespace:
                self._queue.add(key)

    def get(self, key: Key) -> Backfill | None:
        """The Backfill, unless it is gone, being deleted, or cannot be read."""
        backfill = self.backfills.store.get(*key)
        if backfill is None or self.backfills.store.unreadable(*key) is not None:
            return None
        return None if backfill.metadata.deletion_timestamp is not None else backfill

    def schedule_of(self, backfill: Backfill) -> Schedule | Unreadable | None:
        """The Schedule of a Backfill, why it cannot be read, or None if it does not exist."""
        return self._schedules.find(Key(backfill.metadata.namespace, backfill.spec.schedule))

    def runs_of(self, schedule: Schedule) -> Iterator[Workflow]:
        """The runs of a Schedule, with those of all its Backfills."""
        runs = self._cluster.runs_of(schedule.metadata.uid)
        return (run for run in runs if run.metadata.namespace == schedule.metadata.namespace)

    def absorb(self, stored: dict[str, Any]) -> None:
        """Take in the API server's answer to a write of a Backfill."""
        self.backfills.store.absorb(stored)

    def absorb_run(self, stored: dict[str, Any]) -> str | None:
        """Take in the API server's answer about a run. Returns why it cannot be read, or None if it can."""
        return self._cluster.store_workflow(stored)

    def _enqueue_schedule(self, schedule: Key) -> None:
        """Enqueue the Backfills of a Schedule that have not ended: the Schedule or a run of it has changed."""
        for backfill in self.backfills.store.indexed(_word(*schedule)):
            if backfill.status.completion_time is None:
                self._queue.add(key_of(backfill.metadata))

    def _on_backfill(self, change: Notice[Backfill]) -> None:
        if isinstance(change, Unreadable):
            _LOG.warning("cannot read Backfill %s/%s: %s", change.namespace, change.name, change.message)
        self._queue.add(Key(change.namespace, change.name))


def _by_schedule(backfill: Backfill) -> tuple[str, ...]:
    return (_word(backfill.metadata.namespace, backfill.spec.schedule),)


def _word(namespace: str, schedule: str) -> str:
    return f"{namespace}/{schedule}"

"""The loop of a reconciler: takes keys from a queue, reconciles each object, and schedules its next pass.

An error of one object is logged and retried with backoff, while the others go on. Must not know what a pass does.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine
from typing import Any, Generic, Never, Protocol, TypeVar

from torpor_kubernetes.cache.reflector import Reflector
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import Resource
from torpor_kubernetes.timing import Clock
from torpor_wire.retry import Backoff

from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.quarantine.object_ref import ObjectRef
from torpor_operator.quarantine.work_guard import WorkGuard

_LOG = logging.getLogger(__name__)
_PAUSE = 1.0


class Memo(Protocol):
    """What a reconciler keeps of an object between two passes. Losing it costs requests, nothing else."""

    failures: int
    """Failed passes in a row."""
    cooldown_until: float
    """Monotonic time before which the object is not reconciled again."""


M = TypeVar("M", bound=Memo)


class ReconcileLoop(Generic[M]):
    """Reconciles the objects of one kind, `workers` of them at a time. `resync` is in seconds."""

    def __init__(  # noqa: PLR0913 - dependencies
        self,
        resource: Resource,
        objects: Reflector[Any],
        queue: WorkQueue,
        memo: Callable[[], M],
        *,
        clock: Clock,
        reporter: UnreadableReporter,
        resync: float,
        workers: int,
        backoff: Backoff,
        jitter: Callable[[], float],
        guard: WorkGuard | None = None,
    ) -> None:
        self._resource = resource
        self._objects = objects
        self._queue = queue
        self._memos = defaultdict[Key, M](memo)
        self._clock = clock
        self._reporter = reporter
        self._resync_seconds = resync
        self._workers = workers
        self._backoff = backoff
        self._jitter = jitter
        self._guard = guard or WorkGuard()

    async def run(
        self,
        reconcile: Callable[[Key, M], Coroutine[Any, Any, float | None]],
        *beside: Callable[[], Coroutine[Any, Any, Never]],
    ) -> Never:
        """Run until cancelled, with other loops beside.

        `reconcile` returns when the next pass is due unless a change comes first; None leaves it to changes.
        """
        await self._refresh()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._resync())
            for loop in beside:
                group.create_task(loop())
            for _ in range(self._workers):
                group.create_task(self._work(reconcile))
        raise AssertionError("the loops do not end")

    def retry_time(self, memo: M) -> float:
        """Count a failed pass, and return when the next one is due."""
        memo.failures += 1
        return self._clock.now() + self._backoff.delay(memo.failures, self._jitter())

    async def _refresh(self) -> None:
        """List the objects. The former leader may have stored a status a moment ago."""
        while True:
            try:
                await self._objects.refresh()
            except errors.ApiError as error:
                _LOG.warning("cannot list %s: %s", self._resource.plural, error.message)
                await self._clock.sleep(_PAUSE)
            else:
                return

    async def _resync(self) -> Never:
        """Enqueue every object now, and from time to time."""
        while True:
            for one in self._objects.store.values():
                self._queue.add(Key(one.metadata.namespace, one.metadata.name))
            await self._clock.sleep(self._resync_seconds)

    async def _work(self, reconcile: Callable[[Key, M], Coroutine[Any, Any, float | None]]) -> Never:
        while True:
            key = await self._queue.get()
            memo = self._memos[key]
            try:
                await self._process(key, memo, reconcile)
            finally:
                self._queue.done(key, cooldown_until=memo.cooldown_until)

    async def _process(
        self, key: Key, memo: M, reconcile: Callable[[Key, M], Coroutine[Any, Any, float | None]]
    ) -> None:
        """Reconcile an object and schedule its next pass; a failure delays this object alone."""
        unreadable = self._objects.store.unreadable(*key)
        if unreadable is not None:
            await self._reporter.report(unreadable.raw, unreadable.message, self._resource)
            return
        stored = self._objects.store.get(*key)
        ref = ObjectRef(self._resource.kind, *key, stored.metadata.uid if stored is not None else "")
        try:
            due = await self._guard.reconcile(self._resource, ref, lambda: reconcile(key, memo))
        except errors.ApiError as error:
            _LOG.warning("%s %s/%s: %s", self._resource.kind, *key, error.message)
            due = self.retry_time(memo)
        except Exception:  # noqa: BLE001 - a task boundary: one object never stops the others
            _LOG.exception("%s %s/%s: unexpected error; retrying later", self._resource.kind, *key)
            due = self.retry_time(memo)
        if self._objects.store.get(*key) is None:
            self._memos.pop(key, None)
        elif due is not None:
            self._queue.add_at(key, due)

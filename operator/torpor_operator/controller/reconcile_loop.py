"""The reconcile loop of every kind: takes keys from a queue, reconciles each object, and schedules its next pass.

An error of one object is logged and retried with backoff, while the others go on. A pass that waits for long lets
others run. Must not know what a pass does.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from contextlib import AbstractContextManager
from typing import Any, Generic, Never, Protocol, TypeAlias, TypeVar

from torpor_kubernetes.cache.store import Unreadable
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import WORKFLOWS, Resource
from torpor_kubernetes.log_setup import log_fields
from torpor_kubernetes.timing import Clock
from torpor_wire.retry import Backoff

from torpor_operator.controller.unreadable_objects import UnreadableReporter
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.observability.loop_metrics import plan_timer
from torpor_operator.quarantine.object_ref import ObjectRef
from torpor_operator.quarantine.work_guard import WorkGuard

T = TypeVar("T")
Loop: TypeAlias = Callable[[], Coroutine[Any, Any, None]]
"""Runs until it is cancelled."""
_LOG = logging.getLogger(__name__)
_PAUSE = 1.0


class PassMemory(Protocol):
    """What a reconciler keeps of an object between two passes. Losing it costs time and requests, nothing else."""

    failures: int
    """Failed passes in a row."""
    cooldown_until: float
    """Monotonic time before which the object is not reconciled again."""


class ObjectSource(Protocol):
    """The objects of one kind."""

    resource: Resource

    def keys(self) -> Iterable[Key]:
        """The keys of all objects, in the order in which a new leader reconciles those of one namespace."""

    def uid(self, key: Key) -> str | None:
        """The uid of an object, or None if it is gone."""

    def unreadable(self, key: Key) -> Unreadable | None:
        """Why an object cannot be read, or None if it can."""

    async def refresh(self) -> None:
        """List the objects again. Raises errors.ApiError."""

    async def drop_deleted(self) -> None:
        """Drop the objects whose deletion was missed. Raises errors.ApiError."""


M = TypeVar("M", bound=PassMemory)


class ReconcileLoop(Generic[M]):
    """Reconciles the objects of one kind, `workers` of them at a time. `resync` is in seconds.

    `serves` tells whether this installation works in a namespace; its objects are enqueued when that changes.
    `on_failure` takes the key of an object whose pass failed.
    """

    def __init__(  # noqa: PLR0913 - dependencies
        self,
        objects: ObjectSource,
        queue: WorkQueue,
        memory: Callable[[], M],
        *,
        clock: Clock,
        reporter: UnreadableReporter,
        resync: float,
        workers: int,
        backoff: Backoff,
        jitter: Callable[[], float],
        guard: WorkGuard,
        serves: Callable[[str], bool] = lambda _: True,
        on_failure: Callable[[Key], None] = lambda _: None,
    ) -> None:
        self._objects = objects
        self._queue = queue
        self._memories = defaultdict[Key, M](memory)
        self._clock = clock
        self._reporter = reporter
        self._resync_seconds = resync
        self._workers = asyncio.Semaphore(workers)
        self._backoff = backoff
        self._jitter = jitter
        self._guard = guard
        self._serves = serves
        self._on_failure = on_failure

    async def run(self, reconcile: Callable[[Key, M], Coroutine[Any, Any, float | None]], *beside: Loop) -> Never:
        """Run until cancelled, with other loops beside.

        `reconcile` returns when the next pass is due unless a change comes first; None leaves it to changes.
        """
        await self._refresh()
        self._queue.begin(self._objects.keys())
        async with asyncio.TaskGroup() as group:
            group.create_task(self._resync())
            for loop in beside:
                group.create_task(loop())
            while True:
                key = await self._queue.get()
                await self._workers.acquire()
                group.create_task(self._process(key, reconcile))

    async def let_others_run(self, work: Awaitable[T]) -> T:
        """Await what may take long, such as an expression, or the turn to write. Other objects are reconciled then."""
        self._workers.release()
        try:
            return await work
        finally:
            await self._workers.acquire()

    def plan_timer(self) -> AbstractContextManager[None]:
        """Measures the duration of a plan."""
        return plan_timer(self._queue.metrics, self._clock.monotonic)

    def retry_time(self, memory: M) -> float:
        """Count a failed pass, and return when the next one is due."""
        memory.failures += 1
        return self._clock.now() + self._backoff.delay(memory.failures, self._jitter())

    async def _refresh(self) -> None:
        while True:
            try:
                await self._objects.refresh()
            except errors.ApiError as error:
                _LOG.warning("cannot list %s: %s", self._objects.resource.plural, error.message)
                await self._clock.sleep(_PAUSE)
            else:
                return

    async def _resync(self) -> Never:
        """Enqueue every object from time to time: a change may be missed, or a clock wrong."""
        while True:
            await self._clock.sleep(self._resync_seconds)
            try:
                await self._objects.drop_deleted()
            except errors.ApiError as error:
                _LOG.warning("cannot list %s: %s", self._objects.resource.plural, error.message)
            for key in list(self._objects.keys()):
                self._queue.add(key)

    async def _process(self, key: Key, reconcile: Callable[[Key, M], Coroutine[Any, Any, float | None]]) -> None:
        memory = self._memories[key]
        started, failures = self._clock.monotonic(), memory.failures
        try:
            with log_fields(**self._log_fields(key)):
                await self._attempt(key, memory, reconcile)
        finally:
            self._queue.metrics.passed(self._clock.monotonic() - started, failed=memory.failures > failures)
            self._queue.done(key, cooldown_until=memory.cooldown_until)
            self._workers.release()

    def _log_fields(self, key: Key) -> dict[str, str]:
        """What the JSON log says of each line of a pass. `run` is the uid of a Workflow."""
        kind, uid = self._objects.resource.kind, self._objects.uid(key) or ""
        fields = {"kind": kind, "namespace": key.namespace, "name": key.name, "uid": uid}
        return fields | {"run": uid} if kind == WORKFLOWS.kind else fields

    async def _attempt(
        self, key: Key, memory: M, reconcile: Callable[[Key, M], Coroutine[Any, Any, float | None]]
    ) -> None:
        """Reconcile an object and schedule its next pass; a failure delays this object alone."""
        if not self._serves(key.namespace):
            return
        resource = self._objects.resource
        unreadable = self._objects.unreadable(key)
        if unreadable is not None:
            await self._reporter.report(unreadable.raw, unreadable.message, resource)
            return
        ref = ObjectRef(resource.kind, *key, self._objects.uid(key) or "")
        try:
            due = await self._guard.reconcile(resource, ref, lambda: reconcile(key, memory))
        except Exception as error:  # noqa: BLE001 - a task boundary: one object never stops the others
            if isinstance(error, errors.ApiError):
                _LOG.warning("%s %s/%s: %s", resource.kind, *key, error.message)
            else:
                _LOG.exception("%s %s/%s: unexpected error; retrying later", resource.kind, *key)
            self._on_failure(key)
            due = self.retry_time(memory)
        if self._objects.uid(key) is None:
            self._memories.pop(key, None)
        elif due is not None:
            self._queue.add_at(key, due)

"""Uploads finished runs to the archive beside the reconcile loop, which an upload must not delay.

Namespaces take turns, and a bounded number of runs is uploaded at a time. A failed upload is retried with back-off when
the plan of the Workflow asks for it again. Losing what is kept here costs a repeated upload, nothing else.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Never, TypeAlias

from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client import errors
from torpor_kubernetes.timing import Clock
from torpor_wire.retry import Backoff

from torpor_operator.controller.archive import NotArchivedError, SupersededError
from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.model.snapshot import ArchiveOutcome, RunArchived, RunNotArchived
from torpor_operator.state import conditions

_UPLOADS = 4
_UPLOADS_PER_NAMESPACE = 2
_CAP = 16
"""The longest pause between two uploads of a run, as a multiple of the first."""
_LOG = logging.getLogger(__name__)

StoreRun: TypeAlias = Callable[[str, str, str, str, float], Awaitable[None]]
"""`Archive.store_run`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Version:
    """A run and its completion. A clear changes both numbers of a run that ends again."""

    uid: str
    clears: int
    completed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Upload:
    """An upload that was requested or has ended."""

    version: _Version
    requested_at: float = 0.0
    failures: int = 0
    outcome: ArchiveOutcome | None = None


class ArchiveUploads:
    """Requested uploads, and the outcome of each until the status of its Workflow has it.

    `enqueue` takes the key of a Workflow whose upload has ended. `not_before` returns when the next upload of a
    namespace may begin. `on_idle` takes a namespace whose last upload has ended. `grace` is the first pause after a
    failure, in seconds.
    """

    def __init__(  # noqa: PLR0913 - callbacks
        self,
        store_run: StoreRun,
        clock: Clock,
        *,
        enqueue: Callable[[Key], None],
        grace: float,
        not_before: Callable[[str], float] = lambda _: 0.0,
        on_idle: Callable[[str], None] = lambda _: None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self._store_run = store_run
        self._clock = clock
        self._enqueue = enqueue
        self._backoff = Backoff(first=grace, cap=_CAP * grace)
        self._not_before = not_before
        self._on_idle = on_idle
        self._jitter = jitter
        self._queue = WorkQueue(clock, keys_per_namespace=_UPLOADS_PER_NAMESPACE)
        self._slots = asyncio.Semaphore(_UPLOADS)
        self._uploads: dict[Key, _Upload] = {}

    def request(self, workflow: Workflow) -> None:
        """Upload a finished Workflow, unless that is requested already."""
        key, version, now = _key(workflow), _version(workflow), self._clock.now()
        former = self._uploads.get(key)
        if former is not None and former.version == version and former.outcome is None:
            return
        failures = former.failures if former is not None and former.version == version else 0
        self._uploads[key] = _Upload(version=version, requested_at=now, failures=failures)
        # A list of Events that several runs share begins after the last of their ends.
        due = self._not_before(key.namespace)
        if due > now:
            self._queue.add_at(key, due)
        else:
            self._queue.add(key)

    def outcome(self, workflow: Workflow) -> ArchiveOutcome | None:
        """The outcome of the last upload of the run since its completion; None while there is none to store."""
        key = _key(workflow)
        upload = self._uploads.get(key)
        if upload is None or upload.version != _version(workflow):
            return None
        if conditions.is_archived(workflow) and upload.outcome is not None:
            del self._uploads[key]
            return None
        return upload.outcome

    def forget(self, key: Key) -> None:
        """Forget a Workflow that is gone."""
        self._uploads.pop(key, None)

    async def run(self) -> Never:
        """Upload what is requested, forever."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self._slots.acquire()
                key = await self._queue.get()
                group.create_task(self._process(key))

    async def _process(self, key: Key) -> None:
        try:
            upload = self._uploads.get(key)
            if upload is not None and upload.outcome is None:
                await self._attempt(key, upload)
        finally:
            self._queue.done(key)
            self._slots.release()
            if not self._is_pending(key.namespace):
                self._on_idle(key.namespace)

    def _is_pending(self, namespace: str) -> bool:
        return any(key.namespace == namespace and upload.outcome is None for key, upload in self._uploads.items())

    async def _attempt(self, key: Key, upload: _Upload) -> None:
        version = upload.version
        try:
            await self._store_run(*key, version.uid, version.completed, upload.requested_at)
        except SupersededError:
            self._end(key, upload, None)
        except NotArchivedError as error:
            self._fail(key, upload, str(error))
        except errors.ApiError as error:
            self._fail(key, upload, f"cannot read the run: {error.message}")
        except Exception:  # noqa: BLE001 - a task boundary: one run never stops the others
            _LOG.exception("%s/%s: unexpected error; archiving this run later", *key)
            self._fail(key, upload, "internal error; see the operator's log")
        else:
            self._end(key, upload, _Upload(version=version, outcome=RunArchived()))

    def _fail(self, key: Key, upload: _Upload, message: str) -> None:
        failures = upload.failures + 1
        retry_at = self._clock.now() + self._backoff.delay(failures, self._jitter())
        _LOG.warning("%s/%s: not archived: %s", *key, message)
        ended = _Upload(version=upload.version, failures=failures, outcome=RunNotArchived(message, retry_at))
        self._end(key, upload, ended)

    def _end(self, key: Key, upload: _Upload, ended: _Upload | None) -> None:
        """Store an outcome, unless the run has ended again meanwhile, and let its Workflow be reconciled."""
        if self._uploads.get(key) is upload:
            if ended is None:
                del self._uploads[key]
            else:
                self._uploads[key] = ended
        self._enqueue(key)


def _key(workflow: Workflow) -> Key:
    return Key(workflow.metadata.namespace, workflow.metadata.name)


def _version(workflow: Workflow) -> _Version:
    status = workflow.status
    return _Version(uid=workflow.metadata.uid, clears=status.clears, completed=status.completion_time or "")

"""Stores the lines that triggers logged in waits, which a triggerer sends when the waits end.

The triggerer names only the TaskRun. Its pool, its run and its task are read from the API server, so that a triggerer
writes logs of its own pool alone.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from cachetools import TTLCache
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_wire import names
from torpor_wire.enums import LogKind, LogMode
from torpor_wire.text import printable_line

from torpor_archive.auth import reviewer
from torpor_archive.auth.policy import Caller
from torpor_archive.auth.reviews import AccessReviews
from torpor_archive.errors import RefusedError, forbidden, invalid, quota_exceeded
from torpor_archive.logs.logged_pod import TaskRunOwner, parse_owner
from torpor_archive.logs.quota import LogQuota
from torpor_archive.namespaces import NamespaceFinder, NamespaceId
from torpor_archive.storage import log_store
from torpor_archive.storage.database import Database
from torpor_archive.storage.log_entry import LogOrigin, LogOutcome, LogState
from torpor_archive.storage.log_store import FinishedLog
from torpor_archive.storage.log_text import HeadAndTail

MAX_BODY = 2 * 1024**2
MAX_WAITS = 200
_CONCURRENCY = 8
_MODE_ENTRIES = 4096
_MODE_SECONDS = 3600.0
_Time = Annotated[str, Field(max_length=40, pattern=r"^[0-9T:.Z+-]*$")]
_Count = Annotated[int, Field(ge=0, le=2**31 - 1)]


class LogModes:
    """Which logs of each run are kept (`spec.logs` of its Workflow), by uid; read once for each run."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._modes: TTLCache[str, LogMode] = TTLCache(_MODE_ENTRIES, _MODE_SECONDS, api.clock.monotonic)

    async def read(self, namespace: str, name: str, uid: str) -> LogMode:
        """Return the mode of a run; all logs are kept of one that cannot be read."""
        if uid in self._modes:
            return self._modes[uid]
        try:
            workflow = await self._api.get(WORKFLOWS, namespace, name)
        except errors.ApiError:
            return LogMode.ALL
        if (workflow.get("metadata") or {}).get("uid") != uid:
            return LogMode.ALL
        mode = self._modes[uid] = LogMode.parse(_chosen(workflow.get("spec") or {}))
        return mode


def _chosen(spec: Mapping[str, Any]) -> object:
    """The mode that the spec sets, or its defaults."""
    return spec.get("logs") or (spec.get("defaults") or {}).get("logs")


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)


class WaitLogLine(_Model):
    """One line and its time."""

    at: _Time
    text: Annotated[str, Field(max_length=4096)]


class WaitLines(_Model):
    """The lines of one wait. `uid` is that of the TaskRun; `omitted` counts bytes of earlier lines."""

    taskrun: Annotated[str, Field(max_length=253)]
    uid: Annotated[str, Field(max_length=63)]
    attempt: _Count
    segment: _Count
    started: _Time = ""
    ended: _Time
    failed: bool = False
    reason: Annotated[str, Field(max_length=63)] = ""
    lines: Annotated[tuple[WaitLogLine, ...], Field(max_length=1000)]
    omitted: _Count = 0


class _WaitBatch(_Model):
    waits: Annotated[tuple[WaitLines, ...], Field(max_length=MAX_WAITS)]


class WaitLogs:
    """Checks and stores batches of waits."""

    def __init__(  # noqa: PLR0913 - the parts that main() builds
        self,
        database: Database,
        reviews: AccessReviews,
        namespaces: NamespaceFinder,
        api: Api,
        *,
        modes: LogModes,
        quota: LogQuota,
    ) -> None:
        self._namespaces = namespaces
        self._quota = quota
        self._database = database
        self._reviews = reviews
        self._api = api
        self._modes = modes

    async def store(self, caller: Caller, namespace: str, body: Any) -> int:
        """Store the lines, and return of how many waits. Raises RefusedError (400, 403, 503, 507).

        A wait whose TaskRun is gone, or whose run keeps no such logs, is left out.
        """
        try:
            batch = _WaitBatch.model_validate(body)
        except ValidationError as error:
            raise RefusedError(invalid(f"invalid waits: {error.errors()[0]['msg']}")) from error
        if await self._quota.is_exceeded(await self._namespaces.current(namespace)):
            raise RefusedError(quota_exceeded(self._quota.message(namespace)))
        limit = asyncio.Semaphore(_CONCURRENCY)
        prepared = await asyncio.gather(*(self._prepare(caller, namespace, each, limit) for each in batch.waits))
        finished = [each for each in prepared if each is not None]
        if finished:
            await log_store.finish(self._database, finished, self._api.clock.now())
        return len(finished)

    async def _prepare(
        self, caller: Caller, namespace: str, wait: WaitLines, limit: asyncio.Semaphore
    ) -> FinishedLog | None:
        async with limit:
            owner = await self._owner(namespace, wait)
            if owner is None:
                return None
            if not await self._reviews.is_allowed(caller, "fire", "triggerpools", namespace, owner.pool):
                raise RefusedError(forbidden(f"{caller.user} may not `fire` pool {owner.pool}"))
            mode = await self._modes.read(namespace, owner.workflow_name, owner.workflow)
            if not mode.keeps(failed=wait.failed):
                return None
            return _finished(await self._namespaces.of_object(namespace, owner.created), wait, owner)

    async def _owner(self, namespace: str, wait: WaitLines) -> TaskRunOwner | None:
        if not names.is_object_name(wait.taskrun):
            return None
        try:
            taskrun = await self._api.get(TASKRUNS, namespace, wait.taskrun)
        except errors.NotFound:
            return None
        except errors.ApiError as error:
            raise RefusedError(reviewer.unavailable(error)) from error
        owner = parse_owner(taskrun)
        return owner if owner is not None and owner.uid == wait.uid else None


def _finished(namespace: NamespaceId, wait: WaitLines, owner: TaskRunOwner) -> FinishedLog:
    source = LogOrigin(
        id=f"{wait.uid}.a{wait.attempt}.s{wait.segment}",
        namespace=namespace.name,
        namespace_uid=namespace.uid,
        workflow=owner.workflow,
        taskrun=wait.taskrun,
        task=owner.task,
        path=owner.path,
        attempt=wait.attempt,
        segment=wait.segment,
        launch=0,
        kind=LogKind.WAIT,
        started=wait.started or wait.ended,
    )
    text = HeadAndTail()
    text.feed(_text(wait.lines))
    stored = text.finish()
    outcome = LogOutcome(
        state=LogState.KEPT,
        reason=wait.reason,
        failed=wait.failed,
        ended=wait.ended,
        size=stored.size + wait.omitted,
        omitted=stored.omitted + wait.omitted,
    )
    return FinishedLog(source=source, outcome=outcome, text=stored)


def _text(lines: Sequence[WaitLogLine]) -> bytes:
    return b"".join(f"{line.at} {printable_line(line.text)}\n".encode() for line in lines)

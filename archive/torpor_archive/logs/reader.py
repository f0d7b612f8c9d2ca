"""Reads the log of one pod through the API server, into the database's share of it and into the object store.

A failed request is repeated once. What cannot be read is Lost, with the reason; the collector tries again later if the
node did not answer.
"""

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Protocol, TypeAlias

from cachetools import TTLCache
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import PODS
from torpor_kubernetes.timing import Clock
from torpor_wire.retry import Backoff

from torpor_archive.logs.logged_pod import LoggedPod, LogStage
from torpor_archive.logs.objects import LogBucket, ObjectsError, ObjectWriter
from torpor_archive.storage.log_entry import LogOrigin, LogOutcome, LogState
from torpor_archive.storage.log_store import NODE_LOST, FinishedLog
from torpor_archive.storage.log_text import HEAD, LINE, TAIL, HeadAndTail, StoredText

LIMIT = 256 * 1024**2
"""Bytes that are read of one log. A node keeps 10 MiB by default (`containerLogMaxSize`)."""
READ_SECONDS = 60.0
FOLLOW_SECONDS = 120.0
"""A pod that is being deleted has ten seconds to end, and its node may be slow."""
START_SECONDS = 30.0
"""How long a pod that is being deleted may take to report that its container started."""
END_SECONDS = 30.0
"""How long the node may take to report the end of a container whose log has ended."""
STATUS_SECONDS = 0.25
TRIES = 2
LOST_NODE_SECONDS = 30.0
"""Seconds without requests to a node that did not answer, since each request may take 30 s."""
RETRY = Backoff(first=1.0, cap=4.0, jitter=0.0)
_TIMED = re.compile(rb"\d{4}-\d{2}-\d{2}T\S+ ")
_MESSAGE = 400

log = logging.getLogger(__name__)


Charge: TypeAlias = Callable[[int], bool]
"""Adds bytes to what the namespace stores, or subtracts them. Returns False if that exceeds the quota."""


def _unlimited(_size: int) -> bool:
    return True


class LogTransport(Protocol):
    """Streams a response of the API server."""

    def chunks(self, path: str, *, query: Mapping[str, str], seconds: float) -> AsyncGenerator[bytes, None]:
        """Yield the body. Raises errors.ApiError."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LostLog:
    """Why a log cannot be read.

    `is_final`: another try is useless. `is_of_node`: the node sends no other log either.
    """

    reason: str
    message: str
    is_final: bool = True
    is_of_node: bool = False


class PodLogReader:
    """Reads logs; without `objects`, the middle of a long one is omitted."""

    def __init__(self, transport: LogTransport, clock: Clock, objects: LogBucket | None) -> None:
        self._transport = transport
        self._clock = clock
        self._objects = objects
        self._lost_nodes: TTLCache[str, LostLog] = TTLCache(1000, LOST_NODE_SECONDS, clock.monotonic)

    async def read(
        self,
        pod: LoggedPod,
        source: LogOrigin,
        latest: Callable[[], LoggedPod],
        charge: Charge = _unlimited,
        share: int = 1,
    ) -> FinishedLog:
        """Read the log of a pod, to its end if the pod still runs. `latest` returns the pod's last known version.

        `charge` gets the bytes that go to the object store while they are written. `share`: how many logs have the
        bytes of one.
        """
        if pod.stage is LogStage.EMPTY:
            return FinishedLog(source=source, outcome=pod.outcome())
        lost = self._lost_nodes.get(pod.node)
        if lost is not None:
            return _lost(pod, source, lost)
        async with AsyncExitStack() as uploads:
            return await self._read(pod, source, latest, lambda: self._text(source, charge, share, uploads))

    def _text(self, source: LogOrigin, charge: Charge, share: int, uploads: AsyncExitStack) -> "_Text":
        text = _Text(self._objects, source, charge, share)
        uploads.push_async_callback(text.abort)
        return text

    async def _read(
        self, pod: LoggedPod, source: LogOrigin, latest: Callable[[], LoggedPod], new_text: Callable[[], "_Text"]
    ) -> FinishedLog:
        failures = 0
        while True:
            text = new_text()
            lost = await self._receive(pod, text)
            if lost is None:
                await self._wait_for_end(pod, latest)
                return await text.finished(pod.outcome())
            if lost.reason == "LogUnavailable" and not pod.has_started:
                started = await self._wait_for_start(latest)
                if started is None:
                    return FinishedLog(source=source, outcome=pod.outcome())
                pod = started
                continue
            failures += 1
            if lost.is_final or failures == TRIES:
                break
            await self._clock.sleep(RETRY.delay(failures))
        if text.size and lost.reason != "LogUnavailable":
            return await text.finished(pod.outcome(reason="Incomplete", message=lost.message))
        if lost.is_of_node:
            self._lost_nodes[pod.node] = lost
        return _lost(pod, source, lost)

    async def _wait_for_start(self, latest: Callable[[], LoggedPod]) -> LoggedPod | None:
        """Return the pod once its container has started; None if the pod ends without.

        A kubelet that is creating a container when the pod is deleted starts it, and stops it then.
        """
        for _ in range(int(START_SECONDS / STATUS_SECONDS)):
            pod = latest()
            if pod.has_started:
                return None if pod.is_unknown else pod
            if pod.ended:
                return None
            await self._clock.sleep(STATUS_SECONDS)
        return None

    async def _wait_for_end(self, pod: LoggedPod, latest: Callable[[], LoggedPod]) -> None:
        """Wait until it is known how a pod ended that was followed: its log ends before its status says so."""
        for _ in range(int(END_SECONDS / STATUS_SECONDS)):
            if pod.ended or latest().ended:
                return
            await self._clock.sleep(STATUS_SECONDS)

    async def _receive(self, pod: LoggedPod, text: "_Text") -> LostLog | None:
        """Read the log once. Returns why it failed."""
        follow = pod.stage is LogStage.FOLLOW
        query = {"container": pod.container, "timestamps": "true", "limitBytes": str(text.limit)}
        query |= {"follow": "true"} if follow else {}
        seconds = FOLLOW_SECONDS if follow else READ_SECONDS
        path = PODS.path(pod.namespace, pod.name, "log")
        try:
            async with aclosing(self._transport.chunks(path, query=query, seconds=seconds)) as chunks:
                async for chunk in chunks:
                    await text.feed(chunk)
        except errors.ApiError as error:
            return explain(error, pod)
        return text.problem()


def explain(error: errors.ApiError, pod: LoggedPod) -> LostLog:
    """Say why the request for a log failed."""
    message = error.message[:_MESSAGE]
    match error:
        case errors.NotFound():
            return LostLog(reason="PodGone", message=f"pod {pod.name} was deleted before its log was read")
        case errors.Forbidden():
            remedy = "apply manifests/namespace there"
            text = f"the archive may not read logs in namespace {pod.namespace}: {remedy}: {message}"
            return LostLog(reason="Forbidden", message=text, is_final=False)
        case errors.ApiError(status=HTTPStatus.BAD_REQUEST):
            return LostLog(reason="LogUnavailable", message=message)
        case errors.ApiError(status=0 | HTTPStatus.TOO_MANY_REQUESTS | HTTPStatus.SERVICE_UNAVAILABLE):
            text = f"the API server did not send the log from node {pod.node}: {message}"
            return LostLog(reason=NODE_LOST, message=text, is_final=False)
        case _:
            text = f"node {pod.node} did not send the log: {message}"
            return LostLog(reason=NODE_LOST, message=text, is_final=False, is_of_node=True)


def _lost(pod: LoggedPod, source: LogOrigin, lost: LostLog) -> FinishedLog:
    return FinishedLog(source=source, outcome=pod.outcome(LogState.LOST, reason=lost.reason, message=lost.message))


class _Text:
    """The text as it arrives. The object begins once the database would have to omit a part."""

    def __init__(self, objects: LogBucket | None, source: LogOrigin, charge: Charge, share: int) -> None:
        self._objects = objects
        self._charge = charge
        self._charged = 0
        self._source = source
        self._kept = HeadAndTail(HEAD // share, TAIL // share, min(LINE, TAIL // share))
        self.limit = LIMIT // share
        self._start = b""
        self._writer: ObjectWriter | None = None

    @property
    def size(self) -> int:
        return self._kept.size

    def problem(self) -> LostLog | None:
        """Why this is not a log: a node that cannot find it answers 200, with a sentence that has no time."""
        if self._start and not _TIMED.match(self._start):
            return LostLog(reason="LogUnavailable", message=self._start[:_MESSAGE].decode(errors="replace").strip())
        return None

    async def feed(self, chunk: bytes) -> None:
        if len(self._start) < _MESSAGE:
            self._start += chunk[:_MESSAGE]
        if self._objects is not None and self._writer is None and self._kept.would_omit(len(chunk)):
            self._writer = self._objects.write(self._source)
            for part in (*self._kept.held(), chunk):
                await self._write(part)
        elif self._writer is not None:
            await self._write(chunk)
        self._kept.feed(chunk)
        await asyncio.sleep(0)

    async def finished(self, outcome: LogOutcome) -> FinishedLog:
        """Return what to store: the object's name if it is complete, else the kept text."""
        text = self._kept.finish()
        if self._kept.size >= self.limit:
            outcome = replace(outcome, reason="TooLarge", message=f"the log has more than {self.limit} bytes")
        writer, self._writer = self._writer, None
        if writer is not None and await self._complete(writer):
            self._refund()
            whole = replace(outcome, size=text.size)
            return FinishedLog(
                source=self._source,
                outcome=whole,
                text=StoredText(),
                object_name=writer.name,
                object_size=writer.stored,
            )
        self._refund()
        sized = replace(outcome, size=text.size, omitted=text.omitted)
        return FinishedLog(source=self._source, outcome=sized, text=text)

    async def abort(self) -> None:
        """Abort the upload, unless it has ended."""
        self._refund()
        writer, self._writer = self._writer, None
        if writer is None:
            return
        try:
            await writer.abort()
        except ObjectsError as error:
            log.warning("cannot abort the upload of a log to the object store: %s", error)

    async def _write(self, part: bytes) -> None:
        if self._writer is None:
            return
        try:
            await self._writer.write(part)
        except ObjectsError as error:
            log.warning("cannot write a log to the object store, keeping its beginning and end: %s", error)
            self._objects = None
            await self.abort()
            return
        grown, self._charged = self._writer.stored - self._charged, self._writer.stored
        if not self._charge(grown):
            log.info("namespace %s has used its quota of logs: keeping the beginning and end", self._source.namespace)
            self._objects = None
            await self.abort()

    def _refund(self) -> None:
        """Subtract what was charged: who stores the log adds its size, and an aborted upload has none."""
        self._charge(-self._charged)
        self._charged = 0

    async def _complete(self, writer: ObjectWriter) -> bool:
        try:
            await writer.finish()
        except ObjectsError as error:
            log.warning("cannot write a log to the object store, keeping its beginning and end: %s", error)
            return False
        return True

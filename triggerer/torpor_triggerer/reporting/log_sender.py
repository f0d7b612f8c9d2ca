"""Sends the log lines of waits that ended to the archive, so that they outlive the triggerer.

Best effort: an outcome never waits for it. The queue is bounded, and what does not fit is dropped and counted. Many
waits go in one request. A wait without lines sends nothing.
"""

import asyncio
import logging
import re
from collections import deque
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from typing import Any, Never, Protocol, assert_never

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.archive import ArchiveResponse, find_endpoint
from torpor_wire import times
from torpor_wire.retry import Backoff

from torpor_triggerer.logs.trigger_log import WaitLog
from torpor_triggerer.model.deferred_taskrun import TriggerWait
from torpor_triggerer.model.outcome import Cancelled, Done, Failed, Fired, Outcome, Skipped, TimedOut

QUEUE = 2000
"""Waits of which lines are kept in memory, up to 6 kB each."""
BATCH = 100
INTERVAL = 1.0
ENDPOINT_SECONDS = 60.0
RETRY = Backoff(first=1.0, cap=15.0, jitter=0.0)
TRIES = 6
_TIME = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} ")
"""The time at the beginning of a log line, which the archive gets as a field."""

log = logging.getLogger(__name__)


class LogClient(Protocol):
    """Sends a value, as torpor_kubernetes.client.archive.ArchiveClient does."""

    async def post_json(self, endpoint: ArchiveEndpoint, path: str, body: object) -> ArchiveResponse:
        """Send it as JSON. Raises OSError if there is no response."""


class LogSender:
    """The lines to send; without `client` there is no archive."""

    def __init__(self, api: Api, namespace: str, client: LogClient | None) -> None:
        self._api = api
        self._namespace = namespace
        self._client = client
        self._queues: dict[str, deque[dict[str, Any]]] = {}
        self._filled = asyncio.Event()
        self._endpoint: ArchiveEndpoint | None = None
        self._found_at = float("-inf")
        self.dropped = 0

    def add(self, wait: TriggerWait, outcome: Outcome, wait_log: WaitLog) -> None:
        """Queue the lines of a wait that ended. The archive keeps logs by run, and a Schedule's source has none."""
        if self._client is None or wait.of_schedule or not wait_log.records:
            return
        if sum(map(len, self._queues.values())) >= QUEUE:
            self.dropped += 1
            return
        item = _item(wait, outcome, wait_log, self._api.clock.now())
        self._queues.setdefault(wait.namespace, deque()).append(item)
        self._filled.set()

    async def run(self) -> Never:
        """Send what is queued, forever. Lines that come within `INTERVAL` go together."""
        while True:
            await self._filled.wait()
            await self._api.clock.sleep(INTERVAL)
            try:
                while self._queues:
                    await self._send_batch()
                self._filled.clear()
            except Exception:
                log.exception("Failed to send log lines to the archive")

    async def _send_batch(self) -> None:
        namespace, taken = self._take()
        for failures in range(1, TRIES + 1):
            if await self._post(namespace, taken):
                return
            await self._api.clock.sleep(RETRY.delay(failures))
        self.dropped += len(taken)
        log.warning("Log lines of %d waits were not stored: the archive is unavailable", len(taken))

    def _take(self) -> tuple[str, list[dict[str, Any]]]:
        """Remove a batch of the first namespace from its queue."""
        namespace, queue = next(iter(self._queues.items()))
        taken = [queue.popleft() for _ in range(min(BATCH, len(queue)))]
        if not queue:
            del self._queues[namespace]
        return namespace, taken

    async def _post(self, namespace: str, items: Sequence[dict[str, Any]]) -> bool:
        """Send once. Returns False if another try may help."""
        try:
            endpoint = await self._find()
            if endpoint is None or self._client is None:
                return True
            response = await self._client.post_json(
                endpoint, f"/v1/namespaces/{namespace}/logs/waits", {"waits": items}
            )
        except (OSError, errors.ApiError) as error:
            log.debug("Failed to send log lines to the archive: %s", error)
            return False
        if response.status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.TOO_MANY_REQUESTS}:
            return False
        # A namespace over its quota stays so for longer than the tries, which would delay all other namespaces.
        is_final = response.status < HTTPStatus.INTERNAL_SERVER_ERROR or (
            response.status == HTTPStatus.INSUFFICIENT_STORAGE
        )
        if is_final and response.status >= HTTPStatus.BAD_REQUEST:
            log.warning("The archive refused log lines: HTTP %d %s", response.status, response.body[:200])
        return is_final

    async def _find(self) -> ArchiveEndpoint | None:
        now = self._api.clock.monotonic()
        if now - self._found_at >= ENDPOINT_SECONDS:
            self._endpoint = await find_endpoint(self._api, self._namespace)
            self._found_at = now
        return self._endpoint


def _item(wait: TriggerWait, outcome: Outcome, wait_log: WaitLog, now: float) -> dict[str, Any]:
    uid, attempt, segment = wait.segment_id
    return {
        "taskrun": wait.name,
        "uid": uid,
        "attempt": attempt,
        "segment": segment,
        "started": times.rfc3339(wait.deferred_at),
        "ended": times.rfc3339(now),
        "failed": isinstance(outcome, Failed | TimedOut),
        "reason": _reason(outcome),
        "lines": list(_lines(wait_log)),
        "omitted": wait_log.omitted,
    }


def _lines(wait_log: WaitLog) -> Iterator[dict[str, str]]:
    for line in wait_log.records:
        # Again, since a secret may have become known after the line.
        yield {"at": times.rfc3339(line.at), "text": wait_log.redact(_TIME.sub("", line.text))}


def _reason(outcome: Outcome) -> str:
    match outcome:
        case Failed(reason=reason):
            return str(reason)
        case Fired() | Done() | Skipped() | TimedOut() | Cancelled():
            return type(outcome).__name__
        case _:
            assert_never(outcome)

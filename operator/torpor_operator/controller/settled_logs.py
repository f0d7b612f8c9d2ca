"""Knows which logs of ended pods the archive has settled.

A pass of a Workflow reads what is known and does not wait. What it asks is sent in the background, one request for a
namespace at a time, and the next pass finds the answer.
"""

import asyncio
import json
import logging
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Never, Protocol

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client.archive import ArchiveResponse
from torpor_kubernetes.timing import Clock

_LOG = logging.getLogger(__name__)
_INTERVAL = 0.5
"""Seconds between two rounds of requests."""
_BATCH = 1000
_KNOWN_SECONDS = 60.0
"""Longer than a pod waits for its log."""


class Post(Protocol):
    """Sends a value to the archive, as ArchiveClient.post_json does."""

    async def __call__(self, endpoint: ArchiveEndpoint, path: str, body: object) -> ArchiveResponse:
        """Send it. Raises OSError."""


class SettledLogCache:
    """The pods, by uid, whose logs are settled."""

    def __init__(self, clock: Clock, endpoint: Callable[[], ArchiveEndpoint | None], post: Post) -> None:
        self._clock = clock
        self._endpoint = endpoint
        self._post = post
        self._settled: dict[str, float] = {}
        self._asked: dict[str, set[str]] = {}
        self._wake = asyncio.Event()

    def get(self, namespace: str, pods: Collection[str]) -> frozenset[str]:
        """Return those that are known to be settled, and find out about the others."""
        known = frozenset(uid for uid in pods if uid in self._settled)
        if len(known) < len(pods):
            self._asked.setdefault(namespace, set()).update(set(pods) - known)
            self._wake.set()
        return known

    async def run(self) -> Never:
        """Send what was asked, forever."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            queries, self._asked = self._asked, {}
            for namespace, pods in queries.items():
                await self._ask_all(namespace, sorted(pods))
            self._forget()
            await self._clock.sleep(_INTERVAL)

    async def _ask_all(self, namespace: str, pods: list[str]) -> None:
        """Ask in batches, until one fails: the next round asks again."""
        for start in range(0, len(pods), _BATCH):
            if not await self._ask(namespace, pods[start : start + _BATCH]):
                return

    async def _ask(self, namespace: str, pods: list[str]) -> bool:
        """Ask once. Returns whether the archive answered."""
        endpoint = self._endpoint()
        if endpoint is None:
            return False
        try:
            response = await self._post(endpoint, f"/v1/namespaces/{namespace}/logs/status", {"pods": pods})
        except OSError as error:
            _LOG.warning("cannot ask the archive for settled logs: %s", error)
            return False
        if response.status != HTTPStatus.OK:
            _LOG.warning("cannot ask the archive for settled logs: it responded %d", response.status)
            return False
        now = self._clock.monotonic()
        self._settled |= dict.fromkeys(_settled(response.body), now)
        return True

    def _forget(self) -> None:
        oldest = self._clock.monotonic() - _KNOWN_SECONDS
        self._settled = {uid: since for uid, since in self._settled.items() if since > oldest}


def _settled(body: bytes) -> list[str]:
    """The uids in a response; none in one that is not valid."""
    try:
        match json.loads(body):
            case {"settled": list(uids)}:
                return [str(uid) for uid in uids]
    except (ValueError, RecursionError):
        pass
    return []

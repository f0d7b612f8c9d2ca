"""Open watches, and what each has seen."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.resources import Resource
from torpor_kubernetes.timing import Clock

from torpor_local.apiserver.history import History, Object, event_of
from torpor_local.apiserver.objects import DeniedError
from torpor_local.apiserver.routes import Route

BOOKMARK_SECONDS = 2.0
"""Seconds before the end of a watch at which it gets a bookmark."""


@dataclass(slots=True, kw_only=True, eq=False)
class _WatchClient:
    path: str
    signal: asyncio.Event = field(default_factory=asyncio.Event)
    bookmark: bool = False
    ended: bool = False
    error: errors.ApiError | None = None


class ObjectWatches:
    """Follows the history for each watcher, from where it was."""

    def __init__(self, history: History, clock: Clock) -> None:
        self._history = history
        self._clock = clock
        self._held = False
        self._watchers: list[_WatchClient] = []

    def __len__(self) -> int:
        return len(self._watchers)

    def wake(self) -> None:
        """Let every watch deliver new changes."""
        for watcher in self._watchers:
            watcher.signal.set()

    def hold(self, *, held: bool) -> None:
        """Deliver nothing while `held`."""
        self._held = held
        self.wake()

    def bookmark(self) -> None:
        """Send a bookmark to every watch."""
        for watcher in self._watchers:
            watcher.bookmark = True
        self.wake()

    def end(self, error: errors.ApiError | None, path: str) -> None:
        """End the watches whose collection contains `path`, normally or with an error."""
        for watcher in self._watchers:
            if path in watcher.path:
                watcher.ended, watcher.error = True, error
        self.wake()

    async def open(self, route: Route, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        """The events after the resourceVersion asked for; where that is compacted, an ERROR event with code 410."""
        version = int(query["resourceVersion"])
        watcher = _WatchClient(path=route.resource.path(route.namespace or None))
        self._watchers.append(watcher)
        timer = asyncio.create_task(self._time_out(watcher, float(query.get("timeoutSeconds", "1800"))))
        try:
            while True:
                watcher.signal.clear()
                if not self._held:
                    until = self._history.version
                    for event in self._events(route, query, version):
                        yield event
                        if event["type"] == "ERROR":
                            return
                    version = until
                    if watcher.bookmark:
                        watcher.bookmark = False
                        yield bookmark(route.resource, version)
                if watcher.ended:
                    break
                await watcher.signal.wait()
            if watcher.error:
                raise watcher.error
        finally:
            timer.cancel()
            self._watchers.remove(watcher)

    def _events(self, route: Route, query: Mapping[str, str], version: int) -> list[Object]:
        if version < self._history.compacted:
            return [{"type": "ERROR", "object": _gone()}]
        selection, kind = route.selection(query), route.resource.path()
        events = [event_of(entry, selection) for entry in self._history.after(version) if entry.address.kind == kind]
        return [event for event in events if event is not None]

    async def _time_out(self, watcher: _WatchClient, seconds: float) -> None:
        """End a watch. Two seconds before, it gets a bookmark, as from Kubernetes."""
        before = min(seconds, BOOKMARK_SECONDS)
        await self._clock.sleep(seconds - before)
        watcher.bookmark = True
        watcher.signal.set()
        await self._clock.sleep(before)
        watcher.bookmark = watcher.ended = True
        watcher.signal.set()


def bookmark(resource: Resource, version: int) -> Object:
    """The event that says that a watch has reported everything up to a version."""
    meta = {"resourceVersion": str(version), "creationTimestamp": None}
    return {"type": "BOOKMARK", "object": {"kind": resource.kind, "metadata": meta}}


def _gone() -> Object:
    return DeniedError(HTTPStatus.GONE, "Expired", "too old resource version").body

"""Keeps a store up to date with the API server by list and watch, as client-go's reflector does.

The list is read in pages. The watch starts at the list's resourceVersion and uses bookmarks, so that a kind without
changes does not fall behind. A watch that ends is reopened at its last version. If the server has compacted that
version (410, as the response or in the stream), the list is read again and compared, so that deleted objects are
noticed.

Several namespaces are listed and watched one by one, as a client needs that has rights in these alone (ADR 0051).

With a field selector, a status patch can make an object appear as ADDED or disappear as DELETED. The reflector cannot
distinguish an object that left the selection from a deleted one.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from typing import Any, Generic, Never, TypeVar

from torpor_wire.retry import Backoff

from torpor_kubernetes import timing
from torpor_kubernetes.cache.store import (
    CacheStore,
    Notice,
    ObjectKey,
    Unreadable,
    key_of,
    no_index,
    version_of,
)
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import PAGE, WATCH_SECONDS, Api, WatchEvent
from torpor_kubernetes.client.resources import Resource

__all__ = ["Notice", "Reflector", "Unreadable"]

T = TypeVar("T")

BACKOFF = Backoff(first=0.1, cap=10.0)
BATCH = 50
"""Objects of a page to process before yielding to other tasks: a whole page would block the event loop for 0.1 s."""

CATCH_UP_SECONDS = 3
"""The duration of a watch that catches up. The API server sends a bookmark two seconds before a watch ends."""
CATCH_UP_WATCHES = 3
"""So many of them follow one another before all objects are listed."""
_CATCH_UP_LIMIT = CATCH_UP_SECONDS + 1.0
_NOWHERE = "default"
"""A namespace in which a request for one object of no existing name reads nothing."""
_NO_OBJECT = "metadata.name=torpor-no-such-object"

log = logging.getLogger(__name__)


class Reflector(Generic[T]):
    """A store for one kind, and the loop that updates it.

    `on_change` runs in the loop, once for each version of each object, in order. It must return quickly. `jitter`
    returns numbers from 0 to 1. Without `namespaces` it watches all of them by one stream. An error that is `fatal`
    ends `run`. The API server checks the caller only when a watch begins, so at most `watch_seconds` later.
    """

    def __init__(  # noqa: PLR0913 - the selection is one to four words, and none of them is of use alone
        self,
        api: Api,
        resource: Resource,
        parse: Callable[[dict[str, Any]], T],
        *,
        on_change: Callable[[Notice[T]], None],
        jitter: Callable[[], float],
        namespaces: Sequence[str] = (),
        field_selector: str = "",
        label_selector: str = "",
        index: Callable[[T], Iterable[str]] = no_index,
        watch_seconds: int = WATCH_SECONDS,
        fatal: tuple[type[errors.ApiError], ...] = (),
    ) -> None:
        self.store: CacheStore[T] = CacheStore(parse, on_change, index=index)
        self.synced = asyncio.Event()
        self.relists = 0
        self.watches = 0
        self._api = api
        self._resource = resource
        self._scopes: tuple[str | None, ...] = tuple(namespaces) or (None,)
        self._listed: set[str | None] = set()
        self._field_selector = field_selector
        self._label_selector = label_selector
        self._jitter = jitter
        self._watch_seconds = watch_seconds
        self._fatal = fatal
        self._failures = dict.fromkeys(self._scopes, 0)
        self._heard: dict[str | None, float] = {}

    def age(self) -> float:
        """Seconds since the stream that was silent for longest brought a list, an event or a bookmark; inf without."""
        now = self._api.clock.monotonic()
        return now - min(self._heard.get(scope, float("-inf")) for scope in self._scopes)

    async def run(self) -> Never:
        """List, then watch. Only cancellation, bugs and fatal errors end it."""
        first, *others = self._scopes
        if not others:
            await self._run(first)
        async with asyncio.TaskGroup() as group:
            for scope in self._scopes:
                group.create_task(self._run(scope))
        raise AssertionError("unreachable")

    async def _run(self, scope: str | None) -> Never:
        while True:
            try:
                version = await self._list(scope)
                self._listed.add(scope)
                if len(self._listed) == len(self._scopes):
                    self.synced.set()
                while True:
                    version = await self._watch(scope, version)
                    await self._read_again()
            except errors.Gone as gone:
                log.info("%s: %s; listing again", self._resource.plural, gone.message)
                await self._pause(scope, gone)
            except self._fatal:
                raise
            except errors.ApiError as error:
                self._failures[scope] += 1
                log.warning("cannot list %s: %s; trying again", self._resource.plural, error.message)
                await self._pause(scope, error)

    async def refresh(self) -> None:
        """Read the whole list beside the watch, so that the store contains everything committed before the call.

        Raises `errors.ApiError` if the list fails. Older events that the watch still delivers are ignored.
        """
        for scope in self._scopes:
            await self._list(scope)

    async def catch_up(self, relist_limit: int = 0) -> None:
        """Do what `refresh` does, but of more than `relist_limit` objects read only what has changed (ADR 0092).

        That takes one to three seconds for any number of objects: as long as the API server takes to send a bookmark.
        Waits for the first list. Raises `errors.ApiError`.
        """
        await self.synced.wait()
        if len(self.store) <= relist_limit:
            await self.refresh()
        else:
            await timing.together(*map(self._catch_up, self._scopes))

    async def _catch_up(self, scope: str | None) -> None:
        """Watch beside the main watch until the store has all that was committed. List again if no event says so."""
        try:
            for _ in range(CATCH_UP_WATCHES):
                version = await self.committed_version(scope)
                await self._watch_until(scope, version)
                if self.store.progress(scope) >= version:
                    return
            log.warning("%s: the watch does not catch up; listing again", self._resource.plural)
        except errors.Gone as gone:
            log.info("%s: %s; listing again", self._resource.plural, gone.message)
        await self._list(scope)

    async def committed_version(self, scope: str | None) -> int:
        """The resourceVersion up to which everything is committed, as the API server reads it from etcd now.

        The request selects one name in one namespace, so that each API server answers it without reading other objects.
        An API server with consistent reads from its cache also brings this cache, which serves watches, up to date.
        """
        page = await self._api.list(self._resource, scope or _NOWHERE, field_selector=_NO_OBJECT, limit=0)
        return int(page.resource_version)

    async def _watch_until(self, scope: str | None, version: int) -> None:
        """Follow a short watch until the store has everything up to a version, or the watch ends."""
        if self.store.progress(scope) >= version:
            return
        try:
            await timing.within(self._api.clock, _CATCH_UP_LIMIT, self._follow(scope, version))
        except TimeoutError:
            log.debug("the watch of %s did not end in time", self._resource.plural)

    async def _follow(self, scope: str | None, version: int) -> None:
        self.watches += 1
        async with aclosing(self._open(scope, str(self.store.progress(scope)), CATCH_UP_SECONDS)) as events:
            async for event in events:
                self._apply(scope, event.type, event.object)
                if self.store.progress(scope) >= version:
                    return

    async def _read_again(self) -> None:
        """Parse unreadable objects again, since the cause may be over: the operator reads none in quarantine."""
        for number, unreadable in enumerate(self.store.unreadable_objects(), 1):
            self.store.read_again(unreadable)
            if number % BATCH == 0:
                await asyncio.sleep(0)

    async def _list(self, scope: str | None) -> str:
        self.relists += 1
        try:
            return await self._read_pages(scope, PAGE)
        except errors.Gone:
            return await self._read_pages(scope, 0)

    async def _read_pages(self, scope: str | None, limit: int) -> str:
        listed: set[ObjectKey] = set()
        version = ""
        pages = self._api.pages(
            self._resource,
            scope,
            field_selector=self._field_selector,
            label_selector=self._label_selector,
            limit=limit,
        )
        async with aclosing(pages):
            async for page in pages:
                for number, raw in enumerate(page.items, 1):
                    listed.add(key_of(raw))
                    self.store.absorb(raw)
                    if number % BATCH == 0:
                        await asyncio.sleep(0)
                version = page.resource_version
        self.store.settle(listed, int(version), scope)
        self._heard[scope] = self._api.clock.monotonic()
        return version

    async def _watch(self, scope: str | None, version: str) -> str:
        """Watch once and return the next start version. A short watch without events counts as a failure."""
        failure: errors.ApiError | None = None
        self.watches += 1
        started = self._api.clock.monotonic()
        self._failures[scope] += 1
        try:
            async with aclosing(self._open(scope, version, self._watch_seconds)) as events:
                async for event in events:
                    version = self._apply(scope, event.type, event.object)
                    self._failures[scope] = 0
        except errors.ApiError as error:
            if isinstance(error, (errors.Gone, *self._fatal)):
                raise
            log.warning("the watch of %s broke: %s; opening it again", self._resource.plural, error.message)
            failure = error
        if self._api.clock.monotonic() - started >= BACKOFF.cap:
            self._failures[scope] = 0
        await self._pause(scope, failure)
        return version

    def _open(self, scope: str | None, version: str, seconds: int) -> AsyncGenerator[WatchEvent, None]:
        return self._api.watch(
            self._resource,
            scope,
            resource_version=version,
            field_selector=self._field_selector,
            label_selector=self._label_selector,
            timeout_seconds=seconds,
        )

    def _apply(self, scope: str | None, kind: str, raw: dict[str, Any]) -> str:
        version = version_of(raw)
        self._heard[scope] = self._api.clock.monotonic()
        match kind:
            case "ADDED" | "MODIFIED":
                self.store.absorb(raw)
            case "DELETED" if version > self.store.progress(scope):
                self.store.delete(raw)
            case "DELETED" | "BOOKMARK":
                pass
            case _:
                raise errors.ApiError(f"unexpected watch event of type {kind!r}")
        self.store.advance(version, scope)
        return str(raw["metadata"]["resourceVersion"])

    async def _pause(self, scope: str | None, failure: errors.ApiError | None) -> None:
        if not self._failures[scope]:
            return
        delay = BACKOFF.delay(self._failures[scope], self._jitter())
        retry_after = failure.retry_after if failure else None
        await self._api.clock.sleep(max(delay, retry_after or 0.0))

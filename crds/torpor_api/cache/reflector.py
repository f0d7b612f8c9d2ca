"""Keeps a store in step with the API server: list, watch, and never miss that an object vanished.

The list is read page by page; the watch goes on from its resourceVersion, with bookmarks so that a quiet kind does not
fall behind. When a watch ends or breaks it is opened again where it was. When the server no longer has that version
(410, as an answer or inside the stream) the list is read again and compared, so that what vanished meanwhile is
reported. A status patch makes an object appear to a field selector as ADDED and vanish as DELETED; that one left the
selector and that one was deleted look alike, and nothing here tries to tell them apart.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable
from contextlib import aclosing
from typing import Any, Generic, Never, TypeVar

from torpor_wire.backoff import Backoff

from torpor_api.cache.store import Change, Key, Notice, Store, Unreadable, key_of, no_index, version_of
from torpor_api.client import errors
from torpor_api.client.api import PAGE, Api
from torpor_api.client.resources import Resource

__all__ = ["Change", "Notice", "Reflector", "Unreadable"]

T = TypeVar("T")

BACKOFF = Backoff(first=0.1, cap=10.0)
AT_ONCE = 50
"""How many objects of a page are taken up before others have their turn: a whole page keeps a loop for 0.1 s."""

log = logging.getLogger(__name__)


class Reflector(Generic[T]):
    """A store of one kind, and the loop that keeps it.

    `on_change` is called once for each version of each object, in order, from within the loop: it notes what is to be
    done and returns. `jitter` yields numbers from 0 to 1.
    """

    def __init__(  # noqa: PLR0913 - the selection is one to four words, and none of them is of use alone
        self,
        api: Api,
        resource: Resource,
        parse: Callable[[dict[str, Any]], T],
        *,
        on_change: Callable[[Notice[T]], None],
        jitter: Callable[[], float],
        namespace: str | None = None,
        field_selector: str = "",
        label_selector: str = "",
        index: Callable[[T], Iterable[str]] = no_index,
    ) -> None:
        self.store: Store[T] = Store(parse, on_change, index=index)
        self.synced = asyncio.Event()
        self.relists = 0
        self.watches = 0
        self._api = api
        self._resource = resource
        self._namespace = namespace
        self._field_selector = field_selector
        self._label_selector = label_selector
        self._jitter = jitter
        self._failures = 0

    async def run(self) -> Never:
        """List, then watch, for ever; only cancellation and bugs end it."""
        while True:
            try:
                version = await self._list()
                self.synced.set()
                while True:
                    version = await self._watch(version)
            except errors.Gone as gone:
                log.info("%s: %s; listing again", self._resource.plural, gone.message)
                await self._pause(gone)
            except errors.ApiError as error:
                self._failures += 1
                log.warning("cannot list %s: %s; trying again", self._resource.plural, error.message)
                await self._pause(error)

    async def refresh(self) -> None:
        """Read the whole list beside the watch: what was committed before this call is then in the store.

        Raises `errors.ApiError` where it cannot be read. What the watch still brings of before that list is old.
        """
        await self._list()

    async def _list(self) -> str:
        self.relists += 1
        try:
            return await self._take(PAGE)
        except errors.Gone:
            return await self._take(0)

    async def _take(self, limit: int) -> str:
        listed: set[Key] = set()
        version = ""
        pages = self._api.pages(
            self._resource,
            self._namespace,
            field_selector=self._field_selector,
            label_selector=self._label_selector,
            limit=limit,
        )
        async with aclosing(pages):
            async for page in pages:
                for number, raw in enumerate(page.items, 1):
                    listed.add(key_of(raw))
                    self.store.absorb(raw)
                    if number % AT_ONCE == 0:
                        await asyncio.sleep(0)
                version = page.resource_version
        self.store.settle(listed, int(version))
        return version

    async def _watch(self, version: str) -> str:
        """One watch; returns where the next one goes on. One that was short and brought nothing counts as a failure."""
        failure: errors.ApiError | None = None
        self.watches += 1
        started = self._api.clock.monotonic()
        self._failures += 1
        events = self._api.watch(
            self._resource,
            self._namespace,
            resource_version=version,
            field_selector=self._field_selector,
            label_selector=self._label_selector,
        )
        try:
            async with aclosing(events):
                async for event in events:
                    version = self._apply(event.type, event.object)
                    self._failures = 0
        except errors.Gone:
            raise
        except errors.ApiError as error:
            log.warning("the watch of %s broke: %s; opening it again", self._resource.plural, error.message)
            failure = error
        if self._api.clock.monotonic() - started >= BACKOFF.cap:
            self._failures = 0
        await self._pause(failure)
        return version

    def _apply(self, kind: str, raw: dict[str, Any]) -> str:
        version = version_of(raw)
        match kind:
            case "ADDED" | "MODIFIED":
                self.store.absorb(raw)
            case "DELETED" if version > self.store.progress:
                self.store.delete(raw)
            case "DELETED" | "BOOKMARK":
                pass
            case _:
                raise errors.ApiError(f"a watch event of type {kind!r}")
        self.store.advance(version)
        return str(raw["metadata"]["resourceVersion"])

    async def _pause(self, failure: errors.ApiError | None) -> None:
        if not self._failures:
            return
        delay = BACKOFF.delay(self._failures, self._jitter())
        asked = failure.retry_after if failure else None
        await self._api.clock.sleep(max(delay, asked or 0.0))

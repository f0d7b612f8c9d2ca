"""The Events of a run, for its archived copy.

No request returns the Events of a Workflow and of its TaskRuns, and each list reads all Events of the namespace. So
runs that end within some seconds share one list. A run whose Events cannot be listed is archived without them.
"""

import asyncio
import json
import logging
from collections.abc import Collection
from contextlib import aclosing
from dataclasses import dataclass, field

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import EVENTS
from torpor_wire import constants

EVENTS_OF_RUN = 2000
EVENTS_OF_NAMESPACE = 20_000
"""The newest Events that are kept in memory while the runs of a namespace are archived: some 20 MB."""
INTERVAL = 5.0
"""Seconds between two lists of a namespace."""
_FORGET_AFTER = 12 * INTERVAL
_LOG = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class _Listing:
    """The Events of a namespace as lines of JSON with their times, by uid of the object; None once they are dropped."""

    began: float = float("-inf")
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    lines: dict[str, list[tuple[str, bytes]]] | None = None


class RunEvents:
    """Lists Events."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._listings: dict[str, _Listing] = {}

    def next_list_at(self, namespace: str) -> float:
        """When the next list of a namespace may begin, in seconds since the epoch."""
        listing = self._listings.get(namespace)
        return 0.0 if listing is None else listing.began + INTERVAL

    async def about(self, namespace: str, uids: Collection[str], since: float) -> list[bytes]:
        """The latest Events about some objects, oldest first, from a list that began after `since`."""
        listing = self._listings.setdefault(namespace, _Listing())
        async with listing.lock:
            lines = listing.lines
            if lines is None or listing.began <= since:
                listing.began = self._api.clock.now()
                lines = listing.lines = await self._list(namespace)
        self._forget_old()
        chosen = sorted(line for uid in uids for line in lines.get(uid, ()))
        return [line for _, line in chosen[-EVENTS_OF_RUN:]]

    def drop(self, namespace: str) -> None:
        """Free the memory of a namespace without uploads. When the next list may begin stays the same."""
        if namespace in self._listings:
            self._listings[namespace].lines = None

    async def _list(self, namespace: str) -> dict[str, list[tuple[str, bytes]]]:
        kept: list[tuple[str, str, bytes]] = []
        pages = self._api.pages(EVENTS, namespace, field_selector=f"regarding.apiVersion={constants.API_VERSION}")
        try:
            async with aclosing(pages):
                async for page in pages:
                    kept += [(observed_at(event), _uid(event), _line(event)) for event in page.items]
                    if len(kept) > 2 * EVENTS_OF_NAMESPACE:
                        kept = sorted(kept)[-EVENTS_OF_NAMESPACE:]
        except errors.ApiError as error:
            _LOG.warning("cannot list the Events of namespace %s, archiving without them: %s", namespace, error.message)
        lines: dict[str, list[tuple[str, bytes]]] = {}
        for moment, uid, line in sorted(kept)[-EVENTS_OF_NAMESPACE:]:
            lines.setdefault(uid, []).append((moment, line))
        return lines

    def _forget_old(self) -> None:
        before = self._api.clock.now() - _FORGET_AFTER
        for namespace in [
            name for name, listing in self._listings.items() if listing.began < before and not listing.lock.locked()
        ]:
            del self._listings[namespace]


def observed_at(event: Object) -> str:
    """When an Event was last observed, in RFC 3339."""
    series = (event.get("series") or {}).get("lastObservedTime")
    return str(series or event.get("deprecatedLastTimestamp") or event.get("eventTime") or "")


def to_line(body: Object) -> bytes:
    """One object as a line of JSON."""
    return json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _uid(event: Object) -> str:
    return str((event.get("regarding") or {}).get("uid") or "")


def _line(event: Object) -> bytes:
    """An Event as a line: items of a list have no kind."""
    return to_line({"apiVersion": EVENTS.api_version, "kind": EVENTS.kind, **event})

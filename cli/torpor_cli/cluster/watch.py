"""Watches that survive lost connections and 410 Gone, and several watches as one stream."""

import queue
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TypeAlias, TypeVar

from torpor_cli.cluster import errors
from torpor_cli.cluster.api import ApiClient, Object, ObjectSelection, parse_object

_WATCH_S = 300
"""Seconds after which the API server ends a watch. Bookmarks arrive every minute, so a longer silence is a dead one."""
_SILENCE_S = 90.0
_PAUSE_MAX_S = 10.0
_RANDOM = random.SystemRandom()  # a thread may pause at any time, and must not disturb a program that sets a seed
_SHORT_S = 0.5
"""A server that ends watches sooner is not asked more often than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSnapshot:
    """All objects of the selection as of now. What an earlier list had and this has not was deleted."""

    selection: ObjectSelection
    items: list[Object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """An object was added or modified."""

    selection: ObjectSelection
    item: Object


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """An object was deleted; `item` is its last state."""

    selection: ObjectSelection
    item: Object


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingChanged:
    """Nothing changed for the time that the consumer gave."""


Update: TypeAlias = ListSnapshot | Changed | Deleted
Seconds: TypeAlias = float
Source = TypeVar("Source")


def watch(
    api: ApiClient,
    selection: ObjectSelection,
    *,
    pause: Callable[[Seconds], None] = time.sleep,
    noted: Callable[[str], object] = str,
) -> Iterator[Update]:
    """Yield a ListSnapshot, then changes, without end. Raises ClusterError if the user may not watch.

    `noted` receives a sentence when the connection is lost, once for each interruption.
    """
    version, failures = "", 0
    while True:
        try:
            if not version:
                listed = api.snapshot(selection)
                version = listed.version
                yield ListSnapshot(selection=selection, items=listed.items)
            began = time.monotonic()
            for update in _changes(api, selection, version):
                failures = 0
                if isinstance(update, str):
                    version = update
                    continue
                version = update.item["metadata"]["resourceVersion"]
                yield update
            if time.monotonic() - began < _SHORT_S:
                pause(_SHORT_S)
        except errors.GoneError:
            version = ""
        except errors.UnavailableError as error:
            if failures == 0:
                noted(f"{error}; trying again")
            failures += 1
            pause(error.retry_after or min(2.0**failures / 2, _PAUSE_MAX_S) * _RANDOM.uniform(0.5, 1.0))


def _changes(api: ApiClient, selection: ObjectSelection, version: str) -> Iterator[Changed | Deleted | str]:
    """Yield the changes of one watch request, and the versions of bookmarks, until the server ends it."""
    query = selection.query(
        watch="true", resourceVersion=version, allowWatchBookmarks="true", timeoutSeconds=str(_WATCH_S)
    )
    path = selection.resource.path(selection.namespace)
    headers = {"Accept": "application/json"}
    for line in api.http.lines(path, query=query, headers=headers, read_timeout=_SILENCE_S):
        event = parse_object(line)
        if event is None:
            continue  # a line that the end of the connection cut
        item = event.get("object") or {}
        match event.get("type"):
            case "ADDED" | "MODIFIED":
                yield Changed(selection=selection, item=item)
            case "DELETED":
                yield Deleted(selection=selection, item=item)
            case "BOOKMARK":
                yield item["metadata"]["resourceVersion"]
            case "ERROR":
                code = int(item.get("code") or HTTPStatus.INTERNAL_SERVER_ERROR)
                raise errors.from_response(code, item, place=api.http.access.place)
            case _:
                pass


def objects_of(update: Update | NothingChanged) -> list[Object]:
    """Return the objects that an update is about."""
    match update:
        case ListSnapshot(items=items):
            return items
        case Changed(item=item) | Deleted(item=item):
            return [item]
        case NothingChanged():
            return []


def watch_all(
    api: ApiClient, selections: Sequence[ObjectSelection], *, tick: Seconds = 0.5, noted: Callable[[str], object] = str
) -> Generator[Update | NothingChanged, None, None]:
    """Watch several selections as one stream, which reports every `tick` seconds that nothing changed.

    The threads that read may outlive the stream. Their notes end with it.
    """
    closed = threading.Event()

    def note(sentence: str) -> None:
        if not closed.is_set():
            noted(sentence)

    try:
        yield from merged([watch(api, selection, noted=note) for selection in selections], tick=tick)
    finally:
        closed.set()


def merged(sources: Sequence[Iterator[Source]], *, tick: Seconds | None = None) -> Iterator[Source | NothingChanged]:
    """Yield what several blocking iterators yield, each read by a thread. An error of one is raised.

    `tick` is the time without an item after which NothingChanged is yielded; None means never.
    Ends when all have ended.
    """
    items: queue.Queue[tuple[str, Source | BaseException | None]] = queue.Queue(maxsize=1000)
    for source in sources:
        threading.Thread(target=_pump, args=(source, items), daemon=True).start()
    running = len(sources)
    while running:
        try:
            kind, item = items.get(timeout=tick if tick is not None else 1.0)
        except queue.Empty:
            if tick is not None:
                yield NothingChanged()
            continue
        match kind, item:
            case "end", _:
                running -= 1
            case "error", BaseException() as error:
                raise error
            case _:
                yield item  # type: ignore[misc]


def _pump(source: Iterator[Source], items: "queue.Queue[tuple[str, Source | BaseException | None]]") -> None:
    try:
        for item in source:
            items.put(("item", item))
    except BaseException as error:  # noqa: BLE001 - the consumer raises it
        items.put(("error", error))
    else:
        items.put(("end", None))

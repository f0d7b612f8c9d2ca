"""The watches of TaskRuns that this replica runs, and the waits that they show.

Desired against running, as a set difference: a missing watch starts at once; an unwanted one stops when all wanted ones
have listed, so that no owned wait is ever unseen.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.cache.store import ObjectKey
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import TASKRUNS

from torpor_triggerer.model import packed_wait
from torpor_triggerer.model.packed_wait import PackedWait
from torpor_triggerer.running.state import Spawn

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _ShardStream:
    reflector: Reflector[PackedWait]
    tasks: tuple[asyncio.Task[None], ...]


class ShardWatches:
    """All watches of this process. `on_change` gets each key that was added, changed or removed."""

    def __init__(
        self,
        api: Api,
        spawn: Spawn,
        *,
        on_change: Callable[[ObjectKey], None],
        on_unreadable: Callable[[Unreadable], None],
        namespaces: Sequence[str] = (),
    ) -> None:
        self._namespaces = namespaces
        self._api = api
        self._spawn = spawn
        self._on_change = on_change
        self._on_unreadable = on_unreadable
        self._wanted: frozenset[str] = frozenset()
        self._streams: dict[str, _ShardStream] = {}
        self._retired_restarts = 0

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def restarts(self) -> int:
        """How often a watch was listed or opened again since the start."""
        return self._retired_restarts + sum(map(_restarts, self._streams.values()))

    def find(self, key: ObjectKey) -> PackedWait | None:
        """Return a wait as last seen; None if no watch shows it."""
        for stream in self._streams.values():
            wait = stream.reflector.store.get(key.namespace, key.name)
            if wait is not None:
                return wait
        return None

    def shown_keys(self) -> set[ObjectKey]:
        """Return the keys of all waits that the watches show, owned or not."""
        return {wait.key for stream in self._streams.values() for wait in _shown(stream)}

    def synced(self) -> bool:
        """Whether all wanted watches have listed."""
        return all(self._streams[selector].reflector.synced.is_set() for selector in self._wanted)

    def want(self, selectors: frozenset[str]) -> None:
        """Run these watches from now on."""
        self._wanted = selectors
        for selector in sorted(selectors - self._streams.keys()):
            self._streams[selector] = self._start(selector)
        self._retire()

    def stop(self) -> None:
        """Stop all watches; what they have shown stays known."""
        for stream in self._streams.values():
            _cancel(stream)

    def _start(self, selector: str) -> _ShardStream:
        reflector = Reflector(
            self._api,
            TASKRUNS,
            packed_wait.parse,
            on_change=self._note,
            jitter=self._api.jitter,
            field_selector=selector,
            namespaces=self._namespaces,
        )
        return _ShardStream(
            reflector=reflector, tasks=(self._spawn(reflector.run()), self._spawn(self._listed(reflector)))
        )

    async def _listed(self, reflector: Reflector[PackedWait]) -> None:
        await reflector.synced.wait()
        self._retire()

    def _retire(self) -> None:
        if not self.synced():
            return
        for selector in self._streams.keys() - self._wanted:
            stream = self._streams.pop(selector)
            self._retired_restarts += _restarts(stream)
            _cancel(stream)
            for wait in _shown(stream):
                self._on_change(wait.key)

    def _note(self, notice: Notice[PackedWait]) -> None:
        if isinstance(notice, Unreadable):
            log.warning("%s/%s: failed to parse: %s", notice.namespace, notice.name, notice.message)
            self._on_unreadable(notice)
        else:
            self._on_change(notice.key)


def _shown(stream: _ShardStream) -> list[PackedWait]:
    return list(stream.reflector.store.values())


def _restarts(stream: _ShardStream) -> int:
    """Lists and watches beyond the first of each."""
    return max(stream.reflector.relists - 1, 0) + max(stream.reflector.watches - 1, 0)


def _cancel(stream: _ShardStream) -> None:
    for task in stream.tasks:
        task.cancel()

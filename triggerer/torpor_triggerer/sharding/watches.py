"""The streams of TaskRuns that this replica reads, and what they show.

Wanted against running, as a set difference: what is missing is started at once, what is no longer wanted ends when all
that is wanted has been listed, so that at no moment a wait of ours is unseen.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass

from torpor_api.cache.reflector import Notice, Reflector, Unreadable
from torpor_api.cache.store import Key
from torpor_api.client.api import Api
from torpor_api.client.resources import TASKRUNS

from torpor_triggerer.model import deferred_taskrun as waits
from torpor_triggerer.model.deferred_taskrun import Wait
from torpor_triggerer.running.state import Spawn

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Stream:
    reflector: Reflector[Wait]
    tasks: tuple[asyncio.Task[None], ...]


class Watches:
    """All streams of this process. `on_change` is told what came, changed or went; it looks it up by `find`."""

    def __init__(
        self,
        api: Api,
        spawn: Spawn,
        *,
        on_change: Callable[[Key], None],
        on_unreadable: Callable[[Unreadable], None],
    ) -> None:
        self._api = api
        self._spawn = spawn
        self._on_change = on_change
        self._on_unreadable = on_unreadable
        self._wanted: frozenset[str] = frozenset()
        self._streams: dict[str, _Stream] = {}
        self._retired_restarts = 0

    def __len__(self) -> int:
        return len(self._streams)

    @property
    def restarts(self) -> int:
        """How often a stream was listed or watched again since the start."""
        return self._retired_restarts + sum(map(_restarts, self._streams.values()))

    def find(self, key: Key) -> Wait | None:
        """A wait as last seen; None where no stream shows it."""
        for stream in self._streams.values():
            found = stream.reflector.store.get(key.namespace, key.name)
            if found is not None:
                return found
        return None

    def shown(self) -> set[Key]:
        """Everything that is shown, owned or not."""
        return {Key(one.namespace, one.name) for stream in self._streams.values() for one in _shown(stream)}

    def synced(self) -> bool:
        """Whether all that is wanted has been listed."""
        return all(self._streams[selector].reflector.synced.is_set() for selector in self._wanted)

    def want(self, selectors: frozenset[str]) -> None:
        """Read these streams from now on."""
        self._wanted = selectors
        for selector in sorted(selectors - self._streams.keys()):
            self._streams[selector] = self._start(selector)
        self._retire()

    def stop(self) -> None:
        """Read nothing more; what was shown stays known."""
        for stream in self._streams.values():
            _cancel(stream)

    def _start(self, selector: str) -> _Stream:
        reflector = Reflector(
            self._api,
            TASKRUNS,
            waits.parse,
            on_change=self._note,
            jitter=self._api.jitter,
            field_selector=selector,
        )
        return _Stream(reflector=reflector, tasks=(self._spawn(reflector.run()), self._spawn(self._listed(reflector))))

    async def _listed(self, reflector: Reflector[Wait]) -> None:
        await reflector.synced.wait()
        self._retire()

    def _retire(self) -> None:
        if not self.synced():
            return
        for selector in self._streams.keys() - self._wanted:
            stream = self._streams.pop(selector)
            self._retired_restarts += _restarts(stream)
            _cancel(stream)
            for one in _shown(stream):
                self._on_change(Key(one.namespace, one.name))

    def _note(self, notice: Notice[Wait]) -> None:
        if isinstance(notice, Unreadable):
            log.warning("%s/%s cannot be read: %s", notice.namespace, notice.name, notice.message)
            self._on_unreadable(notice)
        else:
            self._on_change(Key(notice.namespace, notice.name))


def _shown(stream: _Stream) -> list[Wait]:
    return list(stream.reflector.store.values())


def _restarts(stream: _Stream) -> int:
    """Beyond its one list and its one watch."""
    return max(stream.reflector.relists - 1, 0) + max(stream.reflector.watches - 1, 0)


def _cancel(stream: _Stream) -> None:
    for task in stream.tasks:
        task.cancel()

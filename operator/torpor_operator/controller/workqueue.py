"""The keys of Workflows to be looked at: each once, not before its time, and never by two at a time.

What is added while it is being worked on is handed out again afterwards, so no change is lost and none is doubled. A
key may be given a rest, since looking at a large Workflow at each of its changes costs more the larger it is.
Namespaces take turns, and only so many keys of one are worked on at a time: one that has thousands of Workflows does
not hold up the others.
"""

import asyncio
import heapq
from collections import Counter
from typing import NamedTuple

from torpor_api.timing import Clock

AT_ONCE = 16


class Key(NamedTuple):
    """Which Workflow."""

    namespace: str
    name: str


class WorkQueue:
    """Due keys by namespace, in the order in which they came, and a heap of those that are due later."""

    def __init__(self, clock: Clock, *, at_once: int = AT_ONCE) -> None:
        """`at_once`: keys of one namespace that are handed out before one of them is done."""
        self._clock = clock
        self._at_once = at_once
        self._due: dict[str, dict[Key, None]] = {}
        self._working: set[Key] = set()
        self._working_of: Counter[str] = Counter()
        self._again: set[Key] = set()
        self._later: list[tuple[float, Key]] = []
        self._soonest: dict[Key, float] = {}
        self._rests: dict[Key, float] = {}  # monotonic: a rest is not made longer by who sets the clock back
        self._after_rest: set[Key] = set()
        self._changed = asyncio.Event()

    def add(self, key: Key) -> None:
        """The key is due now, or when it has rested."""
        if key in self._working:
            self._again.add(key)
        elif self._rests.get(key, 0.0) > self._clock.monotonic():
            self._after_rest.add(key)
            self._changed.set()
        else:
            self._due.setdefault(key.namespace, {})[key] = None
            self._changed.set()

    def add_at(self, key: Key, moment: float) -> None:
        """The key is due at a moment (seconds since the epoch), or earlier if something else asks for it."""
        if moment < self._soonest.get(key, float("inf")):
            self._soonest[key] = moment
            heapq.heappush(self._later, (moment, key))
            self._changed.set()

    async def get(self) -> Key:
        """Wait for a due key; `done` gives it back."""
        while True:
            self._ripen()
            key = self._take()
            if key is not None:
                return key
            await self._until_changed()

    def done(self, key: Key, *, rests_until: float = 0.0) -> None:
        """The key has been worked on, and is not handed out again before a moment of the monotonic clock."""
        self._working.discard(key)
        self._working_of -= Counter((key.namespace,))
        self._changed.set()
        self._rests[key] = rests_until
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def _take(self) -> Key | None:
        """The first due key of the namespace whose turn is next, which then is behind the others."""
        chosen = next((name for name in self._due if self._working_of[name] < self._at_once), None)
        if chosen is None:
            return None
        due = self._due.pop(chosen)
        key = next(iter(due))
        del due[key]
        if due:
            self._due[chosen] = due
        self._working.add(key)
        self._working_of[chosen] += 1
        return key

    def _ripen(self) -> None:
        self._wake()
        now = self._clock.now()
        while self._later and self._later[0][0] <= now:
            moment, key = heapq.heappop(self._later)
            if self._soonest.get(key) == moment:
                del self._soonest[key]
                self.add(key)

    def _wake(self) -> None:
        now = self._clock.monotonic()
        for key in [key for key, moment in self._rests.items() if moment <= now]:
            del self._rests[key]
            if key in self._after_rest:
                self._after_rest.discard(key)
                self.add(key)

    async def _until_changed(self) -> None:
        self._changed.clear()
        waits: list[asyncio.Task[object]] = [asyncio.create_task(self._changed.wait())]
        pauses = [self._rests[key] - self._clock.monotonic() for key in self._after_rest]
        if self._later:
            pauses.append(self._later[0][0] - self._clock.now())
        if pauses:
            waits.append(asyncio.create_task(self._clock.sleep(min(pauses))))
        try:
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waits:
                each.cancel()

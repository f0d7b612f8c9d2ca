"""Places for bodies that stream in or out, shared between namespaces: no namespace takes all of them.

A namespace may hold `share` places. The last `kept` free ones are for namespaces that hold none. A place that becomes
free goes to the waiting namespace that holds fewest.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from torpor_archive import errors
from torpor_archive.errors import RefusedError


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """`total` places; `waiting` is how many requests of a namespace may wait for one, for `seconds` each."""

    total: int
    share: int
    kept: int
    waiting: int = 32
    seconds: float = 30.0


UPLOADS = Shares(total=16, share=8, kept=4)
DOWNLOADS = Shares(total=48, share=24, kept=8)


class Slots:
    """The places of one direction; `what` names a body in messages."""

    def __init__(self, shares: Shares, what: str) -> None:
        self._shares = shares
        self._what = what
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def held(self, namespace: str) -> AsyncIterator[None]:
        """A place while the block runs. Raises RefusedError (503) where there is none for too long."""
        if self._may(namespace) and namespace not in self._waiting:
            self._held[namespace] += 1
        else:
            await self._wait(namespace)
        try:
            yield
        finally:
            self._give_back(namespace)

    def _may(self, namespace: str) -> bool:
        free = self._shares.total - self._held.total()
        mine = self._held[namespace]
        return free > 0 if mine == 0 else mine < self._shares.share and free > self._shares.kept

    async def _wait(self, namespace: str) -> None:
        queue = self._waiting.setdefault(namespace, deque())
        if len(queue) >= self._shares.waiting:
            raise RefusedError(self._busy(namespace))
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(granted)
        try:
            await asyncio.wait_for(asyncio.shield(granted), self._shares.seconds)
        except BaseException as error:
            if granted.done():
                self._give_back(namespace)
            else:
                self._leave(namespace, granted)
            if isinstance(error, TimeoutError):
                raise RefusedError(self._busy(namespace)) from None
            raise

    def _leave(self, namespace: str, granted: asyncio.Future[None]) -> None:
        granted.cancel()
        self._waiting[namespace].remove(granted)
        if not self._waiting[namespace]:
            del self._waiting[namespace]

    def _give_back(self, namespace: str) -> None:
        self._held[namespace] -= 1
        if not self._held[namespace]:
            del self._held[namespace]
        while ready := [each for each in self._waiting if self._may(each)]:
            chosen = min(ready, key=lambda each: self._held[each])
            queue = self._waiting[chosen]
            queue.popleft().set_result(None)
            self._held[chosen] += 1
            if not queue:
                del self._waiting[chosen]

    def _busy(self, namespace: str) -> errors.Refusal:
        held, total = self._held[namespace], self._shares.total
        return errors.unavailable(
            "Busy",
            f"namespace {namespace} has {held} {self._what} under way, and all namespaces {self._held.total()}; a "
            f"namespace may have {self._shares.share}, all together {total}: try again later",
        )

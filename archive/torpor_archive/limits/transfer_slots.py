"""Shares upload and download slots between namespaces, so that no namespace occupies all of them.

A namespace may hold `per_namespace` slots. The last `reserved` free slots are for namespaces that hold none. A freed
slot goes to the waiting namespace that holds the fewest.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from torpor_archive import errors
from torpor_archive.errors import RefusedError


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotLimits:
    """`total` slots. Up to `max_waiting` requests of a namespace wait for one, up to `wait_seconds` each."""

    total: int
    per_namespace: int
    reserved: int
    max_waiting: int = 32
    wait_seconds: float = 30.0

    def allow(self, namespace: str, held: Counter[str]) -> bool:
        """Return whether a namespace may hold one slot more than those that are `held`."""
        free, own = self.total - held.total(), held[namespace]
        return free > 0 if own == 0 else own < self.per_namespace and free > self.reserved


UPLOADS = SlotLimits(total=16, per_namespace=8, reserved=4)
DOWNLOADS = SlotLimits(total=64, per_namespace=16, reserved=16, max_waiting=16)


class TransferSlots:
    """The slots for one direction. `what` names the bodies in messages."""

    def __init__(self, limits: SlotLimits, what: str) -> None:
        self._limits = limits
        self._what = what
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def acquire(self, namespace: str) -> AsyncIterator[None]:
        """Hold a slot during the block. Raises RefusedError (503) if none becomes free in time."""
        if self._limits.allow(namespace, self._held) and namespace not in self._waiting:
            self._held[namespace] += 1
        else:
            await self._wait(namespace)
        try:
            yield
        finally:
            self._release(namespace)

    async def _wait(self, namespace: str) -> None:
        queue = self._waiting.setdefault(namespace, deque())
        if len(queue) >= self._limits.max_waiting:
            raise RefusedError(self._busy(namespace))
        granted: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        queue.append(granted)
        try:
            await asyncio.wait_for(asyncio.shield(granted), self._limits.wait_seconds)
        except BaseException as error:
            if granted.done():
                self._release(namespace)
            else:
                self._stop_waiting(namespace, granted)
            if isinstance(error, TimeoutError):
                raise RefusedError(self._busy(namespace)) from None
            raise

    def _stop_waiting(self, namespace: str, granted: asyncio.Future[None]) -> None:
        granted.cancel()
        self._waiting[namespace].remove(granted)
        if not self._waiting[namespace]:
            del self._waiting[namespace]

    def _release(self, namespace: str) -> None:
        self._held[namespace] -= 1
        if not self._held[namespace]:
            del self._held[namespace]
        while ready := [each for each in self._waiting if self._limits.allow(each, self._held)]:
            chosen = min(ready, key=lambda each: self._held[each])
            queue = self._waiting[chosen]
            queue.popleft().set_result(None)
            self._held[chosen] += 1
            if not queue:
                del self._waiting[chosen]

    def _busy(self, namespace: str) -> errors.ErrorResponse:
        held, total = self._held[namespace], self._limits.total
        return errors.unavailable(
            "Busy",
            f"namespace {namespace} has {held} {self._what} in progress (limit {self._limits.per_namespace}), all "
            f"namespaces {self._held.total()} (limit {total}); try again later",
        )

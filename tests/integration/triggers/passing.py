"""A clock whose waits pass at once and are noted, for triggers that meet real servers but need not wait for them."""

import time
from collections.abc import Awaitable, Callable

LIMIT = 200


class NeverError(Exception):
    """It has waited `limit` times."""


async def _nothing() -> None:
    pass


class PassingClock:
    """A `torpor_kubernetes.timing.Clock`; `slept` has each wait, in seconds, and `meanwhile` happens during each."""

    def __init__(self, meanwhile: Callable[[], Awaitable[object]] = _nothing, *, limit: int = LIMIT) -> None:
        self.slept: list[float] = []
        self._meanwhile = meanwhile
        self._limit = limit
        self._passed = 0.0

    def now(self) -> float:
        return time.time() + self._passed

    def monotonic(self) -> float:
        return time.monotonic() + self._passed

    async def sleep(self, seconds: float) -> None:
        if len(self.slept) >= self._limit:
            raise NeverError
        self.slept.append(seconds)
        self._passed += seconds
        await self._meanwhile()

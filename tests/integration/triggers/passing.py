"""A clock whose waits pass at once and are noted, for triggers that meet real servers but need not wait for them."""

import asyncio
import time

LIMIT = 200


class PassingClock:
    """A `torpor_api.clock.Clock`; `slept` has each wait, in seconds."""

    def __init__(self) -> None:
        self.slept: list[float] = []
        self._passed = 0.0

    def now(self) -> float:
        return time.time() + self._passed

    def monotonic(self) -> float:
        return time.monotonic() + self._passed

    async def sleep(self, seconds: float) -> None:
        assert len(self.slept) < LIMIT, "it waits for what never comes"
        self.slept.append(seconds)
        self._passed += seconds
        await asyncio.sleep(0)

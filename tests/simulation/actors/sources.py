"""The trigger classes of simulated Schedules: a log with a cursor, and a bell without one.

Both read the state of the present simulation, which the person in it changes.
"""

import itertools
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, ClassVar

from torpor.triggers import BaseTrigger, TriggerEvent

from tests.simulation.process import EPOCH

_INTERVAL = 0.5


class Logs:
    """The logs of the present simulation, by name."""

    length: ClassVar[Counter[str]] = Counter()
    broken_until: ClassVar[dict[str, float]] = {}
    numbers = itertools.count(1)

    @classmethod
    def reset(cls) -> None:
        """Begin a simulation."""
        cls.length, cls.broken_until, cls.numbers = Counter(), {}, itertools.count(1)


def item(number: int) -> dict[str, Any]:
    """An event. The list of each fourth is empty, so that an expression fails."""
    return {"number": number, "list": [number] if number % 4 else []}


class LogTrigger(BaseTrigger):
    """Fires for the item after the cursor, as soon as the log has it. Raises OSError while the log is broken."""

    shareable = False

    def __init__(self, log: str, cursor: str | None = None) -> None:
        self._log = log
        self._number = int(cursor or 0) + 1

    async def run(self) -> AsyncIterator[TriggerEvent]:
        while Logs.length[self._log] < self._number:
            await self.services.sleep(_INTERVAL)
            if self.services.now() < EPOCH + Logs.broken_until.get(self._log, 0.0):
                raise OSError("the log is broken")
        yield TriggerEvent(item(self._number) | {"cursor": str(self._number)})


class BellTrigger(BaseTrigger):
    """Fires after a pause, until the bell stops. Each event has another number."""

    shareable = False

    def __init__(self, pause: float, until: float) -> None:
        self._pause = pause
        self._until = until

    async def run(self) -> AsyncIterator[TriggerEvent]:
        await self.services.sleep(self._pause)
        while self.services.now() > self._until:
            await self.services.sleep(1e6)
        yield TriggerEvent(item(next(Logs.numbers)) | {"bell": True})

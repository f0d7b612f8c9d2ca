"""The ticks of a cron expression in a time zone, computed as the operator and the triggerer do. Pure.

Only the commands that need it import this module: the time zones cost milliseconds.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from torpor_wire.cron.ticks import Ticks

_CHUNK = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonedCron:
    """A cron expression in a zone. `name` is that of the zone."""

    ticks: Ticks
    name: str

    def after(self, moment: float) -> Iterator[float]:
        """Yield the ticks after a time, in seconds since the epoch."""
        tick = self.ticks.next(moment)
        while tick is not None:
            yield tick
            tick = self.ticks.next(tick)

    def between(self, start: float, end: float) -> Iterator[float]:
        """Yield the ticks of a period. `start` is included, `end` is not."""
        after, until = math.ceil(start) - 1.0, math.ceil(end) - 1.0  # ticks are whole seconds
        while found := self.ticks.between(after, until, _CHUNK):
            yield from found
            after = found[-1]

    def local(self, moment: float) -> str:
        """Return a time in the zone, with its offset."""
        return datetime.fromtimestamp(moment, self.ticks.zone).isoformat(timespec="seconds").replace("+00:00", "Z")


def parse(expression: str, timezone: str | None = None) -> ZonedCron:
    """Return the ticks of an expression. Raises ValueError with a sentence."""
    return ZonedCron(ticks=Ticks.parse(expression, timezone), name=timezone or "UTC")

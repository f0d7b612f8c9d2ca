"""The ticks of an expression in a time zone, forwards and backwards. The package has the rules."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from itertools import islice
from typing import Self

from torpor_wire.cron import expression, offsets
from torpor_wire.cron.local_times import LocalTimes
from torpor_wire.cron.offsets import Period, zone_named

_YEAR = 366 * 86_400
SEARCH_YEARS = expression.YEARS_MAX + 1
"""A search ends after so many years. Every expression has a day in them; a clock change may always skip its time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticks:
    """The ticks of one expression. Times are seconds since the epoch; ticks are whole seconds."""

    times: LocalTimes
    zone: tzinfo

    @classmethod
    def parse(cls, text: str, timezone: str | None) -> Self:
        """Return the ticks of five or six fields, or of a name such as @daily. No time zone is UTC.

        Raises ValueError with a sentence for an invalid expression and for an unknown time zone.
        """
        try:
            parsed = expression.parse(text)
        except ValueError as error:
            raise ValueError(f"cron {error}") from error
        return cls(times=LocalTimes(parsed), zone=zone_named(timezone))

    def next(self, after: float) -> float | None:
        """Return the first tick after a time. None if there is none within `SEARCH_YEARS` or before the year 9999."""
        if not math.isfinite(after):
            return None
        start = max(math.floor(after) + 1, offsets.FIRST)
        end = min(start + SEARCH_YEARS * _YEAR, offsets.LAST)
        periods = offsets.periods(self.zone, start, end) if start < end else ()
        ticks = (self._first(period, start) for period in periods)
        return next((float(tick) for tick in ticks if tick is not None), None)

    def previous(self, until: float) -> float | None:
        """Return the last tick at or before a time. None if there is none within `SEARCH_YEARS` or after the year 1."""
        if not math.isfinite(until):
            return None
        end = min(math.floor(until) + 1, offsets.LAST)
        start = max(end - SEARCH_YEARS * _YEAR, offsets.FIRST)
        periods = offsets.periods_back(self.zone, start, end) if start < end else ()
        ticks = (self._last(period, end) for period in periods)
        return next((float(tick) for tick in ticks if tick is not None), None)

    def between(self, after: float, until: float, limit: int) -> list[float]:
        """Return the first `limit` ticks with `after < tick <= until`, ascending."""
        return list(islice(self._period(after, until), max(limit, 0)))

    def count(self, after: float, until: float, limit: int) -> int:
        """Return the number of ticks with `after < tick <= until`; `limit` if there are at least so many.

        The cost depends on the number of years, not of ticks.
        """
        if not math.isfinite(until) or after >= until:
            return 0
        end = min(math.floor(until) + 1, offsets.LAST)
        start = max(math.floor(after) + 1, offsets.FIRST) if math.isfinite(after) else offsets.FIRST
        number = 0
        for period in offsets.periods(self.zone, start, end) if start < end else ():
            if number >= limit:
                break
            number += self._count(period, start, end)
        return min(number, max(limit, 0))

    def _period(self, after: float, until: float) -> Iterator[float]:
        tick = self.next(after)
        while tick is not None and tick <= until:
            yield tick
            tick = self.next(tick)

    def _first(self, period: Period, start: int) -> int | None:
        """Return the first tick of a period that is not before `start`."""
        if start <= period.start and self._ticks_after_gap(period):
            return period.start
        local_time = self.times.first(self._begin(period, start), period.end + period.offset)
        return None if local_time is None else local_time - period.offset

    def _last(self, period: Period, end: int) -> int | None:
        """Return the last tick of a period before `end`."""
        local_time = self.times.last(self._begin(period, period.start), min(end, period.end) + period.offset)
        if local_time is not None:
            return local_time - period.offset
        return period.start if period.start < end and self._ticks_after_gap(period) else None

    def _count(self, period: Period, start: int, end: int) -> int:
        begin, stop = self._begin(period, start), min(end, period.end) + period.offset
        number = self.times.count(begin, stop)
        if not (start <= period.start < end and self._ticks_after_gap(period)):
            return number
        skipped_to = period.start + period.offset
        return number + (self.times.first(skipped_to, skipped_to + 1) is None)

    def _begin(self, period: Period, start: int) -> int:
        """Return the first local time of a period that counts: a fixed time ticks only in the first pass."""
        begin = max(start, period.start) + period.offset
        return max(begin, period.start + period.before) if self.times.expression.is_fixed else begin

    def _ticks_after_gap(self, period: Period) -> bool:
        """Whether the clock change at the start of the period has skipped a fixed time."""
        if period.offset <= period.before or not self.times.expression.is_fixed:
            return False
        return self.times.first(period.start + period.before, period.start + period.offset) is not None

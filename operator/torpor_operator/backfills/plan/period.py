"""The ticks of a Backfill: those of some cron sources in a period, in the order in which they are run. Pure.

Two sources can tick at the same time, so a position is a time and a source.
"""

import heapq
import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from torpor_wire.cron.ticks import Ticks

COUNT_SPAN = 13 * 366 * 86_400.0
"""Ticks are counted in so many seconds: each expression ticks in them, and a count costs microseconds for each year."""


class SourceTick(NamedTuple):
    """A tick in seconds since the epoch, and its source."""

    at: float
    source: str


class TickCount(NamedTuple):
    """A number of ticks, and whether there may be more."""

    number: int
    more: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPeriod:
    """The ticks of the sources at `start` and later, before `end` (seconds since the epoch)."""

    sources: Mapping[str, Ticks]  # by name
    start: float
    end: float
    reverse: bool = False

    def following(self, cursor: SourceTick | None, limit: int) -> list[SourceTick]:
        """The first `limit` ticks behind the cursor, or of the whole period without one."""
        each = [self._reversed(name, cursor) if self.reverse else self._ordered(name, cursor) for name in self.sources]
        return list(itertools.islice(heapq.merge(*each, reverse=self.reverse), limit))

    def count(self, cursor: SourceTick | None, limit: int) -> TickCount:
        """The number of ticks behind the cursor: at most `limit`, and those within `COUNT_SPAN`.

        A pass counts no further. The next ones are counted when these have been run.
        """
        total, more = 0, False
        for name, ticks in self.sources.items():
            after, until = self._bounds(name, cursor)
            if until - after > COUNT_SPAN:
                more = True
                after, until = (until - COUNT_SPAN, until) if self.reverse else (after, after + COUNT_SPAN)
            if after < until and total < limit:
                total += ticks.count(after, until, limit - total)
        return TickCount(total, more or total == limit)

    def _ordered(self, name: str, cursor: SourceTick | None) -> Iterator[SourceTick]:
        after, until = self._bounds(name, cursor)
        while (at := self.sources[name].next(after)) is not None and at <= until:
            yield SourceTick(at, name)
            after = at

    def _reversed(self, name: str, cursor: SourceTick | None) -> Iterator[SourceTick]:
        after, until = self._bounds(name, cursor)
        while (at := self.sources[name].previous(until)) is not None and at > after:
            yield SourceTick(at, name)
            until = at - 1

    def _bounds(self, name: str, cursor: SourceTick | None) -> tuple[float, float]:
        """The part of the period behind the cursor for one source: after the first, up to and including the second.

        Ticks are whole seconds, so `start` is after the second before it.
        """
        after, until = math.ceil(self.start) - 1, math.ceil(self.end) - 1
        if cursor is None:
            return after, until
        if self.reverse:
            return after, min(until, cursor.at if name < cursor.source else cursor.at - 1)
        return max(after, cursor.at - 1 if name > cursor.source else cursor.at), until

"""The waits on one source: whose turn it is, who is asked for with whom, and how long the source is left in peace.

Each wait has a limit to how many it is asked for with. It shrinks where that failed, and grows where it went
well: so a wait that spoils every query it is part of is soon asked for alone, and the others together again. Pure.
"""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from torpor_wire.backoff import Backoff

_GROWTH_MAX = 12.0
_PAUSE_MAX = 60.0
_RETRY_AFTER_MAX = 3600.0


@dataclass(slots=True)
class LookStats:
    """How often a trigger has looked, when it did last, and when it looks again (seconds since the epoch)."""

    tries: int = 0
    last_at: float = 0.0
    next_at: float = 0.0


@dataclass(slots=True, kw_only=True, eq=False)
class Member:
    """One wait. `answer` is the future of its event; `most`: how many it is asked for with, itself among them.

    `home` is where it is looked for.
    """

    trigger: Any
    answer: Any
    looks: LookStats
    interval: float
    limit: int = sys.maxsize
    next_at: float = float("-inf")
    source: Any = None

    def record_look(self, now: float, factor: float) -> None:
        """It has been asked for, and is again after its interval, times the factor."""
        self.next_at = now + self.interval * factor
        self.looks.tries += 1
        self.looks.last_at, self.looks.next_at = now, self.next_at


def due(members: Collection[Member], now: float) -> list[Member]:
    """Whose turn it is; who would be next within half of the shortest interval comes along."""
    horizon = now + fastest(members) / 2
    return [one for one in members if one.next_at <= horizon]


def fastest(members: Collection[Member]) -> float:
    """The shortest of their intervals, in seconds."""
    return min((one.interval for one in members), default=0.0)


def make_batches(members: Collection[Member]) -> list[list[Member]]:
    """As few as their limits allow; who has been in trouble comes last."""
    found: list[list[Member]] = []
    for one in sorted(members, key=lambda one: -one.limit):
        if found and len(found[-1]) < one.limit:
            found[-1].append(one)
        else:
            found.append([one])
    return found


def halves(batch: Sequence[Member]) -> list[list[Member]]:
    """What is asked for next where one of them is to blame and nobody knows who."""
    half = (len(batch) + 1) // 2
    shrink(batch, half)
    return [list(batch[:half]), list(batch[half:])]


def shrink(batch: Collection[Member], limit: int) -> None:
    """Ask for fewer at once."""
    for one in batch:
        one.limit = max(1, min(one.limit, limit))


def grow(batch: Collection[Member], limit: int) -> None:
    """It went well: ask for half as many more at once the next time."""
    for one in batch:
        if one.limit < limit:
            one.limit = min(limit, one.limit + 1 + one.limit // 2)


def backoff(interval: float, failures: int, asked: float, jitter: float) -> float:
    """Seconds until a source is asked again that had no answer so many times, and asked for so many seconds itself.

    It doubles each time, up to twelve intervals and a minute; `jitter` is a number from 0 to 1.
    """
    limit = max(interval, min(_PAUSE_MAX, _GROWTH_MAX * interval))
    grown = Backoff(first=interval, cap=limit).delay(failures)
    return max(grown * (0.9 + 0.2 * jitter), min(max(asked, 0.0), _RETRY_AFTER_MAX) * (1.0 + 0.1 * jitter))

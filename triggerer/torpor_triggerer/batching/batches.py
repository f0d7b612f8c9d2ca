"""Decides which waits on one source are polled together, and when. Pure.

Each wait has a limit to the size of its batch. It halves after a failure and grows after a success: a wait that spoils
its queries is soon polled alone, the others together again.
"""

import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from torpor.triggers.support import polling
from torpor_wire.retry import Backoff

_GROWTH_MAX = 12.0
_PAUSE_MAX = 60.0
_RETRY_AFTER_MAX = 3600.0


@dataclass(slots=True)
class PollStats:
    """How often a trigger was polled, and the times of its last and next poll, in seconds since the epoch."""

    tries: int = 0
    last_at: float = 0.0
    next_at: float = 0.0


class Answered(Protocol):
    """Gets the event of a wait, or an error: a future, or what ends a wait without a task."""

    def done(self) -> bool:
        """Whether it needs neither any more."""

    def set_result(self, result: Any, /) -> None:
        """Take the event."""

    def set_exception(self, exception: BaseException, /) -> None:
        """Take the error."""


@dataclass(slots=True, kw_only=True, eq=False)
class Member:
    """One wait.

    `answer`: who gets its event. `limit`: the largest batch that may contain it. `source`: its source.
    """

    trigger: Any
    answer: Answered
    poll_stats: PollStats
    interval: float
    limit: int = sys.maxsize
    next_at: float = float("-inf")
    source: Any = None

    def record_poll(self, now: float, factor: float) -> None:
        """Record a poll; the next one is due after the interval times the factor."""
        self.next_at = now + self.interval * factor
        self.poll_stats.tries += 1
        self.poll_stats.last_at, self.poll_stats.next_at = now, self.next_at


def due(members: Collection[Member], now: float) -> list[Member]:
    """Return the members to poll now, with those due within half of the shortest interval."""
    horizon = now + fastest(members) / 2
    return [member for member in members if member.next_at <= horizon]


def fastest(members: Collection[Member]) -> float:
    """Return the shortest interval, in seconds."""
    return min((member.interval for member in members), default=0.0)


def make_batches(members: Collection[Member]) -> list[list[Member]]:
    """Return as few batches as the limits allow; members with failures are last."""
    batches: list[list[Member]] = []
    for member in sorted(members, key=lambda member: -member.limit):
        if batches and len(batches[-1]) < member.limit:
            batches[-1].append(member)
        else:
            batches.append([member])
    return batches


def halves(batch: Sequence[Member]) -> list[list[Member]]:
    """Split a batch of which an unknown member spoils the query."""
    half = (len(batch) + 1) // 2
    shrink(batch, half)
    return [list(batch[:half]), list(batch[half:])]


def shrink(batch: Collection[Member], limit: int) -> None:
    """Lower the limits."""
    for member in batch:
        member.limit = max(1, min(member.limit, limit))


def grow(batch: Collection[Member], limit: int) -> None:
    """Raise the limits by half after a success."""
    for member in batch:
        if member.limit < limit:
            member.limit = min(limit, member.limit + 1 + member.limit // 2)


def backoff(interval: float, failures: int, retry_after_seconds: float, jitter: float) -> float:
    """Return the seconds until a source is polled again after failures in a row.

    The pause doubles each time, up to twelve intervals and a minute. It is at least `retry_after_seconds`, of which at
    most an hour counts. `jitter` is a number from 0 to 1.
    """
    limit = max(interval, min(_PAUSE_MAX, _GROWTH_MAX * interval))
    grown = Backoff(first=interval, cap=limit).delay(failures)
    return max(polling.vary(grown, jitter), min(max(retry_after_seconds, 0.0), _RETRY_AFTER_MAX) * (1.0 + 0.1 * jitter))

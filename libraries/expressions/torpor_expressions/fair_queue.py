"""Serves requests fairly by share: next is the share that used the least CPU time recently. Pure.

Shares are names that the caller chooses, such as namespaces. A share above its budget waits behind the others and
leaves one server free for them. It is never rejected, and usage decays with time, so it never starves.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
WINDOW_SECONDS = 60.0
_DEBT_MAX = 2.0
"""The maximum debt in budgets, so that a share recovers within two windows."""


@dataclass(slots=True)
class _Share(Generic[T]):
    waiting: deque[T] = field(default_factory=deque)
    running: int = 0
    used: float = 0.0
    at: float = 0.0


class FairQueue(Generic[T]):
    """Waiting requests by share. Call `done` for each `take`."""

    def __init__(self, *, servers: int, budget: float, cost_max: float) -> None:
        """Create the queue. `budget`: CPU seconds of a share per minute. `cost_max`: CPU seconds of one request."""
        self._servers = servers
        self._budget = budget
        self._cost_max = cost_max
        self._shares: dict[str, _Share[T]] = {}

    def put(self, share: str, request: T) -> None:
        """Append a request to its share."""
        self._shares.setdefault(share, _Share()).waiting.append(request)

    def take(self, now: float) -> tuple[str, T] | None:
        """Return the next request and its share; None if none may be served before another is done."""
        waiting = [name for name, share in self._shares.items() if share.waiting]
        for name in waiting:
            self._forget(self._shares[name], now)
        if not self._may_exceed(now):
            waiting = [name for name in waiting if not self._exceeds(self._shares[name])]
        chosen = min(waiting, key=self._weight, default=None)
        if chosen is None:
            return None
        share = self._shares.pop(chosen)
        self._shares[chosen] = share  # Behind the shares with the same usage.
        share.running += 1
        return chosen, share.waiting.popleft()

    def done(self, share: str, seconds: float, now: float) -> bool:
        """Record the cost of a request. Return whether its share has now exceeded its budget."""
        entry = self._shares[share]
        self._forget(entry, now)
        exceeded = self._exceeds(entry)
        entry.running -= 1
        entry.used = min(entry.used + seconds, self._budget * _DEBT_MAX)
        self._drop_idle(now)
        return self._exceeds(entry) and not exceeded

    def drain(self) -> list[T]:
        """Remove and return all waiting requests."""
        requests = [request for share in self._shares.values() for request in share.waiting]
        for share in self._shares.values():
            share.waiting.clear()
        return requests

    def _weight(self, name: str) -> float:
        share = self._shares[name]
        return share.used + share.running * self._cost_max

    def _exceeds(self, share: _Share[T]) -> bool:
        return share.used > self._budget

    def _may_exceed(self, now: float) -> bool:
        """Return whether a share above its budget may be served: not by the last free server."""
        busy = 0
        for share in self._shares.values():
            self._forget(share, now)
            busy += share.running if self._exceeds(share) else 0
        return busy < max(1, self._servers - 1)

    def _forget(self, share: _Share[T], now: float) -> None:
        share.used = max(0.0, share.used - (now - share.at) * self._budget / WINDOW_SECONDS)
        share.at = now

    def _drop_idle(self, now: float) -> None:
        for name, share in list(self._shares.items()):
            self._forget(share, now)
            if not (share.waiting or share.running or share.used):
                del self._shares[name]

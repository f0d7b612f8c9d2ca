"""Which request is served next: that of the share which has used the least processor time of late.

Shares are words that the caller chooses, such as namespaces; nothing here knows what they mean. A share that has used
more than its budget waits behind the others, and leaves one server free for them, so that who comes next need not wait
for an expression of it to end. It is never refused and, as what it used is forgotten with time, never starved. Pure:
time is passed in.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")
WINDOW_SECONDS = 60.0
_DEBT_MAX = 2.0
"""How many budgets are remembered at most, so that a share recovers within two windows."""


@dataclass(slots=True)
class _Share(Generic[T]):
    waiting: deque[T] = field(default_factory=deque)
    running: int = 0
    used: float = 0.0
    at: float = 0.0


class FairQueue(Generic[T]):
    """Requests that wait, by share. `take` and `done` go in pairs."""

    def __init__(self, *, servers: int, budget: float, cost_max: float) -> None:
        """`budget`: processor seconds a share may use in a minute. `cost_max`: those that one request may take."""
        self._servers = servers
        self._budget = budget
        self._cost_max = cost_max
        self._shares: dict[str, _Share[T]] = {}

    def put(self, share: str, request: T) -> None:
        """The request waits behind those of its share."""
        self._shares.setdefault(share, _Share()).waiting.append(request)

    def take(self, now: float) -> tuple[str, T] | None:
        """The next request and its share; None where none may be served before another is done."""
        waiting = [name for name, share in self._shares.items() if share.waiting]
        for name in waiting:
            self._forget(self._shares[name], now)
        if not self._may_exceed(now):
            waiting = [name for name in waiting if not self._exceeds(self._shares[name])]
        chosen = min(waiting, key=self._weight, default=None)
        if chosen is None:
            return None
        share = self._shares.pop(chosen)
        self._shares[chosen] = share  # Behind the others that have used as little.
        share.running += 1
        return chosen, share.waiting.popleft()

    def done(self, share: str, seconds: float, now: float) -> bool:
        """The request has been served and took so long. Whether its share has exceeded its budget by that."""
        entry = self._shares[share]
        self._forget(entry, now)
        exceeded = self._exceeds(entry)
        entry.running -= 1
        entry.used = min(entry.used + seconds, self._budget * _DEBT_MAX)
        self._drop_idle(now)
        return self._exceeds(entry) and not exceeded

    def drain(self) -> list[T]:
        """All that wait; they are no longer in the queue."""
        found = [request for share in self._shares.values() for request in share.waiting]
        for share in self._shares.values():
            share.waiting.clear()
        return found

    def _weight(self, name: str) -> float:
        share = self._shares[name]
        return share.used + share.running * self._cost_max

    def _exceeds(self, share: _Share[T]) -> bool:
        return share.used > self._budget

    def _may_exceed(self, now: float) -> bool:
        """Whether a share beyond its budget may be served: not by the last server that is left for the others."""
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

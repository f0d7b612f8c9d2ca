"""Limits the reviews of tokens that are not known to be good: for each client, each peer, and in all. Pure.

A peer is the address of a connection. The API server's proxy is one peer for many clients, so a client is also told
apart by the address that the proxy appends. The last part of each rate is for those that have asked for little.
"""

from dataclasses import dataclass
from typing import NamedTuple

from cachetools import LRUCache

ENTRIES = 4096
_LITTLE = 5.0
"""Reviews that a client or peer may have used of its burst, and still asks for little."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Reviews per second, the most at once, and the part of them for those that have asked for little."""

    per_second: float
    burst: float
    reserved: float = 0.0


CLIENT = Rate(per_second=5.0, burst=30.0)
PEER = Rate(per_second=20.0, burst=100.0, reserved=25.0)
TOTAL = Rate(per_second=100.0, burst=300.0, reserved=75.0)


class RequestOrigin(NamedTuple):
    """Where a request comes from. `forwarded` is the last address of X-Forwarded-For; a peer may invent it."""

    peer: str
    forwarded: str = ""


class _Bucket:
    def __init__(self, rate: Rate, now: float) -> None:
        self._rate = rate
        self._left = rate.burst
        self._at = now

    def left(self, now: float) -> float:
        self._left = min(self._rate.burst, self._left + (now - self._at) * self._rate.per_second)
        self._at = now
        return self._left

    def allows(self, now: float, *, asks_for_little: bool) -> bool:
        return self.left(now) >= 1.0 + (0.0 if asks_for_little else self._rate.reserved)

    def asks_for_little(self, now: float) -> bool:
        return self.left(now) >= self._rate.burst - _LITTLE

    def take(self) -> None:
        self._left -= 1.0


class ReviewRates:
    """The reviews of tokens that are not known."""

    def __init__(self, *, client: Rate = CLIENT, peer: Rate = PEER, total: Rate = TOTAL) -> None:
        self._rates = (client, peer)
        self._clients: LRUCache[RequestOrigin, _Bucket] = LRUCache(ENTRIES)
        self._peers: LRUCache[str, _Bucket] = LRUCache(ENTRIES)
        self._total = _Bucket(total, 0.0)

    def take(self, client: RequestOrigin, now: float) -> bool:
        """Return whether the client may have a review now, at a time of a monotonic clock, and count it."""
        by_client = self._clients.setdefault(client, _Bucket(self._rates[0], now))
        by_peer = self._peers.setdefault(client.peer, _Bucket(self._rates[1], now))
        allowed = (
            by_client.allows(now, asks_for_little=True)
            and by_peer.allows(now, asks_for_little=by_client.asks_for_little(now))
            and self._total.allows(now, asks_for_little=by_peer.asks_for_little(now))
        )
        if allowed:
            for bucket in (by_client, by_peer, self._total):
                bucket.take()
        return allowed

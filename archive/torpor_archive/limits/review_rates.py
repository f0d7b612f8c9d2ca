"""Limits the reviews of tokens that are not known to be good: for each client, each peer, and in all. Pure.

A peer is the address of a connection. The API server's proxy is one peer for many clients, so the
address that the proxy appends also distinguishes clients. The last part of each rate is for clients with few requests.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from torpor_kubernetes.fairness.token_buckets import TokenBuckets

K = TypeVar("K", bound=Hashable)

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


class ReviewRates:
    """The reviews of tokens that are not known."""

    def __init__(self, *, client: Rate = CLIENT, peer: Rate = PEER, total: Rate = TOTAL) -> None:
        self._client, self._peer, self._total = client, peer, total
        self._of_clients: TokenBuckets[RequestOrigin] = _buckets(client)
        self._of_peers: TokenBuckets[str] = _buckets(peer)
        self._of_all: TokenBuckets[None] = _buckets(total)

    def take(self, client: RequestOrigin, now: float) -> bool:
        """Return whether the client may have a review now, at a time of a monotonic clock, and count it."""
        peer = client.peer
        client_reserve = 0.0 if _asks_for_little(self._of_clients, self._client, client, now) else self._peer.reserved
        peer_reserve = 0.0 if _asks_for_little(self._of_peers, self._peer, peer, now) else self._total.reserved
        allowed = (
            self._of_clients.has(client, now)
            and self._of_peers.has(peer, now, kept=client_reserve)
            and self._of_all.has(None, now, kept=peer_reserve)
        )
        if allowed:
            self._of_clients.reserve(client, now)
            self._of_peers.reserve(peer, now)
            self._of_all.reserve(None, now)
        return allowed


def _buckets(rate: Rate) -> TokenBuckets[K]:
    return TokenBuckets(rate=rate.per_second, burst=rate.burst, entries=ENTRIES)


def _asks_for_little(buckets: TokenBuckets[K], rate: Rate, owner: K, now: float) -> bool:
    return buckets.has(owner, now, kept=rate.burst - _LITTLE - 1.0)

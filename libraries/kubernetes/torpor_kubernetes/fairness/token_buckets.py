"""Token buckets: a rate limit for each owner, such as a namespace or an object. Pure.

A bucket is the time at which it is full again, as in the generic cell rate algorithm. A full bucket needs no entry, so
memory holds only owners that were active a short time ago, and at most `entries` of them.
"""

from collections import OrderedDict
from collections.abc import Hashable
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)

ENTRIES = 4096
_ROUNDING = 1e-6


class TokenBuckets(Generic[K]):
    """`rate` tokens a second for each owner, `burst` at once. Buckets start full; a rate of 0 gives no token.

    `now` is monotonic time in seconds. Beyond `entries` owners, the one that took a token longest ago starts again with
    a full bucket.
    """

    def __init__(self, *, rate: float, burst: float, entries: int = ENTRIES) -> None:
        self._rate = rate
        self._burst = burst if rate > 0 else 0.0
        self._entries = entries
        self._full_at: OrderedDict[K, float] = OrderedDict()  # by owner, the latest use last

    def __len__(self) -> int:
        return len(self._full_at)

    def has(self, owner: K, now: float, *, kept: float = 0.0) -> bool:
        """Whether the owner may take a token. `kept`: how many tokens must remain."""
        return self._tokens(owner, now) + _ROUNDING >= 1.0 + kept

    def take(self, owner: K, now: float) -> bool:
        """Take a token. False if there is none."""
        if not self.has(owner, now):
            return False
        self.reserve(owner, now)
        return True

    def reserve(self, owner: K, now: float) -> float:
        """Take a token that the bucket may not have yet. Returns the time from which the owner may use it."""
        if self._rate <= 0:
            return float("inf")
        moment = now + self.delay(owner, now)
        self._full_at[owner] = max(self._full_at.get(owner, now), now) + 1.0 / self._rate
        self._full_at.move_to_end(owner)
        self._drop_full(now)
        return moment

    def delay(self, owner: K, now: float, *, ahead: int = 0) -> float:
        """Seconds until the owner may take a token, after `ahead` others have taken one each."""
        if self._rate <= 0:
            return float("inf")
        missing = 1.0 + ahead - self._tokens(owner, now)
        return 0.0 if missing <= _ROUNDING else missing / self._rate

    def _tokens(self, owner: K, now: float) -> float:
        """The tokens of the bucket: negative if later ones are reserved."""
        return self._burst - max(self._full_at.get(owner, now) - now, 0.0) * self._rate

    def _drop_full(self, now: float) -> None:
        while len(self._full_at) > 1:
            owner, full_at = next(iter(self._full_at.items()))
            if full_at > now and len(self._full_at) <= self._entries:
                return
            del self._full_at[owner]

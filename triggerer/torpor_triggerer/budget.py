"""How much may be written that nobody waits for: a token bucket, so that 20,000 waits cost no more than twenty.

Namespaces share the tokens as they share all else (`shares`): one that has just taken many leaves some to the others.
"""

from torpor_api.clock import Clock

from torpor_triggerer.shares import GENEROSITY


class Budget:
    """`rate` tokens a second, `burst` at most at once; it begins full."""

    def __init__(self, clock: Clock, *, rate: float, burst: float) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._at = clock.monotonic()
        self._taken: dict[str, float] = {}

    @classmethod
    def of_sentences(cls, clock: Clock, rate: float) -> "Budget":
        """For what is said on TaskRuns: a second's worth at once; a rate of 0 is none at all."""
        return cls(clock, rate=rate, burst=max(rate, 1.0) if rate > 0 else 0.0)

    def take(self, owner: str = "") -> bool:
        """Whether there was a token for an owner; it is gone then."""
        self._refill()
        taken = self._taken.get(owner, 0.0)
        if self._tokens < 1.0 or taken >= GENEROSITY * self._tokens:
            return False
        self._tokens -= 1.0
        self._taken[owner] = taken + 1.0
        return True

    def _refill(self) -> None:
        """What an owner has taken is forgotten as fast as tokens come."""
        now = self._clock.monotonic()
        gained, self._at = (now - self._at) * self._rate, now
        self._tokens = min(self._burst, self._tokens + gained)
        self._taken = {owner: left for owner, taken in self._taken.items() if (left := taken - gained) > 0.0}

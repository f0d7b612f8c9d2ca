"""How much may be written that nobody waits for: a token bucket, so that 20,000 waits cost no more than twenty."""

from torpor_api.clock import Clock


class Budget:
    """`rate` tokens a second, `burst` at most at once; it begins full."""

    def __init__(self, clock: Clock, *, rate: float, burst: float) -> None:
        self._clock = clock
        self._rate = rate
        self._burst = burst
        self._tokens = burst
        self._at = clock.monotonic()

    @classmethod
    def of_sentences(cls, clock: Clock, rate: float) -> "Budget":
        """For what is said on TaskRuns: a second's worth at once; a rate of 0 is none at all."""
        return cls(clock, rate=rate, burst=max(rate, 1.0) if rate > 0 else 0.0)

    def take(self) -> bool:
        """Whether there was a token; it is gone then."""
        now = self._clock.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

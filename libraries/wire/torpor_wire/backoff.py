"""Exponential back-off: the delay before a retry. Pure; the caller passes the failures and the random number."""

from typing import NamedTuple


class Backoff(NamedTuple):
    """A delay that grows with each failure in a row: `first`, `first * factor`, ... up to `cap` seconds.

    `jitter` is the fraction of a delay that is random: 0 disables it, 0.5 gives delays from half to the whole
    (equal jitter), 1 delays from nothing to the whole (full jitter). So `cap` holds with jitter, too.

    >>> Backoff(first=0.2, cap=10.0).delay(3)
    0.8
    """

    first: float
    cap: float
    factor: float = 2.0
    jitter: float = 0.5

    def delay(self, failures: int, random: float = 1.0) -> float:
        """Return the seconds to wait after so many failures in a row (1 is the first; 0 counts as 1).

        `random` is a number from 0 to 1; the default returns the whole delay.
        """
        try:
            whole = min(self.cap, self.first * self.factor ** max(failures - 1, 0))
        except OverflowError:
            whole = self.cap
        return whole * (1.0 - self.jitter * (1.0 - random))

"""Computes when a failed attempt is retried, from the retry policy on the TaskRun.

Each writer of a failure (pod, triggerer, operator) computes it, so a retry needs one write less.
"""

from hashlib import sha256
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


DELAY = 10.0
BACKOFF = 2.0
MAX_DELAY = 3_600.0
_HASHES = 2**32


class Policy(NamedTuple):
    """A retry policy: `limit` counts retries, not attempts; delays are in seconds.

    `max_delay` None is an hour, or twice `delay` if that is longer. No pause is shorter than `delay`.
    """

    limit: int = 0
    delay: float = DELAY
    backoff: float = BACKOFF
    max_delay: float | None = None

    @property
    def longest(self) -> float:
        """The longest pause in seconds."""
        if self.max_delay is None:
            return max(MAX_DELAY, 2 * self.delay)
        return max(self.max_delay, self.delay)


def next_attempt_at(policy: Policy, attempt: int, now: float, *, uid: str) -> float | None:
    """Return when the attempt after `attempt` (counted from 1) starts, None if the policy allows no other.

    Where the pauses grow, instances that failed together are spread over twice the pause, as in Airflow. The spread is
    a hash of the TaskRun's uid and the attempt, so that each writer computes the same.
    """
    if attempt > policy.limit:
        return None
    pause = Backoff(policy.delay, policy.longest, policy.backoff).delay(attempt)
    if policy.backoff <= 1:
        return now + pause
    latest = min(2 * pause, policy.longest)
    earliest = min(pause, max(policy.delay, latest / 2))
    return now + earliest + (latest - earliest) * _fraction(uid, attempt)


def _fraction(uid: str, attempt: int) -> float:
    """Return a number from 0 to 1 that differs between TaskRuns and attempts."""
    digest = sha256(f"{uid}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4]) / _HASHES

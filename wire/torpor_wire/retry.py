"""Computes when a failed attempt is retried, from the retry policy on the TaskRun.

Each writer of a failure (pod, triggerer, operator) computes it, so a retry needs one write less.
"""

from typing import NamedTuple

from torpor_wire.backoff import Backoff

DELAY = 10.0
BACKOFF = 2.0
MAX_DELAY = 3_600.0


class Policy(NamedTuple):
    """A retry policy: `limit` counts retries, not attempts; delays are in seconds."""

    limit: int = 0
    delay: float = DELAY
    backoff: float = BACKOFF
    max_delay: float = MAX_DELAY


def next_attempt_at(policy: Policy, attempt: int, now: float) -> float | None:
    """Return when the attempt after `attempt` (counted from 1) starts, None if the policy allows no other."""
    if attempt > policy.limit:
        return None
    return now + Backoff(policy.delay, policy.max_delay, policy.backoff).delay(attempt)

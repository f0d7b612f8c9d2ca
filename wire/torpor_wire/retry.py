"""When a failed attempt is tried again: arithmetic on the retry policy that stands on the TaskRun.

Whoever reports a failure (pod, triggerer, operator) computes what follows by this: a retry costs one write less.
"""

from typing import NamedTuple

from torpor_wire.backoff import Backoff

DELAY = 10.0
BACKOFF = 2.0
MAX_DELAY = 3_600.0


class Policy(NamedTuple):
    """How often and after what delay (seconds) an attempt is repeated; `limit` counts retries, not attempts."""

    limit: int = 0
    delay: float = DELAY
    backoff: float = BACKOFF
    max_delay: float = MAX_DELAY


def next_attempt_at(policy: Policy, attempt: int, now: float) -> float | None:
    """When the attempt after this one (counted from 1) may start, or None when the policy allows no more."""
    if attempt > policy.limit:
        return None
    return now + Backoff(policy.delay, policy.max_delay, policy.backoff).delay(attempt)

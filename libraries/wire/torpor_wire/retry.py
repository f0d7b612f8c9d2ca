"""Computes when a failed attempt is retried, from the retry policy on the TaskRun.

Each writer of a failure (pod, triggerer, operator) computes it, so a retry needs one write less.
"""

from typing import NamedTuple

from torpor_wire import constants, text
from torpor_wire.canonical import Json


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
UNLIMITED = -1
"""The `limit` of a policy without a limit."""
LIMIT_MAX = 100
"""The highest other limit. Attempts beyond it, which only an unlimited policy has, start at least `PACE` apart."""
PACE = 60.0
_HASHES = 2**32


class Policy(NamedTuple):
    """A retry policy: `limit` counts retries, not attempts, and is UNLIMITED for any number; delays are in seconds.

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


class FailureDetails(NamedTuple):
    """What is known of a failure beside its reason: `retries.when` reads it.

    `exception` is the class of a Python exception, `exit_code` that of the container, and `http_status` that of an HTTP
    response. `retry_after` is the shortest pause in seconds that the server asked for.
    """

    exception: str = ""
    exit_code: int | None = None
    http_status: int | None = None
    retry_after: float = 0.0

    def fields(self) -> dict[str, Json]:
        """Return the fields of the status, without those that are not known."""
        exception = text.printable_line(self.exception)[: constants.EXCEPTION_MAX] or None
        known: dict[str, Json] = {"exception": exception, "exitCode": self.exit_code, "httpStatus": self.http_status}
        return {name: value for name, value in known.items() if value is not None}


NO_DETAILS = FailureDetails()


def next_attempt_at(policy: Policy, attempt: int, now: float, *, uid: str, least: float = 0.0) -> float | None:
    """Return when the attempt after `attempt` (counted from 1) starts, None if the policy allows no other.

    Where the pauses grow, instances that failed together are spread over twice the pause, as in Airflow. The spread is
    a hash of the TaskRun's uid and the attempt, so that each writer computes the same. `least` is the shortest pause.
    """
    if policy.limit != UNLIMITED and attempt > policy.limit:
        return None
    if attempt > LIMIT_MAX:
        least = max(least, PACE)
    return now + max(_pause(policy, attempt, uid), least)


def earliest_start(attempt: int, created: float) -> float:
    """Return the earliest start of an attempt, by the creation of its TaskRun alone.

    It bounds the pace of unlimited retries: the API server sets the creation, and no pod can change it.
    """
    return created + max(attempt - 1 - LIMIT_MAX, 0) * PACE


def in_time(total: float | None, first_start: float, start: float) -> bool:
    """Return whether an attempt that begins at `start` is within `total` seconds of the start of the first one."""
    return total is None or start <= first_start + total


def _pause(policy: Policy, attempt: int, uid: str) -> float:
    """Return the seconds between a failure and the next attempt."""
    pause = Backoff(policy.delay, policy.longest, policy.backoff).delay(attempt)
    if policy.backoff <= 1:
        return pause
    latest = min(2 * pause, policy.longest)
    earliest = min(pause, max(policy.delay, latest / 2))
    return earliest + (latest - earliest) * _fraction(uid, attempt)


def _fraction(uid: str, attempt: int) -> float:
    """Return a number from 0 to 1 that differs between TaskRuns and attempts."""
    from hashlib import sha256  # noqa: PLC0415 - 1 ms at the start of a task pod, which rarely needs it

    digest = sha256(f"{uid}/{attempt}".encode()).digest()
    return int.from_bytes(digest[:4]) / _HASHES

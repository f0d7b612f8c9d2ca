"""Deadlines of a TaskRun: the attempt's, from `spec.timeout`, and a deferral's, in `status.deadline`. Pure.

The triggerer enforces `status.deadline`. The operator enforces the attempt's deadline while a pod runs, and
`status.deadline` only when no triggerer responds. Both must agree on whether a deferral ends at its own deadline,
which may resume the task (`onTimeout`), or at the attempt's, which fails it.
"""

from torpor_wire import times

ROUNDING = 0.002
"""Seconds: objects store times in milliseconds, and each of two times may be rounded."""


def attempt_deadline(started: str | None, timeout: str | None, *, paused: float = 0.0) -> float | None:
    """Return when an attempt exceeds its timeout, in seconds since the epoch; None if it has no limit yet.

    `started` is an RFC 3339 time and `timeout` a duration, as on the TaskRun. `paused` is the seconds that do not
    count: the time deferred where `timeoutWhileDeferred` is false.
    """
    if started is None or timeout is None:
        return None
    return times.epoch(started) + times.seconds(timeout) + paused


def deferral_deadline(*, timeout: float | None, attempt_deadline: float | None, now: float) -> float | None:
    """Return `status.deadline` of a deferral that begins now: the earlier of its own and the attempt's deadline.

    `timeout` is the deferral's, in seconds. `attempt_deadline` is None where `timeoutWhileDeferred` is false.
    """
    own = None if timeout is None else now + timeout
    return min((limit for limit in (own, attempt_deadline) if limit is not None), default=None)


def is_attempt_deadline(deadline: float | None, attempt_deadline: float | None) -> bool:
    """Return whether a deferral's deadline is the attempt's: then the attempt fails, and `onTimeout` does not apply.

    `attempt_deadline` is None where `timeoutWhileDeferred` is false.
    """
    if deadline is None or attempt_deadline is None:
        return False
    return deadline >= attempt_deadline - ROUNDING

"""Decides to which moment time may be skipped. Pure.

Time is skipped only if nothing else can change the run. A pod runs in real time. A trigger that asks a server depends
on the server and not on the clock.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from torpor_wire import times
from torpor_wire.state import TERMINAL, State

Object = Mapping[str, Any]


def next_moment(
    taskruns: Iterable[Object], workflows: Iterable[Object], *, waits_at: float | None, waits: int
) -> float | None:
    """Return the next moment at which something happens, in seconds since the epoch; None if time must not be skipped.

    `waits_at` is when the first of the triggerer's `waits` ends, None if one of them does not end at a known time.
    """
    moments: list[float] = [] if waits_at is None else [waits_at]
    deferred = 0
    for run in taskruns:
        status = run["status"]
        match State(status["state"]):
            case State.DEFERRED:
                deferred += 1
            case State.UP_FOR_RETRY:
                moments.append(times.epoch(status["retryAt"]))
            case state if state not in TERMINAL:
                return None
    if deferred != waits or (waits and waits_at is None) or not moments:
        return None
    moments += filter(None, map(_timeout, workflows))
    return min(moments)


def _timeout(workflow: Object) -> float | None:
    """Return when the run exceeds `spec.timeout`, None if it has none or has ended."""
    status, timeout = workflow.get("status") or {}, workflow["spec"].get("timeout")
    started = status.get("reopenedTime") or status.get("startTime")
    if not timeout or not started or status.get("completionTime"):
        return None
    return times.epoch(started) + times.seconds(timeout)

"""Decides what ends the waits of a local run: an event that the user gives, or time that may be skipped. Pure.

A wait with an event ends at once, and its trigger does not run. Time is skipped only if nothing else can change the
run. A pod runs in real time. A trigger that asks a server depends on the server and not on the clock.
"""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from torpor_triggerer.model import outcome
from torpor_triggerer.model.outcome import Outcome
from torpor_wire import constants, instance_paths, times
from torpor_wire.state import TERMINAL, State

from torpor_local.options import LocalRunError

Object = Mapping[str, Any]


def instance(taskrun: Mapping[str, Any]) -> str:
    """Return how a user names an instance: `load`, `load/3`, or `load/0.3` within a mapped group."""
    spec = taskrun["spec"]
    index = int(spec.get("mapIndex", constants.UNMAPPED))
    path = (*(spec.get("groupIndexes") or ()), *(() if index == constants.UNMAPPED else (index,)))
    return f"{spec['task']}/{instance_paths.written(path)}" if path else str(spec["task"])


T = TypeVar("T")


def given(by_name: Mapping[str, T], taskrun: Mapping[str, Any]) -> T | None:
    """Return what the user gives for an instance, else for its task; None if there is nothing."""
    return next((by_name[name] for name in _names(taskrun) if name in by_name), None)


def answer(events: Mapping[str, Any], taskrun: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome of a wait with an event: of the instance, else of its task. None if there is no event."""
    for name in _names(taskrun):
        if name in events:
            return outcome.from_payload(events[name])
    return None


def _names(taskrun: Mapping[str, Any]) -> tuple[str, str]:
    return instance(taskrun), str(taskrun["spec"]["task"])


def unsent(taskrun: Mapping[str, Any]) -> Outcome | None:
    """Return the outcome of a notification, which a local run shows instead of sending it; None for any other wait."""
    return outcome.from_payload({"sent": False}) if "notification" in taskrun["spec"] else None


def check_events(events: Mapping[str, Any], tasks: Iterable[str]) -> None:
    """Raise LocalRunError for an event, or an answer, of a task that does not exist."""
    known = sorted(tasks)
    for name in events:
        if known and name.partition("/")[0] not in known:
            raise LocalRunError(
                f"there is no task {name}, which has an event or an answer; the tasks are {', '.join(known)}"
            )


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

"""Runs the segments of a task in one process, one after the other: for `torpor.testing` and `torpor.debugging`.

Arguments, state, events and results pass through JSON and its size limits, as in a cluster with an archive.
"""

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from torpor_wire import canonical, constants, times, typed_json

from torpor.context import Context, running
from torpor.errors import TaskFailed
from torpor.results import Part, Results
from torpor.runtime import entrypoint, outcome
from torpor.runtime.outcome import Success
from torpor.runtime.result_encoding import Body
from torpor.runtime.suspension import DeferralContext, Suspension
from torpor.runtime.taskrun import ResumePoint, resume_from_beginning


class TimedOutEvent:
    """The type of TIMED_OUT: the event of a deferral that timed out."""

    def __repr__(self) -> str:
        return "TIMED_OUT"


TIMED_OUT = TimedOutEvent()
_SEAL_KEY = "CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
"""A public key to seal with. Only a triggerer opens what is sealed."""


class LocalDeferral(NamedTuple):
    """One deferral: the trigger, the function or method that resumes, and its state.

    `kwargs` are what the trigger class gets, with sealed values still sealed. `timeout` is in seconds.
    """

    class_name: str
    kwargs: Any
    method: str
    state: Any
    timeout: float | None
    on_timeout: str | None = None


class SegmentResult(NamedTuple):
    """The result of a task. Of a file it is the path that the task returned."""

    result: Any


def run_segment(
    task: Callable[..., Any], arguments: Mapping[str, Any], context: Context, after: ResumePoint | None
) -> SegmentResult | Suspension:
    """Run one segment. Exceptions of the task propagate, also RejectedError and DeferralError of the runtime."""
    with running(context):
        returned = entrypoint.enter(task, passed(arguments), context, after)
    ended = outcome.from_return(returned, lambda: _place(context.namespace), archived=True)
    return ended if isinstance(ended, Suspension) else SegmentResult(_read_back(ended, returned))


def passed(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return arguments as a task gets them."""
    return {name: sent(value) for name, value in arguments.items()}


def sent(value: Any) -> Any:
    """Return a value as the next task gets it. Bytes, files and lazy results do not pass through JSON."""
    lazy = isinstance(value, bytes | os.PathLike | Results | Part)
    return value if lazy else json.loads(canonical.plain(value))


def fired(event: Any) -> Any:
    """Return an event as the task gets it."""
    return _read(typed_json.text(event))


def wait_of(ended: Suspension) -> LocalDeferral:
    """Return a deferral with its values."""
    kwargs, state = _read(ended.trigger.kwargs), _read(ended.state)
    return LocalDeferral(ended.trigger.class_name, kwargs, ended.method, state, ended.timeout, ended.on_timeout)


def resume_of(ended: Suspension, event: Any) -> ResumePoint | None:
    """Return where the next segment starts after this event. None is the beginning without an event.

    Raises TaskFailed if the deferral timed out and has no `on_timeout`, AssertionError if it has no timeout.
    """
    state, name = _read(ended.state), ended.trigger.class_name
    if not ended.method and event is not TIMED_OUT:
        return resume_from_beginning(state)
    if event is not TIMED_OUT:
        return ResumePoint(ended.method, state, fired(event))
    if ended.timeout is None:
        raise AssertionError(f"the deferral to {name} has no timeout, so it cannot time out")
    if ended.on_timeout is None:
        message = f"{name} did not fire within {times.human(ended.timeout)}"
        raise TaskFailed(message, retryable=not ended.timeout_is_final)
    return ResumePoint(ended.on_timeout, state, None, late=True)


def _read_back(ended: Success | Body, returned: Any) -> Any:
    match ended:
        case Success(result=result):
            return json.loads(result or "null")
        case Body(kind="file"):
            return returned
        case Body(kind="bytes"):
            return b"".join(ended.pieces())
        case Body(kind="list" | "object"):
            lines = [json.loads(line) for line in b"".join(ended.pieces()).splitlines()]
            return lines if ended.kind == "list" else dict(lines)
        case _:
            return json.loads(b"".join(ended.pieces()))


def _read(text: str) -> Any:
    return typed_json.decode(json.loads(text))


def _place(namespace: str) -> DeferralContext:
    return DeferralContext(namespace, constants.DEFAULT_POOL, time.time(), seal_key=_SEAL_KEY)

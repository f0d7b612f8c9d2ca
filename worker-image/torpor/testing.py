"""Runs a task in a unit test, without a cluster: `run(load, {"path": "a.csv"}, events=[{"rows": 3}])`.

What would cross an object in a cluster crosses JSON here: arguments, state, events and result; limits of size apply, as
they do where there is an archive. A deferral is answered with the next event, and the task goes on in a new instance or
in another function, as it would in another pod. Sensors defer, unless they are asked not to: each look that is not so
takes an event.
"""

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from torpor_wire import canonical, constants, typed_json

from torpor.context import Context, running
from torpor.errors import TaskFailed
from torpor.results import Part, Position, Results, path
from torpor.runtime import entrypoint, outcome
from torpor.runtime.deferral import Place, Suspension
from torpor.runtime.outcome import Success
from torpor.runtime.result_encoding import Body
from torpor.runtime.taskrun import Resume, begun_again


class TimedOut:
    """In place of an event: the wait took too long."""

    def __repr__(self) -> str:
        return "TIMED_OUT"


class _Nothing:
    """No event at all, where None would be one."""


TIMED_OUT = TimedOut()
_NOTHING = _Nothing()
_SEAL_KEY = "CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
"""A public key to seal with; nobody opens what a test seals."""


class Wait(NamedTuple):
    """One deferral: what was waited for, where the task went on, with which state.

    `kwargs` are as the trigger's class gets them, but that sealed ones stay sealed; `timeout` is in seconds.
    """

    class_name: str
    kwargs: Any
    method: str
    state: Any
    timeout: float | None
    on_timeout: str | None = None


class Run(NamedTuple):
    """A finished task: its result, and its deferrals in their order."""

    result: Any
    deferrals: tuple[Wait, ...]


def run(
    task: Callable[..., Any],
    arguments: Mapping[str, Any] | None = None,
    *,
    events: Sequence[Any] = (),
    first_event: Any = _NOTHING,
    context: Context | None = None,
) -> Run:
    """Runs a function, or a class with `execute`, to its end.

    `events` answer its deferrals, TIMED_OUT among them; `first_event` is that of a `trigger:` which comes before it.
    The task's own exceptions are raised, and TaskFailed for a wait that timed out where the task does not say what
    follows. Raises RejectedError or DeferralError for what a cluster would refuse, and AssertionError where the task
    defers more or less often than there are events.
    """
    waits: list[Wait] = []
    came_first = first_event is not _NOTHING
    after = Resume("", {}, _fired(first_event)) if came_first else None
    while True:
        present = context or _context(segment=len(waits) + came_first)
        with running(present):
            returned = entrypoint.enter(task, _passed(arguments or {}), present, after)
        ended = outcome.of_return(returned, _place, archived=True)
        if not isinstance(ended, Suspension):
            _all_used(events, waits)
            return Run(_read_back(ended, returned), tuple(waits))
        waits.append(_wait(ended))
        after = _resumed(ended, _next(events, waits))
        if after is not None and ":" in after.method:
            task = entrypoint.load(after.method, "this test")


def results(
    values: Sequence[Any], missing: Sequence[Position] = (), *, positions: Sequence[Position] | None = None
) -> Results:
    """What a task is given for `${tasks.x.results}`: these values, with gaps at the positions that were left out.

    `positions`, one a value, are for results of several levels, such as `[(0, 0), (0, 1), (1, 0)]`; without them they
    count from 0. None among the values is left out, as it is in a cluster. In `run`'s arguments it stays what it is;
    each value crosses JSON when it is read.
    """
    every = range(len(values) + len(missing)) if positions is None else sorted([*positions, *missing], key=path)
    there = [position for position in every if position not in missing] if positions is None else positions
    found = dict(zip(there, values, strict=True))
    missing = [position for position in every if position in missing or found[position] is None]

    def find(position: Position) -> Callable[[], Any]:
        return lambda: _sent(found[position])

    return Results(find, every, missing)


def _passed(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _sent(value) for name, value in arguments.items()}


def _sent(value: Any) -> Any:
    """A value as the next task gets it: bytes, files and lazy results do not cross JSON."""
    return value if isinstance(value, bytes | os.PathLike | Results | Part) else _crossed(value)


def _read_back(ended: Success | Body, returned: Any) -> Any:
    match ended:
        case Success(result):
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


def _wait(ended: Suspension) -> Wait:
    kwargs, state = _read(ended.trigger.kwargs), _read(ended.state)
    return Wait(ended.trigger.class_name, kwargs, ended.method, state, ended.timeout, ended.on_timeout)


def _resumed(ended: Suspension, event: Any) -> Resume | None:
    state, name = _read(ended.state), ended.trigger.class_name
    if not ended.method and event is not TIMED_OUT:
        return begun_again(state)
    if event is not TIMED_OUT:
        return Resume(ended.method, state, _fired(event))
    if ended.timeout is None:
        raise AssertionError(f"the wait for {name} has no timeout, so it cannot time out")
    if ended.on_timeout is None:
        raise TaskFailed(f"{name} did not fire within {ended.timeout:g} seconds", retryable=not ended.timeout_is_final)
    return Resume(ended.on_timeout, state, None, late=True)


def _next(events: Sequence[Any], waits: Sequence[Wait]) -> Any:
    if len(waits) > len(events):
        last = waits[-1]
        raise AssertionError(f"the task deferred {len(waits)} times, and {len(events)} events are given; now: {last}")
    return events[len(waits) - 1]


def _all_used(events: Sequence[Any], waits: Sequence[Wait]) -> None:
    if len(waits) < len(events):
        raise AssertionError(f"the task deferred {len(waits)} times, and {len(events)} events are given")


def _crossed(value: Any) -> Any:
    return json.loads(canonical.plain(value))


def _fired(event: Any) -> Any:
    """An event as the task gets it."""
    return _read(typed_json.text(event))


def _read(text: str) -> Any:
    return typed_json.decode(json.loads(text))


def _place() -> Place:
    return Place("default", constants.DEFAULT_POOL, time.time(), seal_key=_SEAL_KEY)


def _context(segment: int) -> Context:
    return Context(
        namespace="default",
        workflow="test",
        task="test",
        map_index=constants.UNMAPPED,
        group_indexes=(),
        attempt=1,
        segment=segment,
        taskrun="test",
        uid="00000000-0000-0000-0000-000000000000",
    )

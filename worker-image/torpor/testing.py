"""Runs a task in a unit test, without a cluster.

    from torpor import testing

    def test_load() -> None:
        finished = testing.run(load, {"path": "a.csv"}, events=[{"rows": 3}])
        assert finished.result == 3
        assert finished.deferrals[0].class_name == "http"

Arguments, state, events and results pass through JSON and its size limits, as in a cluster with an archive. Each
deferral takes the next event and resumes in a new instance or function, as in a new pod. Sensors defer unless told
otherwise, and each unsuccessful poke takes an event.
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
from torpor.runtime.deferral import DeferralContext, Suspension
from torpor.runtime.outcome import Success
from torpor.runtime.result_encoding import Body
from torpor.runtime.taskrun import Resume, resume_from_beginning


class TimedOut:
    """The type of TIMED_OUT: an event that stands for a deferral that timed out."""

    def __repr__(self) -> str:
        return "TIMED_OUT"


class _Nothing:
    """The type of "no event"; None is a valid event."""


TIMED_OUT = TimedOut()
_NOTHING = _Nothing()
_SEAL_KEY = "CQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
"""A public key to seal with. Tests do not open what they seal."""


class Wait(NamedTuple):
    """One deferral: the trigger, the function or method that resumes, and its state.

    `kwargs` are what the trigger class gets, with sealed values still sealed. `timeout` is in seconds.
    """

    class_name: str
    kwargs: Any
    method: str
    state: Any
    timeout: float | None
    on_timeout: str | None = None


class Run(NamedTuple):
    """A finished task: its result, and its deferrals in order."""

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
    """Run a function, or a class with `execute`, to its end.

    Args:
        task: The function or class.
        arguments: Its keyword arguments.
        events: One event for each deferral, in order; TIMED_OUT for a timeout.
        first_event: The event of a `trigger:` that precedes the first pod.
        context: What `context()` returns.

    Raises:
        TaskFailed: A deferral timed out and has no `on_timeout`. Exceptions of the task are raised unchanged.
        RejectedError: A cluster would reject the result or the deferral; also DeferralError.
        AssertionError: The number of deferrals differs from the number of events.
    """
    waits: list[Wait] = []
    came_first = first_event is not _NOTHING
    after = Resume("", {}, _fired(first_event)) if came_first else None
    while True:
        present = context or _context(segment=len(waits) + came_first)
        with running(present):
            returned = entrypoint.enter(task, _passed(arguments or {}), present, after)
        ended = outcome.from_return(returned, _place, archived=True)
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
    """Return a value for an argument `${tasks.x.results}`.

        testing.run(total, {"sizes": testing.results([3, 4], missing=[1])})

    Args:
        values: The results. None stands for an instance without a result, as in a cluster.
        missing: The positions of instances without a result.
        positions: One for each value, for several levels of mapping, such as `[(0, 0), (0, 1)]`. By default they count
            from 0.
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
    """Return a value as the next task gets it. Bytes, files and lazy results do not pass through JSON."""
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
        return resume_from_beginning(state)
    if event is not TIMED_OUT:
        return Resume(ended.method, state, _fired(event))
    if ended.timeout is None:
        raise AssertionError(f"the deferral to {name} has no timeout, so it cannot time out")
    if ended.on_timeout is None:
        raise TaskFailed(f"{name} did not fire within {ended.timeout:g} seconds", retryable=not ended.timeout_is_final)
    return Resume(ended.on_timeout, state, None, late=True)


def _next(events: Sequence[Any], waits: Sequence[Wait]) -> Any:
    if len(waits) > len(events):
        last = waits[-1]
        raise AssertionError(
            f"the task deferred {len(waits)} times, but {len(events)} events are given; the last deferral: {last}"
        )
    return events[len(waits) - 1]


def _all_used(events: Sequence[Any], waits: Sequence[Wait]) -> None:
    if len(waits) < len(events):
        raise AssertionError(f"the task deferred {len(waits)} times, but {len(events)} events are given")


def _crossed(value: Any) -> Any:
    return json.loads(canonical.plain(value))


def _fired(event: Any) -> Any:
    """Return an event as the task gets it."""
    return _read(typed_json.text(event))


def _read(text: str) -> Any:
    return typed_json.decode(json.loads(text))


def _place() -> DeferralContext:
    return DeferralContext("default", constants.DEFAULT_POOL, time.time(), seal_key=_SEAL_KEY)


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

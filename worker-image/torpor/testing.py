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

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from torpor_wire import constants

from torpor import in_process
from torpor.context import Context
from torpor.in_process import TIMED_OUT, LocalDeferral, SegmentResult, TimedOutEvent
from torpor.results import Position, Results, path
from torpor.runtime import entrypoint
from torpor.runtime.taskrun import ResumePoint

__all__ = ["TIMED_OUT", "FinishedTask", "LocalDeferral", "TimedOutEvent", "results", "run"]


class _Nothing:
    """The type of "no event"; None is a valid event."""


_NOTHING = _Nothing()


class FinishedTask(NamedTuple):
    """A finished task: its result, and its deferrals in order."""

    result: Any
    deferrals: tuple[LocalDeferral, ...]


def run(
    task: Callable[..., Any],
    arguments: Mapping[str, Any] | None = None,
    *,
    events: Sequence[Any] = (),
    first_event: Any = _NOTHING,
    context: Context | None = None,
) -> FinishedTask:
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
    waits: list[LocalDeferral] = []
    came_first = first_event is not _NOTHING
    after = ResumePoint("", {}, in_process.fired(first_event)) if came_first else None
    while True:
        present = context or _context(segment=len(waits) + came_first)
        ended = in_process.run_segment(task, arguments or {}, present, after)
        if isinstance(ended, SegmentResult):
            _all_used(events, waits)
            return FinishedTask(ended.result, tuple(waits))
        waits.append(in_process.wait_of(ended))
        after = in_process.resume_of(ended, _next(events, waits))
        if after is not None and ":" in after.method:
            task = entrypoint.load(after.method, "this test")


def results(
    values: Sequence[Any], missing: Sequence[Position] = (), *, positions: Sequence[Position] | None = None
) -> Results:
    """Return a value for an argument `${tasks.x.results}`.

        testing.run(total, {"sizes": testing.results([3, 4], missing=[1])})

    Args:
        values: The results. None represents an instance without a result, as in a cluster.
        missing: The positions of instances without a result.
        positions: One for each value, for several levels of mapping, such as `[(0, 0), (0, 1)]`. By default they count
            from 0.
    """
    every = range(len(values) + len(missing)) if positions is None else sorted([*positions, *missing], key=path)
    there = [position for position in every if position not in missing] if positions is None else positions
    by_position = dict(zip(there, values, strict=True))
    missing = [position for position in every if position in missing or by_position[position] is None]

    def find(position: Position) -> Callable[[], Any]:
        return lambda: in_process.sent(by_position[position])

    return Results(find, every, missing)


def _next(events: Sequence[Any], waits: Sequence[LocalDeferral]) -> Any:
    if len(waits) > len(events):
        last = waits[-1]
        raise AssertionError(
            f"the task deferred {len(waits)} times, but {len(events)} events are given; the last deferral: {last}"
        )
    return events[len(waits) - 1]


def _all_used(events: Sequence[Any], waits: Sequence[LocalDeferral]) -> None:
    if len(waits) < len(events):
        raise AssertionError(f"the task deferred {len(waits)} times, but {len(events)} events are given")


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

"""Runs a task in a unit test, without a cluster: `run(load, {"path": "a.csv"}, events=[{"rows": 3}])`.

What would cross an object in a cluster crosses JSON here: arguments, state, events and result; limits of size apply. A
deferral is answered with the next event, and the task goes on in a new instance or in another function, as it would in
another pod.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from torpor_wire import canonical, keys

from torpor import execution
from torpor.execution import Context
from torpor.runtime import entry, outcome
from torpor.runtime.suspension import Place, Suspension
from torpor.runtime.taskrun import Resume


class Wait(NamedTuple):
    """One deferral: what was waited for, where the task went on, with which state."""

    class_name: str
    kwargs: Any
    method: str
    state: Any
    timeout: float | None


class Run(NamedTuple):
    """A finished task: its result, and its deferrals in their order."""

    result: Any
    deferrals: tuple[Wait, ...]


def run(
    task: Callable[..., Any],
    arguments: Mapping[str, Any] | None = None,
    *,
    events: Sequence[Any] = (),
    context: Context | None = None,
) -> Run:
    """Runs a function, or a class with `execute`, to its end.

    The task's own exceptions are raised. Raises RejectedError or DeferralError for what a cluster would refuse, and
    AssertionError where the task defers more or less often than there are events.
    """
    waits: list[Wait] = []
    after: Resume | None = None
    while True:
        present = context or _context(segment=len(waits))
        with execution.running(present):
            returned = entry.enter(task, _crossed(arguments or {}), present, after)
        ended = outcome.of_return(returned, _place)
        if not isinstance(ended, Suspension):
            _all_used(events, waits)
            return Run(json.loads(ended.result), tuple(waits))
        waits.append(_wait(ended))
        after = Resume(ended.method, json.loads(ended.state), _crossed(_next(events, waits)))
        if ":" in ended.method:
            task = entry.load(ended.method, "this test")


def _wait(ended: Suspension) -> Wait:
    kwargs, state = json.loads(ended.trigger.kwargs), json.loads(ended.state)
    return Wait(ended.trigger.class_name, kwargs, ended.method, state, ended.timeout)


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


def _place() -> Place:
    return Place("default", keys.DEFAULT_POOL, time.time())


def _context(segment: int) -> Context:
    return Context(
        namespace="default",
        workflow="test",
        task="test",
        map_index=keys.UNMAPPED,
        attempt=1,
        segment=segment,
        taskrun="test",
        uid="00000000-0000-0000-0000-000000000000",
    )

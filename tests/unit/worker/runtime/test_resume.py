"""Where a task goes on after a wait, however and from wherever it deferred (AIP-40)."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from torpor_wire import typed_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import TaskPod, TaskRunApi

AGAIN = {"retries": {"limit": 3}}
WAIT = """
import asyncio
import threading
from torpor import BaseOperator, TaskDeferred, context, defer
class Drop:
    def serialize(self): return "http", {"url": "https://example.org/_SUCCESS"}
def deep(depth, method, **kwargs):
    if depth: return deep(depth - 1, method, **kwargs)
    raise TaskDeferred(trigger=Drop(), method_name=method, kwargs=kwargs)
async def later(depth, method, **kwargs): deep(depth, method, **kwargs)
"""
VALUES = {
    "seen": {"b", "a"},
    "at": (datetime(2026, 1, 1, tzinfo=UTC), timedelta(seconds=5)),
    "raw": b"\xff",
    "sum": Decimal("1.10"),
    "id": UUID(int=5),
    "like": {"__type": "set", "__var": [1]},
}
GROUP = """async def execute(self, context):
        async with asyncio.TaskGroup() as group:
            group.create_task(later(1, 'end', n=1))"""


def test_a_function_with_a_wait_before_it_gets_the_event_and_its_arguments(task: Callable[..., TaskPod]) -> None:
    pod = task("def load(path, event): return [path, event]", spec={"trigger": {"class": "http"}}, path="a.csv")
    pod.defer_first()
    pod.fire({"status": 200})

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == ["a.csv", {"status": 200}]


def test_a_class_that_a_wait_comes_before_gets_the_event_in_execute(task: Callable[..., TaskPod]) -> None:
    pod = task(
        """
class load:
    def __init__(self, path): self.path = path
    def execute(self, context, event=None): return [self.path, event, context["segment"]]
""",
        spec={"trigger": {"class": "http"}},
        path="a.csv",
    )
    pod.defer_first()
    pod.fire("now")

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == ["a.csv", "now", 1]


def test_a_task_that_a_wait_comes_before_may_defer_again(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
def load(path, event): return defer(Drop(), then=end, first=event)
def end(event, first): return [first, event]
""",
        spec={"trigger": {"class": "http"}},
        path="a.csv",
    )
    pod.defer_first()
    pod.fire("one")
    pod.run()
    pod.fire("two")

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == ["one", "two"]


def test_a_function_without_an_event_parameter_after_a_wait_is_reported(task: Callable[..., TaskPod]) -> None:
    pod = task("def load(path): pass", spec={"trigger": {"class": "http"}}, path="a.csv")
    pod.defer_first()
    pod.fire("now")

    assert pod.run() == 1
    assert pod.status["reason"] == "ArgumentsInvalid"
    assert "unexpected keyword argument 'event'" in pod.status["message"]


@pytest.mark.parametrize(
    "body",
    [
        "def execute(self, context): deep(20, 'end', n=1)",
        "def execute(self, context):\n        try: deep(3, 'end', n=1)\n        except Exception: return 'swallowed'",
        "def execute(self, context):\n        with open('/dev/null'): [deep(1, 'end', n=1) for _ in range(3)]",
        "async def execute(self, context): deep(3, 'end', n=1)",
        "async def execute(self, context): await later(3, 'end', n=1)",
        GROUP,
        "async def execute(self, context): await asyncio.gather(later(1, 'end', n=1), asyncio.sleep(60))",
        "async def execute(self, context): await asyncio.to_thread(deep, 3, 'end', n=1)",
    ],
)
def test_an_operator_defers_from_anywhere_below_execute(task: Callable[..., TaskPod], body: str) -> None:
    pod = task(
        WAIT
        + f"class load:\n    {body}\n    async def end(self, context, event, n): return [event, n, context.segment]\n"
    )
    assert pod.run() == 0
    pod.fire("now")

    assert pod.run() == 0
    assert pod.status["result"] == '["now",1,1]'


def test_an_operator_defers_many_times_to_the_same_or_another_method(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
class load(BaseOperator):
    def __init__(self): self.seen = "nothing"
    def execute(self, context, event=None, seen=()):
        if len(seen) < 3: self.again("execute", seen, event, context)
        self.again("last", seen, event, context)
    def again(self, method, seen, event, context):
        assert self.seen == "nothing"
        self.seen = "lost"
        self.defer(trigger=Drop(), method_name=method, kwargs={"seen": [*seen, [context.segment, event]]})
    async def last(self, context, event, seen): return [*seen, [context.segment, event]]
"""
    )
    pod.run()
    for event in ("a", "b", "c", "d"):
        pod.fire(event)
        assert pod.run() == 0

    assert json.loads(pod.status["result"]) == [[0, None], [1, "a"], [2, "b"], [3, "c"], [4, "d"]]


def test_what_json_cannot_say_comes_back_as_it_was(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
from tests.unit.worker.runtime.test_resume import VALUES
def load(): return defer(Drop(), then=end, **VALUES)
def end(event, **state): return [event == VALUES, state == VALUES]
"""
    )
    pod.run()
    pod.fire(typed_json.encode(VALUES))

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == [True, True]


def test_a_set_in_a_state_is_stored_alike_by_whichever_pod(task: Callable[..., TaskPod]) -> None:
    pod = task(WAIT + "def load(): return defer(Drop(), then=end, seen={'c', 'a', 'b'})\ndef end(event, seen): pass")
    pod.run()

    assert pod.status["next"]["kwargs"] == '{"seen":{"__type":"set","__var":["a","b","c"]}}'


@pytest.mark.parametrize("field", ["event", "kwargs"])
def test_a_state_or_an_event_of_no_known_type_is_refused(task: Callable[..., TaskPod], field: str) -> None:
    pod = task(WAIT + "def load(): return defer(Drop(), then=end)\ndef end(event, **state): pass")
    pod.run()
    pod.fire(1)
    by_hand = '{"a":{"__type":"os.system","__var":"true"}}'
    (pod.status if field == "event" else pod.status["next"])[field] = by_hand

    assert pod.run() == 1
    assert (pod.status["reason"], "os.system" in pod.status["message"]) == ("StatusInvalid", True)


def test_what_is_passed_on_comes_back_as_json_has_it(task: Callable[..., TaskPod]) -> None:
    state: dict[str, Any] = {
        "none": None,
        "one": 1.0,
        "big": 2**60,
        "text": "käse\n",
        "list": [[]],
        "deep": {"b": 1, "a": {"x": []}},
    }
    pod = task(
        WAIT + "def load(**state): return defer(Drop(), then=end, **state)\ndef end(event, **state): return state"
    )
    pod.cluster.taskruns[pod.name]["spec"]["arguments"] = [
        {"name": name, "value": json.dumps(value)} for name, value in state.items()
    ]
    pod.run()
    pod.fire(None)

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == state
    assert '"one":1.0' in pod.status["result"]


def test_an_async_function_defers_and_goes_on_in_another(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
async def load(day):
    await asyncio.sleep(0)
    return defer(Drop(), then=end, day=day)
async def end(event, day):
    await asyncio.sleep(0)
    return [event, day]
""",
        day="mon",
    )
    pod.run()
    pod.fire("now")

    assert pod.run() == 0
    assert pod.status["result"] == '["now","mon"]'


def test_an_async_function_that_does_not_return_its_wait_fails(task: Callable[..., TaskPod]) -> None:
    pod = task(WAIT + "async def load(): defer(Drop(), then=end)\nasync def end(event): pass")

    assert pod.run() == 1
    assert "write `return defer(...)`" in pod.status["message"]


def test_two_deferrals_at_once_are_a_failure_that_names_them(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
async def load():
    async def inner(): deep(0, "end")
    async with asyncio.TaskGroup() as group:
        group.create_task(inner())
        group.create_task(inner())
def end(event): pass
"""
    )

    assert pod.run() == 1
    assert pod.status["message"].count("TaskDeferred: deferred until Drop fires, then end") == 2


def test_a_wrapper_that_adds_an_argument_is_not_refused_for_what_it_wraps(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
import functools
def connected(function):
    @functools.wraps(function)
    def call(*args, **kwargs): return function(*args, connection="db", **kwargs)
    return call
def load(): return defer(Drop(), then=end)
@connected
def end(event, connection): return [event, connection]
"""
    )
    pod.run()
    pod.fire("now")

    assert pod.run() == 0
    assert pod.status["result"] == '["now","db"]'


@pytest.mark.parametrize(
    "written",
    [
        {"event": "{nope"},
        {"event": "[" * 4000},
        {"next": {"method": "worker_tasks:end", "kwargs": "{nope"}},
        {"next": {"method": "worker_tasks:end", "kwargs": "[1]"}},
    ],
    ids=["an event", "a deep event", "a state", "a state that is a list"],
)
def test_a_status_by_another_hand_fails_with_a_reason_and_without_user_code(
    task: Callable[..., TaskPod], cluster: TaskRunApi, written: dict[str, Any]
) -> None:
    pod = task(WAIT + "def load(): return defer(Drop(), then=end)\ndef end(event): return event", spec=AGAIN)
    pod.run()
    pod.fire("now")
    pod.status.update(written)
    begun = cluster.begun

    assert pod.run() == 1
    assert (pod.status["state"], pod.status["reason"]) == ("Failed", "StatusInvalid")
    assert "(modified outside Torpor?): " in pod.status["message"]
    assert cluster.begun == begun

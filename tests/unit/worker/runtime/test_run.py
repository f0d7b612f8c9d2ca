"""A function's segment from its claim to its report."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import TaskPod, TaskRunApi

WAIT = """
from datetime import timedelta
from torpor import BaseOperator, TaskDeferred, TaskFailed, context, defer, task
class Drop:
    def serialize(self):
        return "http", {"url": "https://example.org/_SUCCESS"}
"""


def test_a_function_is_called_with_its_arguments_and_its_result_is_stored(task: Callable[..., TaskPod]) -> None:
    pod = task("def load(path, rows): return {'path': path, 'rows': rows + [None, 1.0]}", path="a.csv", rows=[1])

    assert pod.run() == 0

    assert pod.status["state"] == "Succeeded"
    assert pod.status["result"] == '{"path":"a.csv","rows":[1,null,1.0]}'
    assert pod.status["conditions"][0]["status"] == "True"


def test_a_segment_costs_one_patch_to_claim_and_one_to_report(
    task: Callable[..., TaskPod], cluster: TaskRunApi
) -> None:
    pod = task("def load(): return 1")

    pod.run()

    assert [method for method, _ in cluster.requests] == ["PATCH", "PATCH"]


def test_an_async_function_is_run_to_its_end(task: Callable[..., TaskPod]) -> None:
    pod = task("import asyncio\nasync def load():\n    await asyncio.sleep(0)\n    return 'done'")

    assert pod.run() == 0
    assert pod.status["result"] == '"done"'


def test_a_marked_function_stays_callable_as_it_is(task: Callable[..., TaskPod]) -> None:
    pod = task(WAIT + "@task\ndef load(n): return n if n == 0 else load(n - 1)", n=2)

    assert pod.run() == 0
    assert pod.status["result"] == "0"


def test_a_deferred_function_resumes_in_another_with_event_and_state(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
def load(day): return defer(Drop(), then=merge, timeout=60, day=day)
def merge(event, day): return [event, day]
""",
        day="mon",
    )

    assert pod.run() == 0
    assert pod.status["state"] == "Deferred"
    assert pod.status["trigger"]["class"] == "http"
    assert json.loads(pod.status["next"]["kwargs"]) == {"day": "mon"}
    assert pod.at("deadline") == pod.cluster.clock + 60
    pod.fire({"ok": True})

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == [{"ok": True}, "mon"]


def test_a_function_may_defer_again_and_again(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
def load(): return defer(Drop(), then=again, seen=[])
def again(event, seen): return defer(Drop(), then=again, seen=seen + [event]) if len(seen) < 2 else seen + [event]
"""
    )
    pod.run()
    for event in range(3):
        pod.fire(event)
        assert pod.run() == 0

    assert json.loads(pod.status["result"]) == [0, 1, 2]
    assert pod.status["segment"] == 3


def test_a_function_may_raise_its_deferral_from_deep_in_the_stack(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
def load():
    try:
        wait()
    except Exception:
        return "swallowed"
def wait(): raise TaskDeferred(trigger=Drop(), method_name="merge", kwargs={"n": 1})
def merge(event, n): return [event, n]
"""
    )
    pod.run()
    pod.fire("now")

    assert pod.run() == 0
    assert pod.status["result"] == '["now",1]'


def test_the_idempotency_key_is_that_of_the_segment_in_every_attempt(task: Callable[..., TaskPod]) -> None:
    source = WAIT + "def load():\n    raise RuntimeError(context().idempotency_key)"
    pod = task(source, spec={"retries": {"limit": 1, "delay": "5s"}})
    pod.run()
    first = pod.status["message"]
    pod.status.update(state="Scheduled", attempt=2)
    pod.run()

    assert first.startswith("RuntimeError: taskrun-uid-0 ")
    assert pod.status["message"] == first


def test_the_context_says_which_execution_this_is(task: Callable[..., TaskPod]) -> None:
    spec = {"mapIndex": 3, "groupIndexes": [2, 0], "workflow": {"name": "w", "uid": "u"}}
    pod = task(WAIT + "def load(): return dict(context())", spec=spec)
    pod.run()

    assert json.loads(pod.status["result"]) == {
        "namespace": "default",
        "workflow": "w",
        "task": "load",
        "map_index": 3,
        "group_indexes": [2, 0],
        "attempt": 1,
        "segment": 0,
        "taskrun": pod.name,
        "uid": "taskrun-uid",
        "idempotency_key": "taskrun-uid-0",
    }


def test_a_task_outside_of_groups_has_no_indexes_of_any(task: Callable[..., TaskPod]) -> None:
    pod = task(WAIT + "def load(): return context().group_indexes")
    pod.run()

    assert pod.status["result"] == "[]"


@pytest.mark.parametrize("code", ["", "0"])
def test_leaving_with_code_zero_is_a_success(task: Callable[..., TaskPod], code: str) -> None:
    pod = task(f"import sys\ndef load(): sys.exit({code})")

    assert pod.run() == 0
    assert pod.status["state"] == "Succeeded"
    assert pod.status["result"] == "null"

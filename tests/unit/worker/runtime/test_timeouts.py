"""When a wait has lasted too long, and where its task goes on then."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import TaskPod

WAIT = """
from torpor import BaseOperator, TaskDeferred, defer
class Drop:
    def serialize(self): return "http", {"url": "https://example.org/_SUCCESS"}
"""
STILL = {"timeout": "1h", "timeoutWhileDeferred": False}


def again(timeout: str | None) -> str:
    return WAIT + f"def load(event=None): return defer(Drop(), then=load, timeout={timeout!r})"


def test_a_wait_that_took_too_long_goes_on_in_its_function_without_an_event(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
def load(day): return defer(Drop(), then=merge, on_timeout=give_up, timeout="1m", day=day)
def merge(event, day): return "merged"
def give_up(day): return ["gave up", day]
""",
        day="mon",
    )
    pod.run()
    assert pod.status["next"]["onTimeout"] == pod.status["next"]["method"].replace("merge", "give_up")
    pod.time_out()

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == ["gave up", "mon"]


def test_a_method_for_event_and_timeout_gets_none_after_a_timeout(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
class load(BaseOperator):
    def execute(self, context):
        self.defer(trigger=Drop(), method_name="end", on_timeout="end", timeout=60, kwargs={"n": 1})
    def end(self, context, n, event="never asked"): return [context.segment, n, event]
"""
    )
    pod.run()
    pod.time_out()

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == [1, 1, None]


def test_a_method_for_a_timeout_need_not_take_the_event(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
class load(BaseOperator):
    def execute(self, context):
        raise TaskDeferred(trigger=Drop(), method_name="end", on_timeout="late", timeout=60, kwargs={"n": 1})
    def end(self, context, event, n): return "fired"
    def late(self, context, **kwargs): return kwargs
"""
    )
    pod.run()
    assert pod.status["next"] == {"method": "end", "kwargs": '{"n":1}', "onTimeout": "late"}
    pod.time_out()

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == {"n": 1}


def test_a_wait_that_fires_in_time_goes_on_as_if_there_were_no_timeout(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
def load(): return defer(Drop(), then=end, on_timeout=late, timeout="1m")
def end(event): return event
def late(): return "late"
"""
    )
    pod.run()
    pod.fire("in time")

    assert pod.run() == 0
    assert pod.status["result"] == '"in time"'


def test_after_a_wait_that_timed_out_the_next_one_is_answered_by_its_event(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
def load(): return defer(Drop(), then=end, on_timeout=late, timeout="1m")
def end(event): return event
def late(): return defer(Drop(), then=end, on_timeout=late, timeout="2m")
"""
    )
    pod.run()
    pod.time_out()
    pod.run()
    pod.fire("at last")

    assert pod.run() == 0
    assert pod.status["result"] == '"at last"'


def test_a_wait_ends_with_the_total_time_of_the_attempt_if_that_is_sooner(task: Callable[..., TaskPod]) -> None:
    source = WAIT + "def load(event=None): return defer(Drop(), then=load, timeout='2h')"
    pod = task(source, spec={"timeout": "1h"})
    pod.run()

    assert pod.at("deadline") == pod.at("startedAt") + 3600


def test_a_wait_without_a_timeout_has_no_deadline(task: Callable[..., TaskPod]) -> None:
    pod = task(WAIT + "def load(event=None): return defer(Drop(), then=load)")
    pod.run()

    assert "deadline" not in pod.status


def test_the_total_time_counts_from_the_first_segment(task: Callable[..., TaskPod]) -> None:
    source = WAIT + "def load(event=None): return defer(Drop(), then=load)"
    pod = task(source, spec={"timeout": "1h"})
    pod.run()
    first = pod.at("deadline")
    pod.fire(None)
    pod.run()

    assert pod.at("deadline") == first


def test_a_wait_ends_with_its_own_timeout_if_that_is_sooner_than_the_tasks(task: Callable[..., TaskPod]) -> None:
    pod = task(again("1m"), spec={"timeout": "1h", "timeoutWhileDeferred": True})
    pod.run()

    assert pod.at("deadline") == pod.cluster.clock + 60


def test_where_waits_do_not_count_a_wait_may_outlast_the_time_of_the_task(task: Callable[..., TaskPod]) -> None:
    pod = task(again("2h"), spec=STILL)
    pod.run()

    assert pod.at("deadline") == pod.cluster.clock + 7200


def test_where_waits_do_not_count_a_wait_without_a_timeout_has_no_deadline(task: Callable[..., TaskPod]) -> None:
    pod = task(again(None), spec=STILL)
    for _ in range(3):
        pod.run()
        assert "deadline" not in pod.status
        pod.fire(None)


@pytest.mark.parametrize(("own", "total"), [("1m", "1h"), ("1h", "1m"), ("1h", "1h")])
def test_the_deadline_of_the_task_is_stored_apart_from_on_timeout(
    task: Callable[..., TaskPod], own: str, total: str
) -> None:
    """The triggerer reads from the deadline which of the two it is; only the wait's own leads to on_timeout."""
    source = WAIT + f"def load(event=None): return defer(Drop(), then=load, on_timeout=load, timeout='{own}')"
    pod = task(source, spec={"timeout": total})
    pod.run()

    ends = pod.cluster.clock + {"1m": 60, "1h": 3600}[min(own, total, key=["1m", "1h"].index)]
    assert pod.at("deadline") == ends
    assert "onTimeout" in pod.status["next"]

"""Tasks as classes, as Airflow's operators are written."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import TaskPod

WAIT = """
from datetime import timedelta
from torpor import BaseOperator, TaskDeferred
class Drop:
    def serialize(self):
        return "airflow.triggers.temporal.DateTimeTrigger", {"moment": "2030-01-01T00:00:00Z"}
made = 0
"""
OPERATOR = (
    WAIT
    + """
class load(BaseOperator):
    def __init__(self, path):
        super().__init__()
        global made
        made += 1
        self.path, self.number, self.left = path, made, None
    def execute(self, context):
        self.left = "lost"
        self.defer(trigger=Drop(), method_name="complete", kwargs={"n": 7}, timeout=timedelta(minutes=2))
    def complete(self, context, event, n):
        return [self.path, self.number, self.left, event, n, context["segment"]]
"""
)


def test_an_operator_resumes_as_a_new_instance_with_the_same_arguments(task: Callable[..., TaskPod]) -> None:
    pod = task(OPERATOR, path="a.csv")
    pod.run()
    pod.fire({"status": 200})

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == ["a.csv", 2, None, {"status": 200}, 7, 1]


def test_an_operators_deferral_is_stored_as_airflow_would(task: Callable[..., TaskPod]) -> None:
    pod = task(OPERATOR, path="a.csv")

    assert pod.run() == 0
    assert pod.status["next"] == {"method": "complete", "kwargs": '{"n":7}'}
    assert pod.status["trigger"]["class"] == "airflow.triggers.temporal.DateTimeTrigger"
    assert pod.at("deadline") == pod.cluster.clock + 120


def test_execute_itself_may_be_the_method_to_come_back_to(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
class load:
    def execute(self, context, event=None):
        if event is None:
            raise TaskDeferred(trigger=Drop(), method_name="execute")
        return event
"""
    )
    pod.run()
    pod.fire("now")

    assert pod.run() == 0
    assert pod.status["result"] == '"now"'


def test_a_method_that_is_not_there_fails_before_the_wait(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
class load(BaseOperator):
    def execute(self, context):
        self.defer(trigger=Drop(), method_name="completed")
"""
    )

    assert pod.run() == 1
    assert pod.status["reason"] == "DeferralInvalid"
    assert pod.status["message"] == "load has no method 'completed' to resume in"


def test_a_method_that_went_away_during_the_wait_is_named(task: Callable[..., TaskPod]) -> None:
    pod = task(OPERATOR, path="a.csv")
    pod.run()
    pod.status["next"]["method"] = "finish"
    pod.fire(None)

    assert pod.run() == 1
    assert pod.status["reason"] == "FunctionNotFound"
    assert "'finish'" in pod.status["message"]


def test_an_operator_of_airflow_defers_with_airflows_own_exception(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
class AirflowDeferred(BaseException):
    pass
AirflowDeferred.__name__ = "TaskDeferred"
class load:
    def execute(self, context):
        error = AirflowDeferred()
        error.trigger, error.method_name, error.kwargs, error.timeout = Drop(), "complete", None, None
        raise error
    def complete(self, context, event):
        return event
"""
    )

    assert pod.run() == 0
    assert pod.status["next"] == {"method": "complete", "kwargs": "{}"}


def test_an_operator_may_go_on_in_a_function(task: Callable[..., TaskPod]) -> None:
    pod = task(
        WAIT
        + """
from torpor import defer
class load:
    def __init__(self, path): self.path = path
    def execute(self, context): return defer(Drop(), then=merge, path=self.path)
def merge(event, path): return path
""",
        path="a.csv",
    )
    pod.run()
    pod.fire(None)

    assert pod.run() == 0
    assert pod.status["result"] == '"a.csv"'

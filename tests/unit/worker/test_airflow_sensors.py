"""Sensors as they are written for Airflow: how they resume, and which methods they need."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.unit.worker.conftest import TaskPod


SOFT_FAIL = """
from torpor import TaskDeferred
from torpor.triggers import Duration
class AirflowException(Exception): pass
class AirflowSkipException(AirflowException): pass
class BaseSensorOperator:
    def resume_execution(self, next_method, next_kwargs, context):
        try:
            return getattr(self, next_method)(context, **next_kwargs)
        except AirflowException as error:
            raise AirflowSkipException(str(error)) from error
class load(BaseSensorOperator):
    def __init__(self, path): pass
    def execute(self, context):
        raise TaskDeferred(trigger=Duration(1), method_name="execute_complete")
    def execute_complete(self, context, event=None):
        raise AirflowException("no file")
"""


def test_a_soft_failing_sensor_is_skipped_after_its_wait(task: Callable[..., TaskPod]) -> None:
    pod = task(SOFT_FAIL, path="p")
    pod.run()
    pod.fire({})
    pod.run()
    assert (pod.status["state"], pod.status["message"]) == ("Skipped", "no file")


WAIT_SENSOR = """
from torpor import TaskDeferred
from tests.unit.worker.test_airflow import MOMENT, DateTimeTrigger
class load:
    def __init__(self, path): pass
    def execute(self, context):
        trigger = DateTimeTrigger(MOMENT, end_from_trigger=%s)
        raise TaskDeferred(trigger=trigger, method_name="execute_complete")
"""


@pytest.mark.parametrize(("ends", "state"), [(True, "Deferred"), (False, "Failed")])
def test_a_trigger_that_ends_its_task_needs_no_method(task: Callable[..., TaskPod], ends: bool, state: str) -> None:
    pod = task(WAIT_SENSOR % ends, path="p")
    pod.run()
    assert pod.status["state"] == state

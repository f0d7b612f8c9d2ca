"""A task that says that there is nothing to do: it ends Skipped, at once and for good (ADR 0015)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from torpor import TaskSkipped
from torpor.runtime import exceptions

from tests.unit.worker.conftest import lost_after

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.unit.worker.conftest import TaskPod

AGAIN = {"retries": {"limit": 3, "delay": "1s", "backoff": 1, "maxDelay": "1s"}}
OURS = "from torpor import TaskSkipped\n"
AIRFLOW = "class AirflowException(Exception): pass\nclass AirflowSkipException(AirflowException): pass\n"

CASES = [
    ("its own word", OURS + "def load(): raise TaskSkipped('no file today')"),
    ("Airflow's exception, by its name", AIRFLOW + "def load(): raise AirflowSkipException('no file today')"),
    (
        "a class that is derived from Airflow's",
        AIRFLOW + "class Mine(AirflowSkipException): pass\ndef load(): raise Mine('no file today')",
    ),
    (
        "deep in an operator",
        OURS + "class load:\n  def execute(self, context): self.look()\n"
        "  def look(self): raise TaskSkipped('no file today')",
    ),
    (
        "in a group of tasks",
        "import asyncio\n" + OURS + "async def look(): raise TaskSkipped('no file today')\n"
        "async def load():\n  async with asyncio.TaskGroup() as group:\n    group.create_task(look())",
    ),
]


@pytest.mark.parametrize("source", [case[1] for case in CASES], ids=[case[0] for case in CASES])
def test_a_task_that_skips_itself_ends_skipped_and_is_not_tried_again(
    task: Callable[..., TaskPod], source: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pod = task(source)
    pod.cluster.taskruns[pod.name]["spec"] |= AGAIN

    assert pod.run() == 0

    assert (pod.status["state"], pod.status["reason"]) == ("Skipped", "Skipped")
    assert pod.status["message"] == "no file today"
    assert "completionTime" in pod.status
    assert "result" not in pod.status
    assert (pod.status["conditions"][0]["status"], pod.status["conditions"][0]["reason"]) == ("True", "Skipped")
    assert capsys.readouterr().err == "torpor: Skipped: no file today\n"


def test_a_skip_without_a_message_gets_a_default_message(task: Callable[..., TaskPod]) -> None:
    pod = task(OURS + "def load(): raise TaskSkipped")

    assert pod.run() == 0
    assert pod.status["message"] == "the task skipped itself"


def test_a_skip_whose_answer_is_lost_is_stored_once(task: Callable[..., TaskPod]) -> None:
    pod = task(OURS + "def load(): raise TaskSkipped('no file today')")
    pod.cluster.patch_faults += [lambda write: write(), lost_after]

    assert pod.run() == 0
    assert pod.status["state"] == "Skipped"


def test_an_exception_group_with_other_errors_reports_those(task: Callable[..., TaskPod]) -> None:
    pod = task(OURS + "def load(): raise ExceptionGroup('two', [TaskSkipped('no file'), ValueError('broken')])")

    assert pod.run() == 1
    assert pod.status["state"] == "Failed"
    assert "broken" in pod.status["message"]


def test_a_class_of_another_name_skips_nothing() -> None:
    assert exceptions.skip_of(type("AirflowException", (Exception,), {})()) is None
    assert exceptions.skip_of(TaskSkipped("why")) is not None

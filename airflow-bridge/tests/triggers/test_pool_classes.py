"""Trigger classes in a pool: events that end the task, and errors that name the part of Airflow that is not there."""

from pathlib import Path
from typing import Any

import pytest
import sample_triggers
import torpor_airflow  # noqa: F401 - before Airflow
from local_play import play, statuses

RULE = {"sample_triggers.*": "torpor_airflow.triggers.catalog:load_classes"}


async def ended(folder: Path, trigger_class: str, **kwargs: Any) -> dict[str, Any]:
    """Return the status of a task that waits for a trigger of the samples."""
    trigger = {"class": f"sample_triggers.{trigger_class}", "kwargs": kwargs}
    outcome = await play(folder, {"name": "wait", "trigger": trigger}, rules=RULE)
    return statuses(outcome)["wait"]


@pytest.mark.parametrize(("skips", "state"), [(True, "Skipped"), (False, "Failed")])
async def test_an_event_of_airflow_ends_the_task_in_its_state(tmp_path: Path, skips: bool, state: str) -> None:
    status = await ended(tmp_path, "EndingTrigger", skips=skips)
    assert status["state"] == state, status
    assert status.get("reason") != "TriggerFailed", status


async def test_a_trigger_that_asks_airflows_api_fails_with_the_attribute(tmp_path: Path) -> None:
    status = await ended(tmp_path, "AskingTrigger")
    assert status["state"] == "Failed"
    assert "task_instance.get_task_states, which needs Airflow's API" in status["message"]


def line_of(call: str) -> int:
    lines = Path(sample_triggers.__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if line.endswith(f"# {call}"))


@pytest.mark.parametrize(
    ("way", "call"),
    [("opens_a_session", "create_session"), ("asks_settings_for_a_session", "settings.get_session")],
)
async def test_a_trigger_that_opens_a_session_fails_with_the_call(tmp_path: Path, way: str, call: str) -> None:
    status = await ended(tmp_path, "DatabaseTrigger", way=way)
    assert status["state"] == "Failed"
    place = f"{sample_triggers.__file__}:{line_of(call)}"
    assert f"{place} calls {call}(), which needs Airflow's database" in status["message"]


@pytest.mark.parametrize(
    ("way", "call"), [("counts_rows_in_a_thread", "count()"), ("finds_runs_in_a_thread", "DagRun.find()")]
)
async def test_a_session_in_a_thread_of_a_trigger_is_named(tmp_path: Path, way: str, call: str) -> None:
    status = await ended(tmp_path, "DatabaseTrigger", way=way)
    assert status["state"] == "Failed"
    assert call in status["message"]
    assert "needs Airflow's database" in status["message"]

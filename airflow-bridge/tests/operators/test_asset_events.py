"""What a task reports for its outlets, and what it sees of the events that started its run."""

from datetime import UTC, datetime
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from airflow.sdk import Asset
from sample_context import CONTEXT
from torpor import TaskFailed
from torpor_airflow.operators import AirflowOperator, asset_events, call

ROWS = {"name": "rows", "uri": "rows", "extra": {}}


def run(task: str, **given: Any) -> Any:
    return AirflowOperator(dag="dag_assets:assets", task=task, **given).execute(CONTEXT)


@pytest.mark.parametrize(
    ("task", "listed"),
    [
        ("plain", [ROWS]),
        ("with_extra", [{**ROWS, "extra": {"rows": 3}}]),
        ("of_alias", [{"name": "s3://lake/new.csv", "uri": "s3://lake/new.csv", "extra": {"day": 1}}]),
    ],
)
def test_the_events_of_the_outlets_are_beside_the_xcoms(task: str, listed: list[Any]) -> None:
    result = run(task, outlet_events=True)
    assert result == {"__xcoms__": {"return_value": task}, "__assets__": listed}
    assert call.read_xcoms(result).of_index(None, "return_value") == task


def test_a_task_that_does_not_list_its_outlets_returns_its_value() -> None:
    assert run("plain") == "plain"


def test_a_task_sees_the_events_that_started_its_run() -> None:
    event = {**ROWS, "extra": {"rows": 3}, "run": "produce-1", "at": "2026-11-26T06:00:00Z"}
    assert run("triggered", asset_events=[event]) == [{"rows": 3}, "produce-1", 2026]


@pytest.mark.attack
@pytest.mark.parametrize("extra", [{"text": "x" * 2_000}, {str(number): "x" * 20 for number in range(100)}])
def test_a_task_reports_a_bounded_amount(extra: dict[str, Any]) -> None:
    reported = [{"dest_asset_key": {"name": "rows", "uri": "rows"}, "extra": extra}]
    with pytest.raises(TaskFailed, match="up to 20 with 2000 bytes are possible"):
        asset_events.build_events([Asset("rows")], reported)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ({"at": datetime(2026, 11, 26, tzinfo=UTC)}, "event.extra.at is of type datetime, which is not JSON"),
        ({"rows": object()}, "event.extra.rows is of type object"),
        ({"share": float("nan")}, "event.extra.share is"),
        ({1: "x"}, "event.extra has the key"),
        ([1], "cannot convert dictionary"),
    ],
)
def test_an_extra_that_is_not_json_fails_the_task(extra: Any, message: str) -> None:
    reported = [{"dest_asset_key": {"name": "rows", "uri": "rows"}, "extra": extra}]
    with pytest.raises(TaskFailed, match=f"the extra of the asset rows cannot be stored: {message}"):
        asset_events.build_events([Asset("rows")], reported)


def test_a_task_whose_extra_is_not_json_names_its_asset() -> None:
    with pytest.raises(TaskFailed, match=r"the extra of the asset rows cannot be stored: event\.extra\.at is"):
        run("with_moment", outlet_events=True)


def test_an_event_without_a_time_is_of_the_time_of_the_run() -> None:
    now = datetime(2026, 11, 26, tzinfo=UTC)
    (event,) = asset_events.consumed(asset_events.parse([ROWS]), now)
    assert event.timestamp == now


@pytest.mark.attack
@pytest.mark.parametrize(
    "given", [{}, [1], [{"name": "rows"}], [{**ROWS, "extra": "x"}], [ROWS] * 21, [{**ROWS, "at": "yesterday"}]]
)
def test_events_that_are_none_are_refused(given: Any) -> None:
    with pytest.raises(ValueError, match=r"asset_events|isoformat"):
        run("triggered", asset_events=given)


@pytest.mark.attack
def test_a_task_reports_no_asset_that_is_no_outlet_of_it() -> None:
    reported = [{"dest_asset_key": {"name": "other", "uri": "other"}, "extra": {}}]
    assert asset_events.build_events([Asset("rows")], reported) == [ROWS]

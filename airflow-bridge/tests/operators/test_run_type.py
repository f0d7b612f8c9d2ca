"""A run of a tick is scheduled, and any other one manual: `LatestOnlyOperator` skips in the first only."""

from datetime import UTC, datetime
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import convert_text
from test_operators import context
from torpor_airflow.operators import AirflowOperator

DAG = """
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.latest_only import LatestOnlyOperator
from airflow.sdk import (
    DAG, Asset, AssetOrTimeSchedule, CronDataIntervalTimetable, CronTriggerTimetable, MultipleCronTriggerTimetable,
    task,
)

CRON = CronDataIntervalTimetable("0 6 * * *", timezone="UTC")
NEVER = CronTriggerTimetable("0 0 1 1 *", timezone="UTC")

def make(dag_id, schedule):
    with DAG(dag_id, schedule=schedule):
        @task(outlets=[Asset("rows")] if schedule is None else [])
        def show(dag_run=None):
            return dag_run.run_type.value
        LatestOnlyOperator(task_id="latest") >> EmptyOperator(task_id="load")
        show()

make("by_hand", None)
make("by_asset", Asset("rows"))
make("by_intervals", CRON)
make("by_years", CronDataIntervalTimetable("0 0 1 1 *", timezone="UTC"))
make("by_two_times", MultipleCronTriggerTimetable("0 6 * * *", "0 18 * * *", timezone="UTC"))
make("by_either", AssetOrTimeSchedule(timetable=NEVER, assets=[Asset("rows")]))
"""


@pytest.fixture(scope="module")
def arguments(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The arguments of the operators, by DAG."""
    converted = convert_text(tmp_path_factory.mktemp("dags"), "dag_run_types", DAG)
    templates = {name: each["spec"] for (name, kind), each in converted.documents.items() if kind == "WorkflowTemplate"}
    return {name: spec["workflow"]["bodies"]["airflow"]["args"] for name, spec in templates.items()}


@pytest.mark.parametrize(
    ("dag", "expected"),
    [
        ("by-hand", None),
        ("by-asset", None),
        ("by-intervals", "${run.source == 'cron'}"),
        ("by-two-times", "${run.source == 'cron_0' || run.source == 'cron_1'}"),
        ("by-either", "${run.source == 'cron'}"),
    ],
)
def test_the_run_of_a_cron_source_is_scheduled(arguments: dict[str, Any], dag: str, expected: str | None) -> None:
    assert arguments[dag].get("scheduled") == expected


@pytest.mark.parametrize(
    ("scheduled", "at", "expected"),
    [
        (True, "2020-01-02T06:00:00Z", []),
        (True, "2999-01-02T06:00:00Z", []),
        (False, "2020-01-02T06:00:00Z", ["load"]),
    ],
)
@pytest.mark.usefixtures("arguments")
def test_only_a_scheduled_run_can_be_an_earlier_one(scheduled: bool, at: str, expected: list[str]) -> None:
    operator = AirflowOperator(
        dag="dag_run_types:by_intervals", task="latest", logical_date=at, scheduled=scheduled, downstream=["load"]
    )
    assert operator.execute(context("latest")) == expected


@pytest.mark.parametrize(("scheduled", "expected"), [(True, "scheduled"), (False, "manual")])
@pytest.mark.usefixtures("arguments")
def test_a_task_sees_the_type_of_its_run(scheduled: bool, expected: str) -> None:
    operator = AirflowOperator(
        dag="dag_run_types:by_intervals", task="show", logical_date="2026-11-26T06:00:00Z", scheduled=scheduled
    )
    assert operator.execute(context("show")) == expected


@pytest.mark.usefixtures("arguments")
def test_the_last_scheduled_run_goes_on() -> None:
    operator = AirflowOperator(
        dag="dag_run_types:by_years",
        task="latest",
        logical_date=f"{datetime.now(UTC):%Y}-01-01T00:00:00Z",
        scheduled=True,
        downstream=["load"],
    )
    assert operator.execute(context("latest")) == ["load"]

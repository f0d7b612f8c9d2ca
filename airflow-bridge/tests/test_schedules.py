"""Timetables, assets and their watchers become sources of a Schedule."""

from pathlib import Path
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import ConvertedFile, convert_text
from torpor.context import Context
from torpor_airflow.operators import AirflowOperator

HEAD = """
from datetime import datetime, timedelta
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.triggers.file import FileDeleteTrigger
from airflow.sdk import (
    DAG, Asset, AssetAlias, AssetOrTimeSchedule, AssetWatcher, CronDataIntervalTimetable, CronPartitionTimetable,
    CronTriggerTimetable, MultipleCronTriggerTimetable, PartitionedAtRuntime, task,
)

def make(dag_id, schedule, outlets=(), **fields):
    with DAG(dag_id, schedule=schedule, start_date=datetime(2026, 1, 1), **fields) as dag:
        BashOperator(task_id="task", bash_command="echo {{ ds }} {{ data_interval_end }}", outlets=[*outlets])
    return dag
"""


def scheduled(tmp_path: Path, name: str, schedule: str, fields: str = "") -> ConvertedFile:
    return convert_text(tmp_path, name, f"{HEAD}\ndag = make('{name}', {schedule}{fields})\n")


@pytest.mark.parametrize(
    ("name", "schedule", "sources"),
    [
        ("each_half_hour", "timedelta(minutes=30)", [{"name": "interval", "cron": "*/30 * * * *"}]),
        ("each_four_hours", "timedelta(hours=4)", [{"name": "interval", "cron": "0 */4 * * *"}]),
        ("each_day", "timedelta(days=1)", [{"name": "interval", "cron": "0 0 * * *"}]),
        ("each_week", "timedelta(weeks=1)", [{"name": "interval", "cron": "0 0 * * 0"}]),
        ("hourly", "'@hourly'", [{"name": "cron", "cron": "0 * * * *", "timezone": "UTC"}]),
        (
            "in_berlin",
            "CronTriggerTimetable('0 6 * * *', timezone='Europe/Berlin')",
            [{"name": "cron", "cron": "0 6 * * *", "timezone": "Europe/Berlin"}],
        ),
        (
            "of_intervals",
            "CronDataIntervalTimetable('0 6 * * *', timezone='UTC')",
            [{"name": "cron", "cron": "0 6 * * *", "timezone": "UTC"}],
        ),
        (
            "of_partitions",
            "CronPartitionTimetable('15 * * * *', timezone='UTC')",
            [{"name": "cron", "cron": "15 * * * *", "timezone": "UTC"}],
        ),
        (
            "of_two_times",
            "MultipleCronTriggerTimetable('0 6 * * *', '0 18 * * 5', timezone='UTC')",
            [
                {"name": "cron_0", "cron": "0 6 * * *", "timezone": "UTC"},
                {"name": "cron_1", "cron": "0 18 * * 5", "timezone": "UTC"},
            ],
        ),
    ],
)
def test_a_timetable_becomes_cron_sources(
    tmp_path: Path, name: str, schedule: str, sources: list[dict[str, Any]]
) -> None:
    converted = scheduled(tmp_path, f"dag_{name}", schedule)
    assert converted.code == 0, converted.report
    assert converted.schedule(f"dag-{name}".replace("_", "-"))["sources"] == sources


def test_runs_with_a_partition_by_hand_have_a_note(tmp_path: Path) -> None:
    converted = scheduled(tmp_path, "dag_of_runtime_partitions", "PartitionedAtRuntime()")
    assert (converted.code, len(converted.documents)) == (0, 1)
    assert "note: dag_of_runtime_partitions: partitions: a run has none" in converted.report


def test_dates_and_catchup_limit_the_schedule(tmp_path: Path) -> None:
    fields = ", catchup=True, end_date=datetime(2026, 2, 1), max_consecutive_failed_dag_runs=3"
    spec = scheduled(tmp_path, "dag_of_january", "'@daily'", fields).schedule("dag-of-january")
    assert spec["notBefore"].startswith("2026-01-01T00:00:00")
    assert spec["notAfter"].startswith("2026-02-01T00:00:00")
    assert (spec["missed"]["run"], spec["pauseAfterFailures"]) == ("All", 3)


@pytest.mark.parametrize(
    ("scheduled_run", "expected"),
    [
        (True, "2026-11-25 2026-11-26 06:00:00+00:00"),
        (False, "2026-11-26 2026-11-26 06:00:00+00:00"),
    ],
)
def test_a_run_has_the_data_interval_of_its_timetable(tmp_path: Path, scheduled_run: bool, expected: str) -> None:
    name = f"dag_of_interval_{scheduled_run}".lower()
    scheduled(tmp_path, name, "CronDataIntervalTimetable('0 6 * * *', timezone='UTC')")
    operator = AirflowOperator(
        dag=f"{name}:{name}", task="task", logical_date="2026-11-26T06:00:00Z", scheduled=scheduled_run
    )
    context = Context(
        namespace="default",
        workflow="run",
        task="task",
        map_index=-1,
        attempt=1,
        segment=0,
        taskrun="run-task",
        uid="1",
    )
    assert operator.execute(context) == expected


def test_a_watcher_is_a_source_with_its_trigger(tmp_path: Path) -> None:
    converted = scheduled(
        tmp_path,
        "dag_watching",
        "[Asset('flag', watchers=[AssetWatcher(name='flag_file', trigger=FileDeleteTrigger(filepath='/tmp/flag'))])]",
    )
    assert converted.code == 0, converted.report
    (source,) = converted.schedule("dag-watching")["sources"]
    assert (source["name"], source["triggerPool"]) == ("flag_file", "airflow")
    assert source["trigger"]["class"] == "airflow.providers.standard.triggers.file.FileDeleteTrigger"
    assert source["trigger"]["kwargs"]["filepath"] == "/tmp/flag"


ASSETS = """
rows, fares = Asset("rows"), Asset("fares")
make("produce_rows", "@daily", [rows])
make("produce_fares", None, [fares])
"""


def source(asset: str, label: str) -> dict[str, Any]:
    kwargs = {"labels": {label: f"produce-{asset}"}, "state": "succeeded"}
    return {"name": f"{asset}_of_produce_{asset}", "trigger": {"class": "workflow", "kwargs": kwargs}}


ROWS, FARES = source("rows", "torpor.dev/schedule"), source("fares", "airflow-dag")


@pytest.mark.parametrize(
    ("name", "schedule", "sources", "all_of"),
    [
        ("one", "[rows]", [ROWS], None),
        ("any", "rows | fares", [ROWS, FARES], None),
        ("all", "rows & fares", [ROWS, FARES], ["rows_of_produce_rows", "fares_of_produce_fares"]),
        (
            "time",
            "AssetOrTimeSchedule(timetable=CronTriggerTimetable('0 1 * * 3', timezone='UTC'), assets=rows)",
            [{"name": "cron", "cron": "0 1 * * 3", "timezone": "UTC"}, ROWS],
            None,
        ),
    ],
)
def test_an_asset_is_the_end_of_a_run_that_updates_it(
    tmp_path: Path, name: str, schedule: str, sources: list[dict[str, Any]], all_of: list[str] | None
) -> None:
    converted = convert_text(tmp_path, f"dag_assets_{name}", f"{HEAD}{ASSETS}\nmake('consume', {schedule})\n")
    assert converted.code == 0, converted.report
    spec = converted.schedule("consume")
    assert (spec["sources"], spec.get("allOf")) == (sources, all_of)


@pytest.mark.parametrize(
    ("name", "schedule", "loss"),
    [
        ("unknown", "[Asset('other')]", "the asset other: no DAG of this conversion updates it"),
        ("alias", "[AssetAlias('some')]", "an asset alias"),
        ("nested", "rows | (fares & Asset('rows2'))", "assets that are joined by both & and |"),
    ],
)
def test_an_asset_without_a_counterpart_is_reported(tmp_path: Path, name: str, schedule: str, loss: str) -> None:
    converted = convert_text(tmp_path, f"dag_lost_{name}", f"{HEAD}{ASSETS}\nmake('consume', {schedule})\n")
    assert converted.code == 1
    assert f"not converted: consume: {loss}" in converted.report


@pytest.mark.parametrize(
    ("name", "code", "finding"),
    [
        ("state", "print(context['task_state_store'].get('job'))", "not converted: read: task_state_store"),
        ("asset", "context['asset_state_store']", "not converted: read: asset_state_store"),
        ("events", "list(context['inlet_events'])", "not converted: read: inlet_events"),
        ("partition", "print(context['dag_run'].run_id, context['partition_key'])", "read: partition_key"),
        ("earlier", "context['ti'].xcom_pull(include_prior_dates=True)", "not converted: read: include_prior_dates"),
        ("extra", "context['outlet_events'][Asset('x')].extra = {}", "note: read: outlet_events"),
    ],
)
def test_parts_of_the_context_that_torpor_lacks_are_reported(
    tmp_path: Path, name: str, code: str, finding: str
) -> None:
    function = f"    @task(retries=1)\n    def read(**context):\n        {code}\n    read()\n"
    text = f"{HEAD}\nwith DAG('reading', schedule=None):\n{function}"
    assert finding in convert_text(tmp_path, f"dag_reading_{name}", text).report


def test_a_state_store_loses_nothing_in_a_task_without_retries(tmp_path: Path) -> None:
    function = "    @task\n    def read(task_state_store):\n        task_state_store.set('job', 1)\n    read()\n"
    text = f"{HEAD}\nwith DAG('storing', schedule=None):\n{function}"
    assert convert_text(tmp_path, "dag_storing", text).code == 0


def test_the_code_of_a_mapped_task_is_searched_too(tmp_path: Path) -> None:
    read = "    @task(retries=1)\n    def read(row, task_state_store=None): ...\n    read.expand(row=[1, 2])\n"
    text = f"{HEAD}\nwith DAG('reading', schedule=None):\n{read}"
    assert "not converted: read: task_state_store" in convert_text(tmp_path, "dag_reading_mapped", text).report

"""Sensors for runs of other DAGs: what the converter says of them, and the ticks for which they wait."""

from datetime import timedelta
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from airflow.sdk import DAG, CronDataIntervalTimetable, CronTriggerTimetable, DeltaDataIntervalTimetable
from converted import ConvertedFile, convert_text
from test_operators import context
from torpor.deferral import TaskDeferred
from torpor_airflow.conversion.schedule import ticks
from torpor_airflow.operators import AirflowOperator

SENSOR = "airflow.providers.standard.sensors.external_task.ExternalTaskSensor"
TRIGGER = "airflow.providers.standard.triggers.external_task.WorkflowTrigger"


def deferral_of(operator: AirflowOperator, map_index: int = -1) -> dict[str, Any]:
    with pytest.raises(TaskDeferred) as caught:
        operator.execute(context(map_index=map_index))
    path, kwargs = caught.value.trigger.serialize()
    assert path == TRIGGER
    return dict(kwargs)


def test_a_sensor_for_another_run_always_defers() -> None:
    arguments = {"external_dag_id": "orders", "execution_delta": {"__type": "timedelta", "__var": 3600}}
    kwargs = deferral_of(AirflowOperator(operator=SENSOR, arguments=arguments, logical_date="2026-11-26T13:00:00Z"))
    assert [each.isoformat() for each in kwargs["logical_dates"]] == ["2026-11-26T12:00:00+00:00"]


DAGS = """
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.providers.standard.sensors.external_task import ExternalTaskSensor
from datetime import timedelta

from airflow.sdk import DAG, CronDataIntervalTimetable, CronTriggerTimetable, TaskGroup

with DAG("orders", schedule=CronDataIntervalTimetable("0 12 * * *", timezone="UTC")):
    EmptyOperator(task_id="load")
    with TaskGroup("rows"), TaskGroup("inner"):
        EmptyOperator(task_id="first") >> EmptyOperator(task_id="second")
with DAG("by_hand", schedule=None):
    EmptyOperator(task_id="load")
with DAG("at_noon", schedule=CronTriggerTimetable("0 12 * * *", timezone="UTC")):
    EmptyOperator(task_id="load")
with DAG("hourly", schedule=CronDataIntervalTimetable("0 * * * *", timezone="UTC")):
    EmptyOperator(task_id="load")
with DAG("in_rome", schedule=CronDataIntervalTimetable("0 12 * * *", timezone="Europe/Rome")):
    EmptyOperator(task_id="load")
with DAG("report", schedule=CronDataIntervalTimetable("0 12 * * *", timezone="UTC")):
    ExternalTaskSensor(task_id="same", external_dag_id="orders", external_task_id="load")
    ExternalTaskSensor(task_id="unknown", external_dag_id="elsewhere")
    ExternalTaskSensor(task_id="templated", external_dag_id="{{ params.dag }}")
    ExternalTaskSensor(task_id="unscheduled", external_dag_id="by_hand")
    ExternalTaskSensor(task_id="other_dates", external_dag_id="at_noon")
    ExternalTaskSensor(task_id="other_interval", external_dag_id="hourly")
    ExternalTaskSensor(task_id="other_zone", external_dag_id="in_rome")
    ExternalTaskSensor(task_id="earlier", external_dag_id="orders", execution_delta=timedelta(days=1))
    ExternalTaskSensor(task_id="computed", external_dag_id="orders", execution_date_fn=lambda moment: moment)
    ExternalTaskSensor.partial(task_id="mapped").expand(external_dag_id=["orders", "salaries"])
    ExternalTaskSensor(task_id="group", external_dag_id="orders", external_task_group_id="rows")
    ExternalTaskSensor(task_id="no_group", external_dag_id="orders", external_task_group_id="columns")
    ExternalTaskSensor(task_id="far_group", external_dag_id="elsewhere", external_task_group_id="rows")
    TriggerDagRunOperator(task_id="named", trigger_dag_id="by_hand", trigger_run_id="Manual__1")
    TriggerDagRunOperator(task_id="plain", trigger_dag_id="by_hand", reset_dag_run=True)
    TriggerDagRunOperator(task_id="again", trigger_dag_id="by_hand", trigger_run_id="a", reset_dag_run=True)
    TriggerDagRunOperator(
        task_id="any_end", trigger_dag_id="by_hand", wait_for_completion=True, allowed_states=["success", "failed"]
    )
"""


@pytest.fixture(scope="module")
def other_dags(tmp_path_factory: pytest.TempPathFactory) -> ConvertedFile:
    return convert_text(tmp_path_factory.mktemp("dags"), "dag_other_runs", DAGS)


@pytest.mark.parametrize(
    "line",
    [
        "note: same: it waits for the run of the Schedule orders at its time, in its namespace",
        "note: unknown: it waits for the run of the Schedule elsewhere",
        "note: templated: it waits for a run of the Schedule that has the name of its external_dag_id",
        "not converted: unscheduled: it waits for by_hand, which no cron source starts",
        "not converted: other_dates: it waits for at_noon, but only one of the two DAGs has data intervals",
        "not converted: other_interval: it waits for hourly, but the data intervals of the two DAGs differ",
        "not converted: other_zone: it waits for in_rome, but the data intervals of the two DAGs differ",
        "note: earlier: execution_delta: a run that no tick starts, or that the Schedule has deleted, is awaited",
        "note: computed: execution_date_fn: a run that no tick starts",
        "note: group: it waits for the run of the Schedule orders",
        "not converted: no_group: external_task_group_id: no DAG of this conversion has the group",
        "not converted: far_group: external_task_group_id: no DAG of this conversion has the group",
        "note: named: the run has the name manual-1",
        "not converted: again: argument reset_dag_run",
        "not converted: any_end: argument allowed_states",
    ],
)
def test_the_report_says_which_runs_a_task_waits_for_or_starts(other_dags: ConvertedFile, line: str) -> None:
    assert line in other_dags.report


def cron(expression: str) -> Any:
    return CronDataIntervalTimetable(expression, timezone="UTC")


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (cron("@daily"), cron("0 0  * * *"), True),
        (cron("@daily"), cron("@hourly"), False),
        (DeltaDataIntervalTimetable(timedelta(hours=1)), DeltaDataIntervalTimetable(timedelta(minutes=60)), True),
        (DeltaDataIntervalTimetable(timedelta(hours=1)), DeltaDataIntervalTimetable(timedelta(hours=2)), False),
        (CronTriggerTimetable("@daily", timezone="UTC"), CronTriggerTimetable("@hourly", timezone="UTC"), True),
    ],
)
def test_the_same_data_intervals_have_the_same_key(first: Any, second: Any, same: bool) -> None:
    keys = [ticks(DAG("any", schedule=each)).intervals for each in (first, second)]
    assert (keys[0] == keys[1]) == same


def test_what_starts_a_new_run_each_time_needs_no_reset(other_dags: ConvertedFile) -> None:
    assert "plain:" not in other_dags.report
    assert other_dags.tasks("report")["named"]["run"]["name"] == "manual-1"


def test_an_instance_of_a_mapped_sensor_defers(other_dags: ConvertedFile) -> None:
    assert other_dags.tasks("report")["mapped"]["expand"]
    operator = AirflowOperator(dag="dag_other_runs:report", task="mapped", logical_date="2026-11-26T12:00:00Z")
    assert deferral_of(operator, map_index=1)["external_dag_id"] == "salaries"


def test_a_scheduled_sensor_waits_for_the_tick_after_the_logical_date(other_dags: ConvertedFile) -> None:
    assert other_dags.code == 1
    operator = AirflowOperator(
        dag="dag_other_runs:report", task="same", logical_date="2026-11-26T12:00:00Z", scheduled=True
    )
    assert [each.isoformat() for each in deferral_of(operator)["logical_dates"]] == ["2026-11-26T12:00:00+00:00"]


def test_a_wait_for_a_task_group_is_one_for_its_tasks(other_dags: ConvertedFile) -> None:
    assert "not converted: group" not in other_dags.report
    tasks = other_dags.tasks("report")["group"]["args"]["external_tasks"]
    assert sorted(tasks) == ["rows.inner.first", "rows.inner.second"]
    operator = AirflowOperator(
        dag="dag_other_runs:report", task="group", logical_date="2026-11-26T12:00:00Z", external_tasks=tasks
    )
    kwargs = deferral_of(operator)
    assert (kwargs["external_task_ids"], kwargs["external_task_group_id"]) == (tasks, None)

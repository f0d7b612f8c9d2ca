"""A DAG with parts that have no counterpart."""

from datetime import datetime, timedelta
from typing import Any

from airflow.providers.http.operators.http import HttpOperator
from airflow.providers.standard.operators.python import PythonOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.providers.standard.sensors.external_task import ExternalTaskSensor
from airflow.sdk import dag


def _tell(_context: Any) -> None:
    """Tell somebody."""


@dag(
    schedule=timedelta(hours=5),
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - as DAGs are written
    on_failure_callback=_tell,
)
def partial_etl() -> None:
    """Build the DAG."""
    PythonOperator(task_id="late", python_callable=print, depends_on_past=True, pool="small", pool_slots=2)
    HttpOperator(task_id="fetch", http_conn_id="reports", endpoint="x", queue="gpu", priority_weight=7)
    ExternalTaskSensor(task_id="other", external_dag_id="orders")
    TriggerDagRunOperator(task_id="next", trigger_dag_id="load", conf={"day": "{{ ds }}"})
    TriggerDagRunOperator(task_id="then", trigger_dag_id="load_all", conf={"day": 1}, wait_for_completion=True)


partial_etl()

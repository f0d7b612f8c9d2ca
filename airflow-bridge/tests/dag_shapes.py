"""A DAG with each shape that a graph of Airflow has."""

from datetime import datetime, timedelta
from typing import Any

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.sdk import DAG, Param, task, task_group

with DAG(
    "Shapes-of.graphs",
    description="Each shape once",
    schedule="0 6 * * *",
    start_date=datetime(2026, 1, 1),  # noqa: DTZ001 - as DAGs are written
    params={"table": "trips", "factor": Param(2, type="integer", minimum=1), "mode": Param("a", enum=["a", "b"])},
    default_args={"retries": 2, "retry_delay": timedelta(minutes=5), "owner": "data"},
    max_active_runs=3,
) as dag:

    @task
    def extract() -> list[int]:
        """Return three rows."""
        return [1, 2, 3]

    @task.branch
    def choose(rows: list[int]) -> str:
        """Choose by the number of rows."""
        return "show_many" if len(rows) > 2 else "show_few"

    @task
    def double(row: int, factor: int) -> int:
        """Return a row, multiplied."""
        return row * factor

    @task
    def total(rows: Any, params: Any = None) -> int:
        """Return the sum, multiplied by the param."""
        return int(sum(rows) * params["factor"])

    @task(multiple_outputs=True)
    def limits(rows: list[int]) -> dict[str, int]:
        """Return two XComs."""
        return {"least": min(rows), "most": max(rows)}

    @task
    def span(least: int, most: int) -> int:
        """Return the difference of two XComs."""
        return most - least

    @task_group
    def each(row: int) -> None:
        """Work on a row."""

        @task
        def half(value: int) -> float:
            return value / 2

        @task
        def negate(value: float) -> float:
            return -value

        negate(half(row))

    @task.short_circuit
    def is_sunday() -> bool:
        """Skip what follows."""
        return False

    @task
    def broken() -> None:
        """Fail."""
        raise RuntimeError("as planned")

    @task(trigger_rule="all_done", retries=0)
    def tolerant() -> str:
        """Run in spite of a failure."""
        return "ran"

    rows = extract()
    show_few = BashOperator(task_id="show_few", bash_command="echo few")
    show_many = BashOperator(
        task_id="show_many", bash_command="echo {{ params.table }} {{ ti.xcom_pull(task_ids='extract') }}"
    )
    choose(rows) >> [show_few, show_many]
    total(double.partial(factor=2).expand(row=rows))
    found = limits(rows)
    span(found["least"], found["most"])
    each.expand(row=rows.map(lambda row: row + 1))
    never = EmptyOperator(task_id="never")
    always = EmptyOperator(task_id="always", trigger_rule="all_done")
    is_sunday() >> never >> always
    broken.override(retries=0)() >> tolerant()
    begin = BashOperator(task_id="begin", bash_command="true").as_setup()
    end = BashOperator(task_id="end", bash_command="true").as_teardown(setups=begin)
    begin >> BashOperator(task_id="work", bash_command="exit 99") >> end

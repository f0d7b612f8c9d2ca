"""Functions, and a deferrable sensor between them that polls in the pool."""

from airflow.providers.http.sensors.http import HttpSensor
from airflow.sdk import DAG, task

with DAG("kind_reports", schedule=None):

    @task
    def extract() -> list[int]:
        """Return three rows."""
        return [1, 2, 3]

    @task
    def load(rows: list[int]) -> int:
        """Return their sum."""
        return sum(rows)

    gate = HttpSensor(task_id="gate", http_conn_id="reports", endpoint="gate", deferrable=True, poke_interval=1)
    rows = extract()
    rows >> gate >> load(rows)

"""Each night: wait for the export of the shops, load the orders of each shop, and write a summary."""

from pathlib import Path

import yaml
from airflow.providers.http.hooks.http import HttpHook
from airflow.providers.http.sensors.http import HttpSensor
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Asset, task

SHOPS = yaml.safe_load(Path(__file__).with_name("shops.yaml").read_text())
SUMMARY = Asset("orders-summary")

with DAG("orders", schedule="30 2 * * *", catchup=False, params={"currency": "EUR"}):
    exported = HttpSensor(
        task_id="exported", http_conn_id="shop", endpoint="ready.txt", deferrable=True, poke_interval=5
    )

    @task
    def load(shop: str) -> int:
        """Return the sum of the orders of a shop."""
        return sum(HttpHook(method="GET", http_conn_id="shop").run(f"{shop}.json").json())

    @task
    def total(sums: list[int]) -> int:
        """Return the sum of all shops."""
        return sum(sums)

    sums = load.expand(shop=SHOPS)
    exported >> sums
    total(sums) >> BashOperator(task_id="summary", bash_command="summary.sh", outlets=[SUMMARY])

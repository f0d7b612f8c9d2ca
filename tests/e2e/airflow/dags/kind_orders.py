"""Two DAGs with the same schedule: a sensor of the second one waits for the run of the first one at the same time."""

from airflow.providers.standard.sensors.external_task import ExternalTaskSensor
from airflow.sdk import DAG, task

with DAG("kind_orders", schedule="* * * * *", max_active_runs=1):

    @task
    def store() -> str:
        """Return a text."""
        return "stored"

    store()

with DAG("kind_invoices", schedule="* * * * *", max_active_runs=1):

    @task
    def send() -> str:
        """Return a text."""
        return "sent"

    ExternalTaskSensor(task_id="ordered", external_dag_id="kind_orders", external_task_id="store") >> send()

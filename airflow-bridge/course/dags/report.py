"""After each summary: write the report."""

from airflow.sdk import DAG, Asset, task

with DAG("report", schedule=[Asset("orders-summary")], tags=["sales"]):

    @task(depends_on_past=True)
    def write() -> str:
        """Return the report."""
        return "written"

    write()

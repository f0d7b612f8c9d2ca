"""A DAG with a function that runs in another interpreter, which has Airflow itself."""

import sys

from airflow.sdk import DAG, task

with DAG("children", schedule=None):

    @task.external_python(python=sys.executable)
    def outside(number: int) -> list[int]:
        """Return the number, and whether this interpreter has loaded Airflow as an installation."""
        import os  # noqa: PLC0415

        return [number, int("_AIRFLOW__AS_LIBRARY" in os.environ)]

    outside(7)
    outside.override(task_id="each").expand(number=[7, 8])

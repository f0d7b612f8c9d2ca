"""The last task of a system test: it fails if any other task has, so that a teardown hides no failure."""

from airflow.sdk import task
from airflow.sdk.exceptions import AirflowException


@task(trigger_rule="one_failed", retries=0)
def watcher() -> None:
    """Fail. The rule skips the task unless another one has failed."""
    raise AirflowException("a task of the system test has failed")

"""A DAG that asks people."""

from datetime import timedelta
from typing import Any

from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.hitl import (
    ApprovalOperator,
    HITLBranchOperator,
    HITLEntryOperator,
    HITLOperator,
)
from airflow.sdk import DAG, Param, task

with DAG("asking", schedule=None):
    pick = HITLOperator(
        task_id="pick",
        subject="Which tables?",
        body="Both are large.",
        options=["trips", "fares"],
        multiple=True,
        defaults=["trips"],
        response_timeout=timedelta(minutes=5),
    )
    enter = HITLEntryOperator(task_id="enter", subject="Why?", params={"reason": Param("", type="string"), "rows": 3})
    publish = ApprovalOperator(task_id="publish", subject="Publish?", defaults="Reject")
    certain = ApprovalOperator(task_id="certain", subject="Certain?", fail_on_reject=True)
    route = HITLBranchOperator(task_id="route", subject="Where to?", options=["east", "west"])

    @task
    def load(ti: Any = None) -> list[str]:
        """Return what was chosen."""
        found = ti.xcom_pull(task_ids="pick")["chosen_options"]
        return [*found, ti.xcom_pull(task_ids="enter")["params_input"]["reason"]]

    loaded = load()
    [pick, enter] >> loaded >> publish >> certain >> route
    route >> [BashOperator(task_id="east", bash_command="echo east"), BashOperator(task_id="west", bash_command="true")]

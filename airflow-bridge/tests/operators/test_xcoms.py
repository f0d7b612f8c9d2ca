"""XComs that a task reads: those of its own run only, and of a branch only what the branch chose."""

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from test_operators import run, sample
from torpor_airflow.operators.supervisor import UnsupportedRequestError


@pytest.mark.parametrize(
    ("arguments", "missing"),
    [
        ("task_ids='extract', dag_id='other'", "of the DAG other: a task reads those of its own run"),
        ("task_ids='extract', map_indexes=-1, dag_id='other'", "of the DAG other"),
        ("task_ids='extract', run_id='yesterday'", "of the run yesterday"),
        ("task_ids='extract', include_prior_dates=True", r"of earlier runs \(include_prior_dates\)"),
        ("include_prior_dates=True", "the XCom of task load of earlier runs"),
    ],
)
def test_the_xcom_of_another_run_is_refused(arguments: str, missing: str) -> None:
    text = {"text": f"{{{{ ti.xcom_pull({arguments}) }}}}"}
    with pytest.raises(UnsupportedRequestError, match=missing):
        run(sample("TemplatedOperator", text, xcom_extract=17))


@pytest.mark.parametrize("arguments", ["dag_id='report'", "run_id='report'", "dag_id=dag.dag_id, run_id=run_id"])
def test_the_xcom_of_the_own_run_may_be_named(arguments: str) -> None:
    text = {"text": f"{{{{ ti.xcom_pull(task_ids='extract', {arguments}) }}}}"}
    assert run(sample("TemplatedOperator", text, xcom_extract=17)) == "17"

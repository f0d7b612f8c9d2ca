"""XComs that a task reads: those of its own run only, and of a branch only what the branch chose."""

from pathlib import Path

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import convert_text
from test_local_run import run as run_file
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


BRANCHES = """
from airflow.sdk import DAG, task
from airflow.providers.standard.operators.empty import EmptyOperator

with DAG("branching", schedule=None):
    @task.branch
    def choose(ti=None):
        ti.xcom_push("rows", 3)
        return "small-one"

    @task.short_circuit
    def count():
        return 17

    @task
    def read(rows, ti=None):
        return rows, ti.xcom_pull(task_ids="choose", key="rows")

    @task(trigger_rule="none_failed")
    def compute(ti=None):
        return [ti.xcom_pull(task_ids=each) for each in dir()]

    @task(trigger_rule="none_failed")
    def unconcerned():
        return "choose"

    small = EmptyOperator(task_id="small-one")
    chosen, counted = choose(), count()
    chosen >> [small, EmptyOperator(task_id="big")]
    last = read(counted)
    small >> last
    last >> [compute(), unconcerned()]
"""


def test_a_read_xcom_of_a_branch_is_reported(tmp_path: Path) -> None:
    converted = convert_text(tmp_path, "dag_branching", BRANCHES)
    found = [line.partition(": ")[2] for line in converted.report.splitlines()]
    lost = "which keeps only the tasks that it chose"
    assert found == [
        f"not converted: read: the XCom of choose, {lost}",
        f"not converted: read: the XCom of count, {lost}",
        "note: compute: XComs are pulled by computed names: each one before it is passed",
        f"note: compute: the XCom of choose, {lost}",
        f"note: compute: the XCom of count, {lost}",
    ]


async def test_a_branch_chooses_a_task_whose_name_differs(tmp_path: Path, python: str) -> None:
    text = BRANCHES[: BRANCHES.index("    @task.short_circuit")]
    text += '    choose() >> [EmptyOperator(task_id="small-one"), EmptyOperator(task_id="big.one")]\n'
    file = tmp_path / "dag_branching_by_id.py"
    file.write_text(text)
    ended = await run_file(tmp_path, python, str(file), {})
    assert ended.states == {"choose": {-1: "Succeeded"}, "small-one": {-1: "Succeeded"}, "big.one": {-1: "Skipped"}}

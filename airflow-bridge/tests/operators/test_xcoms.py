"""XComs that a task reads: those of its own run only, and of a branch only what the branch chose."""

from pathlib import Path
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import convert_text
from test_local_run import run as run_file
from test_operators import run, sample
from torpor_airflow.operators.supervisor import UnsupportedRequestError
from torpor_airflow.operators.xcom_errors import UnstorableXComError


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


@pytest.mark.parametrize(
    ("given", "key", "kind"),
    [
        ({}, "return_value", "sample_operators.Unserializable"),
        ({"key": "rows"}, "rows", "sample_operators.Unserializable"),
        ({"key": "rows", "awaits": True}, "rows", "sample_operators.Unserializable"),
        ({"key": "rows", "within": True}, "rows", "builtins.dict"),
    ],
)
def test_an_xcom_that_cannot_be_stored_names_task_key_and_type(given: dict[str, Any], key: str, kind: str) -> None:
    with pytest.raises(UnstorableXComError) as caught:
        run(sample("ObjectOperator", given))
    message = str(caught.value)
    assert message.startswith(f"the XCom {key} of task load, of type {kind}, cannot be serialized: ")
    assert "sample_operators.Unserializable'" in message  # of an object within, too


OBJECTS = """
from airflow.sdk import DAG, Asset, task

with DAG("objects", schedule=None):
    @task
    def make(ti=None):
        ti.xcom_push("further", [Asset("fares", uri="s3://lake/fares", extra={"rows": 4})])
        return Asset("trips", uri="s3://lake/trips", extra={"rows": 3})

    @task
    def read(made, ti=None):
        (further,) = ti.xcom_pull(task_ids="make", key="further")
        return [f"{type(each).__name__} {each.uri} {each.extra['rows']}" for each in (made, further)]

    read(make())
"""


async def test_an_object_of_airflow_is_one_in_the_task_that_reads_it(tmp_path: Path, python: str) -> None:
    (tmp_path / "dag_of_objects.py").write_text(OBJECTS)
    ended = await run_file(tmp_path, python, str(tmp_path / "dag_of_objects.py"), {})
    assert ended.state == "Succeeded", ended
    expected = ["Asset s3://lake/trips 3", "Asset s3://lake/fares 4"]
    assert ended.xcoms["read"][-1]["return_value"] == expected


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

"""DAGs whose templates would have the same name are reported, each with the place of the other one."""

from pathlib import Path

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import convert_file

HEAD = "from airflow.sdk import DAG\nfrom airflow.providers.standard.operators.empty import EmptyOperator\n"


def write(folder: Path, name: str, *dag_ids: str) -> Path:
    file = folder / f"{name}.py"
    dags = [f"with DAG('{each}', schedule=None):\n    EmptyOperator(task_id='work')\n" for each in dag_ids]
    file.write_text(HEAD + "".join(dags))
    return file


def test_two_dags_with_the_same_object_name_are_a_loss(tmp_path: Path) -> None:
    file = write(tmp_path, "dag_names_of_one_file", "load_rows", "other", "load-rows")
    converted = convert_file(file)
    assert converted.code == 1
    assert [line.rpartition(": ")[0] for line in converted.report.splitlines()] == [
        f"{file}:7: not converted: load-rows: its template load-rows is also that of load_rows in {file}:3",
        f"{file}:3: not converted: load_rows: its template load-rows is also that of load-rows in {file}:7",
    ]


def test_one_dag_id_in_two_files_is_a_loss(tmp_path: Path) -> None:
    one, other = write(tmp_path, "dag_names_a", "load"), write(tmp_path, "dag_names_b", "first", "load")
    converted = convert_file(one, other)
    assert converted.code == 1
    assert f"{one}:3: not converted: load: its template load is also that of load in {other}:5" in converted.report
    assert f"{other}:5: not converted: load: its template load is also that of load in {one}:3" in converted.report


def test_dags_with_names_of_their_own_are_whole(tmp_path: Path) -> None:
    converted = convert_file(write(tmp_path, "dag_names_c", "load"), write(tmp_path, "dag_names_d", "load_all"))
    assert (converted.code, converted.report) == (0, "")


IN_A_LOOP = (
    "for city in ('ulm', 'ulm'):\n    with DAG(f'load_{city}', schedule=None):\n        EmptyOperator(task_id='a')\n"
)
DECORATED = """
from airflow.sdk import dag

@dag(schedule=None)
def twice():
    EmptyOperator(task_id="a")

twice()
twice()
"""


@pytest.mark.parametrize(
    ("name", "text", "dag_id", "lines"),
    [
        ("two", "a = DAG('load')\nb = DAG('other')\nc = DAG('load')\n", "load", [3, 5]),
        ("with_blocks", 2 * "with DAG('load'):\n    EmptyOperator(task_id='a')\n", "load", [3, 5]),
        ("computed", IN_A_LOOP, "load_ulm", [4]),
        ("decorated", DECORATED, "twice", [7]),
    ],
)
def test_two_dags_of_one_id_in_one_file_are_an_error(
    tmp_path: Path, name: str, text: str, dag_id: str, lines: list[int]
) -> None:
    file = tmp_path / f"dag_names_{name}.py"
    file.write_text(HEAD + text)
    converted = convert_file(file)
    places = ", ".join(f"{file}:{line}" for line in lines)
    assert converted.code == 2
    assert f"several DAGs have the dag_id {dag_id}, at {places}: give each a dag_id of its own" in converted.report
    assert converted.documents == {}


def test_a_dag_with_two_names_in_its_file_is_one_dag(tmp_path: Path) -> None:
    file = tmp_path / "dag_names_alias.py"
    file.write_text(
        f"{HEAD}with DAG('load', schedule=None) as first:\n    EmptyOperator(task_id='a')\nsecond = first\n"
    )
    assert convert_file(file).code == 0

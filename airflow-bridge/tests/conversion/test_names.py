"""DAGs whose templates would have the same name are reported, each with the place of the other one."""

from pathlib import Path

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

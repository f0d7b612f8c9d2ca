"""Code that asks for Airflow's database fails with the call, its line, and what to do instead."""

from pathlib import Path
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import convert_text
from test_operators import context
from torpor_airflow import no_database
from torpor_airflow.no_database import CodePlace, DatabaseAccessError
from torpor_airflow.operators import AirflowOperator

DAG_FILE = """
from airflow.sdk import DAG, task

@task
def opens_a_session():
    from airflow.utils.session import create_session
    with create_session() as session:  # create_session
        return session

@task
def finds_runs():
    from airflow.models.dagrun import DagRun
    return DagRun.find(dag_id="etl")  # DagRun.find

@task
def takes_the_session_of_settings():
    from airflow.settings import Session
    return Session()  # settings.Session

@task
def asks_settings_for_a_session():
    from airflow import settings
    return settings.get_session()  # settings.get_session

@task
def connects():
    from airflow import settings
    return settings.engine.connect()  # settings.engine.connect

with DAG("asking_the_database", schedule=None):
    opens_a_session(), finds_runs(), takes_the_session_of_settings(), asks_settings_for_a_session(), connects()
"""


@pytest.fixture(scope="module")
def dag_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("database")
    assert convert_text(folder, "dag_asking_the_database", DAG_FILE).code == 0
    return folder / "dag_asking_the_database.py"


@pytest.mark.parametrize(
    ("task", "called"),
    [
        ("opens_a_session", "create_session"),
        ("finds_runs", "DagRun.find"),
        ("takes_the_session_of_settings", "settings.Session"),
        ("asks_settings_for_a_session", "settings.get_session"),
        ("connects", "settings.engine.connect"),
    ],
)
def test_an_error_names_the_call_and_the_line_of_the_operator(dag_path: Path, task: str, called: str) -> None:
    with pytest.raises(DatabaseAccessError) as caught:
        AirflowOperator(dag="dag_asking_the_database:asking_the_database", task=task).execute(context())
    lines = dag_path.read_text().splitlines()
    number = next(number for number, line in enumerate(lines, start=1) if line.endswith(f"# {called}"))
    assert str(caught.value).startswith(
        f"{dag_path}:{number} calls {called}(), which needs Airflow's database: read it"
    )


def test_a_dag_file_that_asks_the_database_is_rejected_with_its_line(tmp_path: Path) -> None:
    text = "from airflow.utils.session import create_session\n\nwith create_session() as session:\n    pass\n"
    converted = convert_text(tmp_path, "dag_with_a_session", text)
    assert converted.code == 2
    assert f"{tmp_path}/dag_with_a_session.py:3 calls create_session()" in converted.report


def place(module: str, function: str = "f", line: int = 1) -> CodePlace:
    return CodePlace(module=module, function=function, file=f"{module}.py", line=line)


@pytest.mark.parametrize(
    ("places", "message"),
    [
        (
            [place("airflow.utils.session", "create_session"), place("contextlib"), place("etl", line=7)],
            "etl.py:7 calls",
        ),
        (
            [place("airflow.models.dag"), place("airflow.providers.acme.hooks", line=9)],
            "airflow.providers.acme.hooks.py:9",
        ),
        (
            [place("airflow.utils.session", "create_session"), place("airflow.utils.session", "DagRun.find")],
            "DagRun.find()",
        ),
        ([place("contextlibrary", line=3)], "contextlibrary.py:3 calls settings.Session()"),
        ([], "settings.Session() needs"),
    ],
)
def test_the_caller_is_the_first_code_that_is_none_of_airflow(places: list[Any], message: str) -> None:
    assert no_database.describe("settings.Session", places).startswith(message)

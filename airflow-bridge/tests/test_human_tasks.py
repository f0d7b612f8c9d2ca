"""Operators that ask people become approvals, whose answers have the form of Airflow's."""

from pathlib import Path
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import convert_file, convert_text

TESTS = Path(__file__).parent


@pytest.fixture(scope="module")
def tasks() -> dict[str, dict[str, Any]]:
    converted = convert_file(TESTS / "dag_asking.py")
    assert converted.code == 0, converted.report
    return converted.tasks("asking")


def kwargs(task: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = task["trigger"]["kwargs"]
    return found


def test_options_and_their_default_are_those_of_the_operator(tasks: dict[str, dict[str, Any]]) -> None:
    assert kwargs(tasks["pick"]) == {
        "question": "Which tables? Both are large.",
        "options": ["trips", "fares"],
        "multiple": True,
        "default": {"approved": True, "options": ["trips"]},
    }
    assert tasks["pick"]["trigger"]["timeout"] == "300s"
    assert "chosen_options" in tasks["pick"]["result"]


def test_params_of_the_operator_are_fields_of_the_form(tasks: dict[str, dict[str, Any]]) -> None:
    assert kwargs(tasks["enter"])["fields"] == [
        {"name": "reason", "type": "string", "required": False},
        {"name": "rows", "type": "integer", "default": 3},
    ]


def test_a_rejection_skips_what_follows_or_fails_the_task(tasks: dict[str, dict[str, Any]]) -> None:
    publish, certain = tasks["publish"], tasks["certain"]
    assert (publish["branch"], publish["result"]) == (True, "event.approved ? ['certain'] : []")
    assert kwargs(publish)["default"] == {"approved": False}
    assert certain["failWhen"] == "!event.approved"
    assert "branch" not in certain


def test_a_chosen_branch_is_the_option(tasks: dict[str, dict[str, Any]]) -> None:
    assert (tasks["route"]["branch"], tasks["route"]["result"]) == (True, "event.options")
    assert kwargs(tasks["route"])["options"] == ["east", "west"]


@pytest.mark.parametrize(
    ("operator", "loss"),
    [
        ("HITLOperator(task_id='a', subject='{{ ds }}?', options=['x', 'y'])", "a: a template in subject"),
        (
            "HITLOperator(task_id='a', subject='?', options=['x', 'y'], on_success_callback=print)",
            "a: argument on_success_callback",
        ),
        (
            "HITLBranchOperator(task_id='a', subject='?', options=['x', 'y'], options_mapping={'x': 'b', 'y': 'b'})",
            "a: options that are not names of downstream tasks",
        ),
    ],
)
def test_what_a_question_cannot_have_is_reported(
    tmp_path: Path, operator: str, loss: str, request: pytest.FixtureRequest
) -> None:
    name = f"dag_asking_{request.node.name.rpartition('[')[2].rstrip(']')[:30]}".replace(" ", "_")
    name = "".join(letter if letter.isalnum() else "_" for letter in name)
    converted = convert_text(
        tmp_path,
        name,
        "from airflow.providers.standard.operators.empty import EmptyOperator\n"
        "from airflow.providers.standard.operators.hitl import HITLBranchOperator, HITLOperator\n"
        "from airflow.sdk import DAG\n"
        f"with DAG('{name}', schedule=None):\n"
        f"    {operator} >> EmptyOperator(task_id='b')\n",
    )
    assert converted.code == 1
    assert f"not converted: {loss}" in converted.report

"""Airflow chooses a callback by whether another attempt may follow."""

import sys
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import convert_text
from torpor import TaskFailed
from torpor.context import Context
from torpor_airflow.operators import AirflowOperator
from torpor_airflow.operators.call import may_retry

DAG = """
from airflow.sdk import DAG, task
from airflow.sdk.exceptions import AirflowFailException

called = []
callbacks = {
    "on_retry_callback": lambda context: called.append("retry"),
    "on_failure_callback": lambda context: called.append("failure"),
    "on_success_callback": lambda context: called.append("success"),
}

with DAG("calling", schedule=None, default_args=callbacks):
    for number in (0, 2):
        @task(task_id=f"fail_{number}", retries=number)
        def fail(ti=None):
            raise ValueError(f"try {ti.try_number} of {ti.max_tries + 1}")
        fail()

    @task(retries=2)
    def give_up():
        raise AirflowFailException("never again")
    give_up()

    @task(retries=2)
    def work():
        return 1
    work()
"""


def attempt(number: int) -> Context:
    return Context(
        namespace="team",
        workflow="run",
        task="any",
        map_index=-1,
        attempt=number,
        segment=0,
        taskrun="run-any",
        uid="11111111-2222-3333-4444-555555555555",
    )


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The module of the DAG, whose list `called` has the callbacks that ran."""
    convert_text(tmp_path_factory.mktemp("dags"), "dag_calling_back", DAG)
    return sys.modules["dag_calling_back"]


@pytest.mark.parametrize(
    ("task", "given", "number", "called"),
    [
        ("fail_0", {}, 1, "failure"),
        ("fail_2", {}, 1, "retry"),
        ("fail_2", {}, 2, "retry"),
        ("fail_2", {}, 3, "failure"),
        ("fail_2", {"retries": 0}, 1, "failure"),
        ("fail_0", {"retries": 1}, 1, "retry"),
        ("fail_0", {"retries": -1}, 9, "retry"),
        ("give_up", {}, 1, "failure"),
    ],
)
def test_a_failure_runs_the_callback_of_its_attempt(
    module: Any, task: str, given: dict[str, Any], number: int, called: str
) -> None:
    module.called.clear()
    with pytest.raises(Exception, match=r"try|never again"):
        AirflowOperator(dag="dag_calling_back:calling", task=task, **given).execute(attempt(number))
    assert module.called == [called]


def test_a_success_runs_its_callback(module: Any) -> None:
    module.called.clear()
    assert AirflowOperator(dag="dag_calling_back:calling", task="work").execute(attempt(1)) == 1
    assert module.called == ["success"]


@pytest.mark.parametrize("number", [1, 3])
def test_an_ordinary_failure_never_forbids_a_retry(module: Any, number: int) -> None:
    with pytest.raises(ValueError, match=f"try {number} of 3") as caught:
        AirflowOperator(dag="dag_calling_back:calling", task="fail_2").execute(attempt(number))
    assert not isinstance(caught.value, TaskFailed)


@pytest.mark.parametrize(
    ("number", "retries", "expected"), [(1, 0, False), (1, 1, True), (2, 1, False), (3, 2, False), (100, -1, True)]
)
def test_an_attempt_may_follow_up_to_the_limit(number: int, retries: int, expected: bool) -> None:
    assert may_retry(number, retries) is expected

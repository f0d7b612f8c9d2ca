"""What limits a task or a DAG has its counterpart or a line in the report: nothing is dropped in silence."""

from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import ConvertedFile, convert_text

DAG = """
from datetime import datetime, timedelta
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.hitl import HITLEntryOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG

LIMITS = {"pool": "small", "execution_timeout": timedelta(minutes=5)}
START = datetime(2026, 1, 1)
TYPES = ["scheduled"]

with DAG(
    "limited", schedule="@daily", start_date=START, allowed_run_types=TYPES,
    max_active_runs=2000, max_active_tasks=20000
):
    TriggerDagRunOperator(
        task_id="start", trigger_dag_id="x", wait_for_completion=True, on_failure_callback=print, **LIMITS
    )
    TriggerDagRunOperator(task_id="leave", trigger_dag_id="x", **LIMITS)
    HITLEntryOperator(task_id="ask", subject="?" * 1500, response_timeout=timedelta(hours=1), **LIMITS)
    BashOperator(task_id="later", bash_command="true", start_date=datetime(2026, 2, 1), end_date=datetime(2026, 3, 1))
    BashOperator(task_id="often", bash_command="true", retries=150, retry_exponential_backoff=1.5,
                 retry_delay=timedelta(milliseconds=2500), max_retry_delay=timedelta(milliseconds=500))
    BashOperator(task_id="steep", bash_command="true", retries=1, retry_exponential_backoff=20)
    BashOperator.partial(task_id="wide", max_active_tis_per_dagrun=20000).expand(bash_command=["true"])
"""
PLAIN = """
from datetime import datetime, timedelta
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.trigger_dagrun import TriggerDagRunOperator
from airflow.sdk import DAG

with DAG("usual_limits", schedule="@daily", start_date=datetime(2026, 1, 1), end_date=datetime(2027, 1, 1)):
    BashOperator(task_id="usual", bash_command="true", retries=3, retry_delay=timedelta(minutes=1),
                 retry_exponential_backoff=3, max_retry_delay=timedelta(minutes=20))
    TriggerDagRunOperator(task_id="start", trigger_dag_id="x", wait_for_completion=True)
"""


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> ConvertedFile:
    """The conversion of a DAG with limits that Torpor does not have, or has in another form."""
    return convert_text(tmp_path_factory.mktemp("dags"), "dag_of_limits", DAG)


@pytest.mark.parametrize(
    "finding",
    [
        "not converted: start: argument on_failure_callback",
        "not converted: start: argument pool small: a task without a pod takes no slot",
        "note: start: execution_timeout: the run is cancelled after it",
        "note: leave: pool small: a task without a pod takes no slot",
        "note: leave: execution_timeout: it limits code that Torpor does not run",
        "note: ask: pool small: a task without a pod takes no slot",
        "note: ask: execution_timeout: it limits code that Torpor does not run",
        "note: ask: subject and body have 1500 characters: the question has the first 1024",
        "not converted: later: argument start_date: the Schedule has notBefore for all tasks",
        "not converted: later: argument end_date: the Schedule has notAfter for all tasks",
        "not converted: often: retries 150: at most 100",
        "note: often: retry_exponential_backoff 1.5: 2, an integer from 1 to 10",
        "note: often: retry_delay 2.5s: 2s, whole seconds from 1",
        "note: often: max_retry_delay 0.5s: 1s, whole seconds from 1",
        "note: steep: retry_exponential_backoff 20: 10, an integer from 1 to 10",
        "note: wide: max_active_tis_per_dagrun 20000: at most 10000",
        "not converted: limited: argument allowed_run_types of the DAG",
        "note: limited: max_active_runs 2000: at most 1000",
        "note: limited: max_active_tasks 20000: at most 10000",
    ],
)
def test_a_limit_that_differs_is_in_the_report(limited: ConvertedFile, finding: str) -> None:
    assert f": {finding}" in limited.report


@pytest.mark.parametrize(
    ("task", "field", "expected"),
    [
        ("often", "retries", {"limit": 100, "delay": "2s", "backoff": 2, "maxDelay": "1s"}),
        ("steep", "retries", {"limit": 1, "delay": "300s", "backoff": 10, "maxDelay": "86400s"}),
        ("start", "run", {"templateRef": {"name": "x"}, "timeout": "300s"}),
        ("leave", "run", {"templateRef": {"name": "x"}, "wait": False}),
        ("wide", "maxActive", 10_000),
    ],
)
def test_a_limit_has_the_value_that_torpor_allows(limited: ConvertedFile, task: str, field: str, expected: Any) -> None:
    assert limited.tasks("limited")[task][field] == expected


def test_usual_limits_are_converted_without_a_report(tmp_path_factory: pytest.TempPathFactory) -> None:
    found = convert_text(tmp_path_factory.mktemp("dags"), "dag_of_usual_limits", PLAIN)
    assert (found.code, found.report) == (0, "")
    expected = {"limit": 3, "delay": "60s", "backoff": 3, "maxDelay": "1200s"}
    assert found.tasks("usual-limits")["usual"]["retries"] == expected

"""Links of an operator are the links of its task, and no XComs."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from torpor import Context
from torpor_airflow.operators import AirflowOperator, call, links

CONTEXT = Context(
    namespace="team",
    workflow="report",
    task="load",
    map_index=-1,
    attempt=1,
    segment=0,
    taskrun="report-load-abcde",
    uid="11111111-2222-3333-4444-555555555555",
)
JOB, HELP = "https://jobs.example.org/1", "https://help.example.org/"


def run(url: str, **arguments: Any) -> Any:
    return AirflowOperator(operator="sample_operators.LinkedOperator", arguments={"url": url, **arguments}).execute(
        CONTEXT
    )


def test_the_links_of_an_operator_are_beside_its_xcoms() -> None:
    result = run(JOB)
    assert result == {
        "__xcoms__": {"job": JOB, "return_value": 3},
        "__links__": [{"name": "Job", "url": JOB}, {"name": "Help", "url": HELP}],
    }
    assert call.read_xcoms(result).of_index(None, "return_value") == 3


@pytest.mark.attack
def test_a_link_that_is_no_web_page_is_not_in_the_result() -> None:
    assert run("") == {"__xcoms__": {"job": "", "return_value": 3}}


def test_the_log_of_a_task_that_fails_has_its_links(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "task"), pytest.raises(ValueError, match="no job"):
        run(JOB, fails=True)
    assert f"link Job: {JOB}" in caplog.messages


@pytest.mark.attack
@pytest.mark.parametrize(
    ("urls", "count"), [([f"http://jobs/{number}" for number in range(1_000)], 20), (["http://jobs/" + "x" * 10**6], 0)]
)
def test_a_task_has_a_bounded_number_of_links(urls: list[str], count: int) -> None:
    operator = SimpleNamespace(
        operator_extra_links=[SimpleNamespace(xcom_key=f"_link_{key}", name=str(key)) for key in range(len(urls))]
    )
    assert len(links.read(operator, {f"_link_{key}": url for key, url in enumerate(urls)})) == count

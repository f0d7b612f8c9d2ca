"""Links of an operator are the links of its task, and no XComs."""

import json
import logging
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from airflow.sdk.log import mask_secret
from sample_context import CONTEXT
from torpor_airflow.operators import AirflowOperator, call, links

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


def linked(urls: Sequence[str], name: str = "job") -> tuple[Any, dict[str, Any]]:
    """Return an operator with links, and what they push."""
    shown = [SimpleNamespace(xcom_key=f"_link_{key}", name=f"{name} {key}") for key in range(len(urls))]
    return SimpleNamespace(operator_extra_links=shown), {f"_link_{key}": url for key, url in enumerate(urls)}


@pytest.mark.attack
@pytest.mark.parametrize(
    ("urls", "name", "count"),
    [
        ([f"http://jobs/{number}" for number in range(1_000)], "job", 20),
        ([f"http://jobs/{number}" + "x" * 400 for number in range(20)], "job", 4),
        ([f"http://jobs/{number}" for number in range(20)], "n" * 10**6, 14),
        (["http://jobs/" + "x" * 10**6], "job", 0),
        (["http://jobs/\ud800", "http://jobs/2"], "job", 1),
    ],
)
def test_a_task_has_a_bounded_amount_of_links(urls: list[str], name: str, count: int) -> None:
    found = links.parse_links(*linked(urls, name))
    assert len(found) == count
    assert len(json.dumps(found, separators=(",", ":"))) <= 2_000
    assert all(len(each["name"]) <= 100 for each in found)


@pytest.mark.attack
def test_a_link_with_a_secret_is_in_no_result_and_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    mask_secret("signature-hunter22")
    urls = ["https://jobs.example.org/1?sig=signature-hunter22", JOB]
    with caplog.at_level(logging.INFO, "task"):
        assert links.parse_links(*linked(urls)) == [{"name": "job 1", "url": JOB}]
    assert "the link job 0 is left out: its URL has a secret" in caplog.messages
    assert "hunter22" not in caplog.text


@pytest.mark.parametrize(("size", "has_links"), [(7_000, True), (8_150, False), (9_000, False)])
def test_links_make_no_result_too_large(size: int, has_links: bool) -> None:
    value = "x" * size
    result = call.build_result({"return_value": value}, links=[{"name": "Job", "url": JOB}])
    assert (result != value) is has_links
    assert call.read_xcoms(result).of_index(None, "return_value") == value

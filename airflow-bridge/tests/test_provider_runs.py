"""How the rows of `make airflow-real` are judged, kept and shown. The runs themselves need the providers."""

import http.client
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from provider_runs import kept, page, row
from provider_runs.page import ProviderClass
from provider_runs.row import ProviderRow, RowEnd, RowOutcome
from provider_runs.servers.answers import OTHERS, AnswersOfRow
from provider_runs.servers.web import WebServer
from torpor_airflow.check.kept_rows import KeptRows

ATHENA = "airflow.providers.amazon.aws.operators.athena.AthenaOperator"
TRIGGER = "airflow.providers.amazon.aws.triggers.athena.AthenaTrigger"
PAGE = Path(__file__).parents[2] / "docs/reference/airflow-providers.md"


def provider_row(**given: Any) -> ProviderRow:
    return ProviderRow(family="amazon", path="amazon.aws.operators.athena.AthenaOperator", **given)


def outcome(problem: str = "") -> RowOutcome:
    return RowOutcome(
        key="athena",
        family="amazon",
        class_path=ATHENA,
        is_trigger=False,
        state="Succeeded",
        triggers=[TRIGGER],
        problem=problem,
    )


DEFERRED = RowEnd(state="Succeeded", result=1, message="why", triggers=[TRIGGER])


@pytest.mark.parametrize(
    ("given", "end", "problem"),
    [
        ({}, {}, ""),
        ({}, {"state": "Failed"}, "Failed instead of Succeeded: why"),
        ({"state": "Failed", "message": "late"}, {"state": "Failed"}, "the message is 'why'"),
        ({"result": 2}, {}, "the result is 1"),
        ({"result": "q"}, {"result": {"__xcoms__": {"return_value": "q", "link": {}}}}, ""),
        ({"result": {"a": {"b": 1}}}, {"result": {"a": {"b": 1, "c": 2}}}, ""),
        ({"result": {"a": 1}}, {"result": {"b": 1}}, "the result is {'b': 1}"),
        ({}, {"triggers": []}, "it did not defer"),
        ({"is_trigger": True}, {"triggers": []}, ""),
        ({"defers": ["Other"]}, {}, "it deferred to AthenaTrigger"),
        ({}, {"unasked": ["athena.Get"]}, "athena.Get"),
    ],
)
def test_a_row_is_right_only_if_its_task_did_all_that_it_expects(
    given: dict[str, Any], end: dict[str, Any], problem: str
) -> None:
    judged = row.judge(provider_row(**given), replace(DEFERRED, **end))
    assert bool(judged) == bool(problem)
    assert problem in judged


@pytest.mark.parametrize(
    ("path", "provider"),
    [
        ("amazon.aws.operators.athena.AthenaOperator", "amazon"),
        ("cncf.kubernetes.triggers.pod.KubernetesPodTrigger", "cncf.kubernetes"),
        ("dbt.cloud.sensors.dbt.DbtCloudJobRunSensor", "dbt.cloud"),
        ("google.cloud.triggers.gcs.GCSBlobTrigger", "google"),
        ("google.suite.sensors.drive.GoogleDriveFileExistenceSensor", "google"),
        ("microsoft.azure.sensors.wasb.WasbBlobSensor", "microsoft.azure"),
    ],
)
def test_the_provider_of_a_class_is_in_its_path(path: str, provider: str) -> None:
    assert row.provider_of(path) == provider


def test_answers_come_in_their_order_and_the_last_one_stays() -> None:
    answers = AnswersOfRow({"get": [1, 2], "put": {"a": 1}, "list": [3, OTHERS]})
    assert [answers.next("get") for _ in range(3)] == [1, 2, 2]
    assert [answers.next("list") for _ in range(2)] == [3, None]
    assert answers.next("other") is None
    assert answers.unasked() == ["put"]


def test_answers_that_remain_are_unasked() -> None:
    answers = AnswersOfRow({"get": [1, 2]})
    answers.next("get")
    assert answers.unasked() == ["get"]


def test_a_web_server_answers_by_method_and_path() -> None:
    server = WebServer({"GET /rows": {"rows": 3}, "POST /rows": (201, "made")})
    try:
        found = {}
        for method, path in (("GET", "/rows?day=1"), ("POST", "/rows"), ("GET", "/none")):
            client = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
            client.request(method, path)
            answer = client.getresponse()
            found[f"{method} {path}"] = (answer.status, answer.read().decode())
            client.close()
    finally:
        server.close()
    assert found["GET /rows?day=1"] == (200, '{"rows": 3}')
    assert found["POST /rows"] == (201, "made")
    assert found["GET /none"][0] == 404


def kept_outcomes(keep: Path) -> KeptRows[RowOutcome]:
    return KeptRows(row_type=RowOutcome, is_right=lambda row: row.is_right, path=keep)


def test_only_a_right_outcome_is_kept_for_the_next_run(tmp_path: Path) -> None:
    keep = tmp_path / "build" / "kept.jsonl"
    first = kept_outcomes(keep)
    first.add("right", outcome())
    first.add("wrong", outcome("it did not defer"))
    again = kept_outcomes(keep)
    assert again.find("right") == outcome()
    assert again.find("wrong") is None


def test_another_answer_or_version_of_the_provider_is_another_run() -> None:
    keys = {
        kept.key_of(provider_row(answers={"athena.Get": answer}), version)
        for answer in ("RUNNING", "DONE")
        for version in ("9.39.0", "9.40.0")
    }
    assert len(keys) == 4
    assert "0x" not in repr([provider_row().result, OTHERS])  # an address would differ in the next run


def test_the_page_counts_what_was_run_by_provider() -> None:
    classes = [
        ProviderClass(path=ATHENA, provider="amazon", is_trigger=False),
        ProviderClass(path=f"{ATHENA}Old", provider="amazon", is_trigger=False, unrun="no server"),
        ProviderClass(path=TRIGGER, provider="amazon", is_trigger=True, support="needs a connection", detail="id"),
    ]
    text = page.page(classes, [outcome(), outcome("wrong")], {"amazon": "9.39.0"})
    assert "runs 1 of 2 deferrable operators, and\n1 of 1 trigger classes" in text
    assert "| amazon | 9.39.0 | 1 | 2 | 1 | 1 | 0 | 1 | 0 |" in text
    assert "| `aws.operators.athena.AthenaOperatorOld` | no: no server |" in text
    assert "| `aws.triggers.athena.AthenaTrigger` | needs a connection: id | by AthenaOperator |" in text


def test_the_committed_page_has_the_form_and_the_counts_of_its_tables() -> None:
    text = PAGE.read_text()
    cells = [[each.strip() for each in line.split("|")[1:-1]] for line in text.splitlines() if line.startswith("|")]
    summary = [each for each in cells if len(each) == 9 and each[2].isdigit()]
    operators = [each for each in cells if len(each) == 2 and each[0].startswith("`")]
    triggers = [each for each in cells if len(each) == 3 and each[0].startswith("`")]
    totals = [sum(int(each[column]) for each in summary) for column in range(2, 6)]
    assert totals == [_run(operators), len(operators), _run(triggers), len(triggers)]
    stated = re.search(r"runs (\d+) of (\d+) deferrable operators, and\n(\d+) of (\d+) trigger classes", text)
    assert stated is not None
    assert [int(each) for each in stated.groups()] == totals
    assert totals[0] >= 60
    assert totals[2] >= 80


def _run(rows: list[list[str]]) -> int:
    return sum(not each[-1].startswith("no") for each in rows)

"""What a wait has got from a secrets backend is hidden, in bounds, whichever code of it asks."""

from pathlib import Path
from typing import Any

import pytest
import sample_backend
import torpor_airflow  # noqa: F401 - before Airflow
from airflow.sdk import Connection
from airflow.sdk.configuration import clear_secrets_backends_cache
from local_play import RULE, play, statuses
from sample_backend import SampleBackend
from sample_context import CONTEXT
from torpor_airflow.connections import secret_texts
from torpor_airflow.operators import AirflowOperator
from torpor_local.options import LocalRunOutcome

RULES = RULE | {"sample_lookups.**": "torpor_airflow.triggers.catalog:load_classes"}
WEB = "http://ann:of-the-vault@server.example.org:8443/"
EXTRA = '{"conn_type": "http", "extra": {"authorization": "extra-hunter22", "region": "eu-west-1"}}'
SETTINGS = '{"targets": [{"api_key": "json-hunter22", "dsn": "dsn-hunter22", "bucket": "reports"}]}'


@pytest.fixture(autouse=True)
def backends() -> Any:
    """Airflow keeps the backends that it has made."""
    yield
    clear_secrets_backends_cache()


async def wait(folder: Path, name: str, **kwargs: Any) -> LocalRunOutcome:
    task = {"name": "wait", "trigger": {"class": f"sample_lookups.{name}", "kwargs": kwargs}}
    return await play(folder, task, rules=RULES)


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        (None, set()),
        ("text", set()),
        ("hunter22", {"hunter22"}),
        ('{"a": {"token": ["one-token", 7]}, "b": "plain"}', {"one-token"}),
        ('{"keyfile_dict": "{\\"private_key\\": \\"in-json-in-json\\"}"}', {"in-json-in-json"}),
        ('{"Proxy-Authorization": "spelled", "name": "{"}', {"spelled"}),
        ("[" * 100_000, set()),
        (Connection(conn_id="a", conn_type="http", extra='{"sas_token": "of-extra"}'), {"of-extra"}),
    ],
)
def test_a_secret_is_the_whole_answer_and_its_secret_fields(answer: Any, texts: set[str]) -> None:
    collected = secret_texts.collect(answer)
    assert texts <= set(collected)
    assert "plain" not in collected


@pytest.mark.attack
async def test_fields_of_json_of_the_backend_are_hidden_in_an_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": EXTRA}, variables={"settings": SETTINGS})
    outcome = await wait(tmp_path, "FieldsTrigger", variable="settings")
    assert outcome.results["wait"] == {
        "extra": {"authorization": "***", "region": "eu-west-1"},
        "settings": {"targets": [{"api_key": "***", "dsn": "***", "bucket": "reports"}]},
    }


@pytest.mark.attack
def test_fields_of_json_of_the_backend_are_hidden_in_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": EXTRA}, variables={"settings": SETTINGS})
    operator = AirflowOperator(operator="sample_operators.FieldsLeakingOperator")
    with pytest.raises(ValueError, match=r"^\*\*\* \*\*\* eu-west-1$"):
        operator.execute(CONTEXT)


@pytest.mark.attack
async def test_a_failure_is_the_same_for_a_trigger_that_asks_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_backend.use(monkeypatch, "FailingBackend")
    outcome = await wait(tmp_path, "AskingAgainTrigger")
    assert outcome.results["wait"]["equal"] is True
    assert "FailingBackend failed for connection web" in outcome.results["wait"]["message"]


@pytest.mark.attack
@pytest.mark.parametrize("backend", ["FailingBackend", "SampleBackend"])
async def test_a_trigger_that_catches_each_error_asks_a_bounded_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    sample_backend.use(monkeypatch, backend, connections={})
    outcome = await wait(tmp_path, "ForgivingLookupsTrigger")
    assert "at most 50 connections and variables" in statuses(outcome)["wait"]["message"]


@pytest.mark.attack
async def test_a_thread_without_the_context_of_its_wait_gets_no_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": WEB})
    outcome = await wait(tmp_path, "ExecutorLookupTrigger")
    assert "a thread without the context of its trigger asks for it" in outcome.results["wait"]["message"]
    assert SampleBackend.asked == []


@pytest.mark.attack
async def test_an_answer_of_the_constructor_is_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": WEB})
    outcome = await wait(tmp_path, "EarlyLookupTrigger")
    assert outcome.results["wait"] == {"password": "***"}
    assert "of-the-vault" not in "".join(capfd.readouterr())


@pytest.mark.attack
@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("x" * 70_000, "its value has 70,000 characters, and a pool can hide 65,536"),
        (str([{"token": f"token-{n}"} for n in range(200)]).replace("'", '"'), "its value has 201 secret texts"),
    ],
)
async def test_a_value_that_a_pool_cannot_hide_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, problem: str
) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": WEB}, variables={"note": text})
    outcome = await wait(tmp_path, "LookupTrigger", variable="note")
    message = outcome.results["wait"]["message"]
    assert f"the secrets backend sample_backend.SampleBackend failed for variable note: {problem}" in message

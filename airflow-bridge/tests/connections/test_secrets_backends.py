"""Connections and variables of a secrets backend that a pool or a pod has for all its tasks."""

import json
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sample_backend
import torpor_airflow  # noqa: F401 - before Airflow
from airflow.sdk import Connection, Variable
from airflow.sdk.configuration import clear_secrets_backends_cache
from local_play import RULE, play, statuses
from sample_backend import SampleBackend, WaitingBackend
from sample_context import CONTEXT
from torpor.deferral import TaskDeferred
from torpor_airflow import environment
from torpor_airflow.connections import pool_lookups
from torpor_airflow.connections.user_backend import BackendFailedError
from torpor_airflow.operators import AirflowOperator
from torpor_local.options import LocalRunOutcome

RULES = RULE | {"sample_lookups.**": "torpor_airflow.triggers.catalog:load_classes"}
WEB = "http://ann:of-the-vault@server.example.org:8443/"


@pytest.fixture(autouse=True)
def backends(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Airflow keeps the backends that it has made. The limit of an answer is not for a busy machine."""
    monkeypatch.setattr(pool_lookups, "SECONDS_MAX", 600.0)
    yield
    WaitingBackend.released.set()  # also if a test fails
    clear_secrets_backends_cache()


def wait(name: str, **kwargs: Any) -> dict[str, Any]:
    return {"name": name.lower(), "trigger": {"class": f"sample_lookups.{name}", "kwargs": kwargs}}


async def waits(folder: Path, *tasks: dict[str, Any]) -> LocalRunOutcome:
    return await play(folder, *tasks, rules=RULES)


def texts_in(folder: Path) -> str:
    return "".join(each.read_text(errors="replace") for each in folder.rglob("*") if each.is_file())


@pytest.mark.parametrize("name", ["LookupTrigger", "AwaitingLookupTrigger", "GroupedLookupTrigger"])
async def test_a_trigger_finds_what_the_backend_of_its_pool_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": WEB}, variables={"note": "also-of-the-vault"})
    outcome = await waits(tmp_path, wait(name, variable="note"))
    assert outcome.results[name.lower()] == {"host": "server.example.org", "password": "***", "text": "***"}
    assert [asked for asked, _ in SampleBackend.asked] == ["web", "note"]
    assert threading.main_thread().ident not in {thread for _, thread in SampleBackend.asked}


async def test_a_backend_that_is_slow_holds_no_other_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    WaitingBackend.entered.clear()
    WaitingBackend.released.clear()
    sample_backend.use(monkeypatch, "WaitingBackend", connections={"web": WEB})
    outcome = await waits(tmp_path, wait("LookupTrigger"), wait("ReleasingTrigger"))
    assert outcome.results["lookuptrigger"]["host"] == "server.example.org"


async def test_a_backend_that_does_not_answer_in_time_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool_lookups, "SECONDS_MAX", 0.1)
    WaitingBackend.released.clear()
    sample_backend.use(monkeypatch, "WaitingBackend", connections={"web": WEB})
    outcome = await waits(tmp_path, wait("LookupTrigger"))
    assert "WaitingBackend failed for connection web: no answer within" in outcome.results["lookuptrigger"]["message"]


def test_the_order_is_the_task_then_the_backend_then_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": WEB}, variables={"note": "of the backend"})
    monkeypatch.setenv("AIRFLOW_CONN_WEB", "http://process.example.org/")
    monkeypatch.setenv("AIRFLOW_CONN_OTHER", "http://other.example.org/")
    monkeypatch.setenv("AIRFLOW_VAR_NOTE", "of the process")
    assert Connection.get("web").host == "server.example.org"
    assert Connection.get("other").host == "other.example.org"
    assert Variable.get("note") == "of the backend"


async def test_a_connection_of_the_wait_comes_before_the_backend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": WEB})
    outcome = await waits(tmp_path, wait("LookupTrigger", airflow={"connections": {"web": "http://own.example.org/"}}))
    assert outcome.results["lookuptrigger"]["host"] == "own.example.org"
    assert SampleBackend.asked == []


def test_an_operator_finds_what_the_backend_of_its_pod_has(monkeypatch: pytest.MonkeyPatch) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": WEB}, variables={"region": "eu-1"})
    found = AirflowOperator(operator="sample_operators.SecretsOperator").execute(CONTEXT)
    assert found == ["server.example.org", "eu-1"]


def test_a_namespace_is_a_team_where_airflow_has_teams(monkeypatch: pytest.MonkeyPatch) -> None:
    own = {"team/web": WEB, "web": "http://all.example.org/"}
    sample_backend.use(monkeypatch, "SampleBackend", connections=own, variables={"region": "eu-1"})
    monkeypatch.setenv("AIRFLOW__CORE__MULTI_TEAM", "True")
    found = AirflowOperator(operator="sample_operators.SecretsOperator").execute(CONTEXT)
    assert found == ["server.example.org", "eu-1"]


@pytest.mark.parametrize("look_up", [Connection.get, Variable.get])
def test_a_backend_that_fails_is_named_without_its_error(monkeypatch: pytest.MonkeyPatch, look_up: Any) -> None:
    sample_backend.use(monkeypatch, "FailingBackend")
    with pytest.raises(
        BackendFailedError, match=r"backend sample_backend\.FailingBackend failed for \w+ web: Conn"
    ) as e:
        look_up("web")
    assert "hunter22" not in str(e.value)


def test_a_variable_of_the_process_answers_for_a_backend_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    sample_backend.use(monkeypatch, "FailingBackend")
    monkeypatch.setenv("AIRFLOW_CONN_WEB", "http://process.example.org/")
    assert Connection.get("web").host == "process.example.org"


async def test_a_wait_whose_backend_fails_says_which(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sample_backend.use(monkeypatch, "FailingBackend")
    outcome = await waits(tmp_path, wait("LookupTrigger"))
    assert "the secrets backend sample_backend.FailingBackend failed" in outcome.results["lookuptrigger"]["message"]


async def test_a_constructor_that_asks_the_backend_is_told_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": WEB})
    outcome = await waits(tmp_path, wait("ConstructedLookupTrigger"))
    message = statuses(outcome)["constructedlookuptrigger"]["message"]
    assert "its constructor asks the secrets backend for connection web: give it as airflow.connections" in message


@pytest.mark.attack
async def test_a_wait_asks_the_backend_for_a_bounded_number_of_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections = {f"web_{number}": WEB for number in range(1_000)}
    sample_backend.use(monkeypatch, "SampleBackend", connections=connections)
    outcome = await waits(tmp_path, wait("ManyLookupsTrigger"))
    assert "at most 50 connections and variables" in statuses(outcome)["manylookupstrigger"]["message"]


@pytest.mark.attack
async def test_a_value_of_the_backend_is_on_no_taskrun_and_in_no_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], python: str
) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": WEB}, variables={"note": "also-of-the-vault"})
    args = {"operator": "sample_operators.LeakingOperator"}
    operator = {"name": "leaks", "python": "torpor_airflow.operators:AirflowOperator", "args": args}
    tasks = (wait("LookupTrigger", variable="note"), operator)
    for path in ("samples/sample_backend.py", "sample_operators.py"):
        shutil.copy(Path(__file__).parents[1] / path, tmp_path)
    outcome = await play(tmp_path, *tasks, rules=RULES, python=python)
    assert statuses(outcome)["leaks"]["state"] == "Failed"
    assert "the password is ***" in statuses(outcome)["leaks"]["message"]
    seen = json.dumps(outcome.objects) + "".join(capfd.readouterr()) + texts_in(tmp_path)
    assert "it is ***" in seen
    assert "of-the-vault" not in seen


@pytest.mark.attack
def test_a_password_among_the_arguments_of_a_trigger_is_sealed(monkeypatch: pytest.MonkeyPatch) -> None:
    sample_backend.use(monkeypatch, "SampleBackend", connections={"web": WEB})
    operator = AirflowOperator(operator="sample_operators.SecretDeferringOperator")
    with pytest.raises(TaskDeferred) as caught:
        operator.execute(CONTEXT)
    assert caught.value.trigger.serialize()[1] == {
        "conn_id": "web",
        "encrypted__variable": "Bearer of-the-vault",
    }


@pytest.mark.parametrize("section", ["AIRFLOW__SECRETS__BACKEND", "AIRFLOW__WORKERS__SECRETS_BACKEND"])
def test_arguments_with_variables_of_their_own_reach_the_backend(section: str) -> None:
    variables = {
        section: "acme.Backend",
        f"{section}_KWARGS": '{"url": "http://vault", "token": "old"}',
        f"{section}_KWARG__TOKEN": "new",
    }
    environment.prepare(variables)
    assert json.loads(variables[f"{section}_KWARGS"])["backend_kwargs"] == {"url": "http://vault", "token": "new"}
    assert f"{section}_KWARG__TOKEN" not in variables
    assert environment.without_bridge(variables)[section] == "acme.Backend"


@pytest.mark.parametrize("written", ['{"token": "hunter22"', '["hunter22"]'])
def test_arguments_that_are_no_json_are_refused_without_their_text(written: str) -> None:
    section = "AIRFLOW__SECRETS__BACKEND"
    with pytest.raises(ImportError, match=f"the variable {section}_KWARGS is not a JSON object") as caught:
        environment.prepare({section: "acme.Backend", f"{section}_KWARGS": written})
    assert "hunter22" not in str(caught.value)

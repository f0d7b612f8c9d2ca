"""Trigger classes of Airflow's providers run unmodified in a triggerer, against real servers and files."""

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import LoopbackServer
from local_play import play, statuses
from torpor_airflow.triggers import catalog, classification
from torpor_triggerer.usercode import registry
from torpor_triggerer.usercode.registry import Registry, Unknown

HTTP = "airflow.providers.http.triggers.http.HttpTrigger"
SENSOR = "airflow.providers.http.triggers.http.HttpSensorTrigger"
MOMENT = "airflow.providers.standard.triggers.temporal.DateTimeTrigger"
FILE = "airflow.providers.standard.triggers.file.FileTrigger"
RULE = {"airflow.providers.**": "torpor_airflow.triggers.catalog:load_classes"}


@pytest.fixture(scope="module")
def classes() -> Registry:
    return registry.load(RULE)


def wait(trigger_class: str, **kwargs: Any) -> dict[str, Any]:
    return {"name": trigger_class.rpartition(".")[2].lower(), "trigger": {"class": trigger_class, "kwargs": kwargs}}


def test_a_rule_registers_each_class_by_the_path_that_it_serializes(classes: Registry) -> None:
    assert {HTTP, SENSOR, MOMENT, FILE} <= classes.names
    assert isinstance(classes.find("airflow.triggers.base.BaseTrigger"), Unknown)


def test_a_base_class_that_refuses_subclasses_leaves_the_others() -> None:
    found = catalog.load_classes("sample_triggers.*")
    rows = {path: (support, detail) for path, support, detail in classification.rows(found)}
    assert rows["sample_triggers.FinishedTrigger"] == ("as is", "")
    support, detail = rows["sample_triggers.UnfinishedTrigger"]
    assert (support, detail.partition(":")[0]) == ("cannot", "a base class")


@pytest.mark.parametrize(
    ("name", "support", "detail"),
    [
        ("ConnectedTrigger", "needs a connection", "sample_conn_id"),
        ("HandingTrigger", "needs a connection", "sample_conn_id"),
        ("AskingTrigger", "cannot", "calls get_task_states: Airflow's execution API"),
    ],
)
def test_what_a_class_needs_is_in_its_arguments_and_its_source(name: str, support: str, detail: str) -> None:
    rows = {path: found for path, *found in classification.rows(catalog.load_classes("sample_triggers.*"))}
    assert rows[f"sample_triggers.{name}"] == [support, detail]


async def test_triggers_of_the_standard_provider_fire(tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("x")
    outcome = await play(
        tmp_path,
        wait(MOMENT, moment={"__type": "datetime", "__var": "2026-01-01T00:00:00+00:00"}),
        wait(
            "airflow.providers.standard.triggers.temporal.TimeDeltaTrigger", delta={"__type": "timedelta", "__var": 0.1}
        ),
        wait(FILE, filepath=str(tmp_path / "*.csv"), poke_interval=0.1),
    )
    assert outcome.state == "Succeeded"
    assert outcome.results["datetimetrigger"].startswith("2026-01-01T00:00:00")


async def test_a_wait_that_ends_its_task_by_an_event_succeeds(tmp_path: Path) -> None:
    moment = {"__type": "datetime", "__var": "2026-01-01T00:00:00+00:00"}
    outcome = await play(tmp_path, wait(MOMENT, moment=moment, end_from_trigger=True))
    assert (outcome.state, outcome.results["datetimetrigger"]) == ("Succeeded", None)


async def test_a_connection_is_visible_to_its_wait_alone(tmp_path: Path, server: LoopbackServer) -> None:
    def connected(name: str, login: str) -> dict[str, Any]:
        connection = {"conn_type": "http", "host": "127.0.0.1", "port": server.port, "login": login, "password": "p"}
        task = wait(
            HTTP,
            method="GET",
            endpoint=name,
            auth_type="aiohttp.BasicAuth",
            airflow={"connections": {"http_default": connection}},
        )
        return {**task, "name": name}

    outcome = await play(
        tmp_path, connected("first", "ann"), connected("second", "bob"), {**wait(HTTP, method="GET"), "name": "none"}
    )
    credentials = {path: base64.b64decode(header.split()[1]).decode() for path, header in server.requests}
    assert credentials == {"/first": "ann:p", "/second": "bob:p"}
    body = json.loads(base64.b64decode(outcome.results["first"]["response"]["content"]))
    assert body == {"path": "/first"}
    assert "http_default" in outcome.results["none"]["message"]


@pytest.mark.parametrize("form", ["uri", "json", "fields"])
async def test_a_connection_may_have_each_form_of_airflow(tmp_path: Path, server: LoopbackServer, form: str) -> None:
    fields = {"conn_type": "http", "host": "127.0.0.1", "port": server.port, "extra": {"X-Team": "blue"}}
    forms = {"uri": f"http://127.0.0.1:{server.port}/", "json": json.dumps(fields), "fields": fields}
    connections = {"web": forms[form]}
    outcome = await play(
        tmp_path, wait(SENSOR, endpoint="ready", http_conn_id="web", airflow={"connections": connections})
    )
    assert (outcome.state, server.requests) == ("Succeeded", [("/ready", "")])


async def test_a_poll_repeats_until_the_server_is_ready(tmp_path: Path, server: LoopbackServer) -> None:
    server.answers["/ready"] = [404, 404, 200]
    connections = {"http_default": f"http://127.0.0.1:{server.port}/"}
    outcome = await play(
        tmp_path, wait(SENSOR, endpoint="ready", poke_interval=0.05, airflow={"connections": connections})
    )
    assert (outcome.state, len(server.requests)) == ("Succeeded", 3)


async def test_arguments_that_the_class_does_not_take_fail_the_wait(tmp_path: Path) -> None:
    outcome = await play(tmp_path, wait(FILE, path="/x"))
    message = statuses(outcome)["filetrigger"]["message"]
    assert "refuses its kwargs" in message
    assert "it takes filepath" in message


@pytest.mark.attack
@pytest.mark.parametrize(
    ("connections", "message"),
    [
        ({"web": {"host": "h", "password": "hunter22"}}, "airflow.connections.web must be a URI"),
        ({"web": {"conn_type": "http", "port": "hunter22"}}, "airflow.connections.web.port must be a number"),
        ({"web": '{"conn_type": "http", "hunter22'}, "airflow.connections.web is neither a URI nor JSON"),
        ({f"c{number}": "http://h" for number in range(51)}, "at most 50 entries"),
        (["hunter22"], "airflow.connections must be an object"),
    ],
)
def test_an_invalid_connection_is_rejected_without_its_value(
    classes: Registry, connections: object, message: str
) -> None:
    make: Any = classes.find(HTTP)
    with pytest.raises(ValueError, match=message) as caught:
        make(airflow={"connections": connections})
    assert "hunter22" not in str(caught.value)


@pytest.mark.attack
def test_arguments_create_no_class_that_airflow_does_not_allow(classes: Registry) -> None:
    make: Any = classes.find(HTTP)
    with pytest.raises(ValueError, match="cannot be decoded"):
        make(data={"__classname__": "subprocess.Popen", "__version__": 1, "__data__": {"args": ["true"]}})


@pytest.mark.attack
async def test_a_connection_does_not_remain_visible_after_its_trigger(classes: Registry) -> None:
    from airflow.sdk import Connection  # noqa: PLC0415 - after the rule has prepared Airflow

    make: Any = classes.find(MOMENT)
    make(target_time="2026-01-01T00:00:00Z", airflow={"connections": {"web": "http://h"}})
    with pytest.raises(Exception, match="isn't defined"):
        await asyncio.to_thread(Connection.get, "web")

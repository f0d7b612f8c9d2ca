"""The run of a producer lists the assets that its tasks have updated, and the Schedule of a consumer reads the list."""

import asyncio
import copy
import json
from pathlib import Path
from typing import Any

import pytest
import torpor_airflow  # noqa: F401 - before Airflow
from converted import ConvertedFile, convert_text
from local_play import SECONDS_MAX
from torpor_airflow.check import local_runs
from torpor_airflow.conversion import asset_events, command, dag_file, dag_sources
from torpor_airflow.conversion.documents import ConversionTarget
from torpor_crds.models.workflow import WorkflowSpec
from torpor_expressions import evaluator
from torpor_expressions.value import Value

TARGET = ConversionTarget(image="any:1", pool="airflow", config_map="dags")
DAGS = """
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, Asset, Metadata, task

rows, fares = Asset("rows"), Asset("s3://lake/${fares}.csv")

with DAG("produce", schedule="@daily"):
    BashOperator(task_id="load", bash_command="true", outlets=[rows])

    @task(outlets=[fares])
    def price(*, outlet_events):
        outlet_events[fares].extra = {"rows": 3}
        return [1, 2]

    @task
    def each(value):
        return value

    each.expand(value=price())

with DAG("consume", schedule=rows | fares):
    @task
    def show(*, triggering_asset_events):
        return [event.extra for event in triggering_asset_events[fares]]

    show()

with DAG("idle", schedule=[rows]):
    BashOperator(task_id="task", bash_command="true")
"""


@pytest.fixture(scope="module")
def converted(tmp_path_factory: pytest.TempPathFactory) -> ConvertedFile:
    return convert_text(tmp_path_factory.mktemp("dags"), "dag_asset_events", DAGS)


def value(expression: str, **variables: Any) -> Any:
    written = expression[2:-1] if expression.startswith("${") else expression
    found = evaluator.evaluate_here(written, variables)
    assert isinstance(found, Value), found
    return found.json


def tasks(load: str, price: str, reported: Any = None) -> dict[str, Any]:
    return {"load": {"state": load, "result": None}, "price": {"state": price, "result": {"__assets__": reported}}}


ROWS = {"name": "rows", "uri": "rows", "extra": {}}
FARES = {"name": "s3://lake/${fares}.csv", "uri": "s3://lake/${fares}.csv", "extra": {"rows": 3}}


def test_all_of_the_dags_is_converted(converted: ConvertedFile) -> None:
    assert (converted.code, "not converted" in converted.report) == (0, False), converted.report
    assert converted.tasks("produce")["price"]["args"]["outlet_events"] is True
    assert "outlet_events" not in converted.tasks("produce")["load"]["args"]
    (expanded,) = converted.tasks("produce")["each"]["expand"]
    assert expanded["over"] == "${tasks.price.result.__xcoms__.return_value}"


@pytest.mark.parametrize(
    ("states", "listed"),
    [
        (("Succeeded", "Succeeded"), [ROWS, FARES]),
        (("Succeeded", "Skipped"), [ROWS]),
        (("Skipped", "Succeeded"), [FARES]),
        (("Skipped", "Skipped"), []),
    ],
)
def test_a_run_lists_the_assets_of_the_tasks_that_succeeded(
    converted: ConvertedFile, states: tuple[str, str], listed: list[Any]
) -> None:
    result = converted.documents["produce", "WorkflowTemplate"]["spec"]["workflow"]["result"]
    assert value(result, tasks=tasks(*states, reported=[FARES])) == {"assets": listed}


@pytest.mark.parametrize(
    ("source", "event", "starts"),
    [
        ("rows_of_produce", {"result": {"assets": [ROWS]}}, True),
        ("rows_of_produce", {"result": {"assets": [FARES]}}, False),
        ("rows_of_produce", {"result": {"assets": []}}, False),
        ("rows_of_produce", {}, True),
        ("cron", {}, True),
    ],
)
def test_a_run_starts_for_an_asset_that_was_updated(
    converted: ConvertedFile, source: str, event: dict[str, Any], starts: bool
) -> None:
    assert value(converted.schedule("consume")["when"], source=source, event=event) is starts


def test_a_run_gets_the_events_that_started_it(converted: ConvertedFile) -> None:
    other = next(each["name"] for each in converted.schedule("consume")["sources"] if "fares" in each["name"])
    event = {"name": "produce-1", "completed": "2026-11-26T06:00:00Z", "result": {"assets": [FARES, {"uri": "x"}]}}
    param = converted.schedule("consume")["params"]["asset_events"]
    expected = {**FARES, "run": "produce-1", "at": "2026-11-26T06:00:00Z"}
    assert value(param, source=other, event=event) == [expected]
    assert value(param, source=other, event={"name": "produce-1"}) == []
    template = converted.documents["consume", "WorkflowTemplate"]["spec"]
    assert {"name": "asset_events", "type": "array", "default": []} in template["params"]
    assert template["workflow"]["bodies"]["airflow"]["args"]["asset_events"] == "${params.asset_events}"
    assert "params" not in converted.schedule("idle")


async def test_a_run_reports_its_assets_with_their_extras(tmp_path: Path, python: str) -> None:
    (tmp_path / "dag_updating.py").write_text(DAGS.replace('"produce"', '"updating"'))
    file = dag_file.read(str(tmp_path / "dag_updating.py"))
    conversion = next(each for _, each in command.convert([file], TARGET) if each.dag_id == "updating")
    documents = [command.config_map("dags", dag_sources.texts([file])), conversion.documents[0]]
    async with asyncio.timeout(SECONDS_MAX):
        ended = await local_runs.play(conversion, documents, local_runs.options(tmp_path / "run", python, {}), {})
    assert ended.state == "Succeeded"
    assert json.loads(ended.workflow["status"]["result"]) == {"assets": [ROWS, FARES]}


@pytest.mark.attack
@pytest.mark.parametrize(
    "result",
    [{}, {"rows": 3}, {"assets": None}, {"assets": 3}, {"assets": ["rows"]}, {"assets": [{}]}, None, [ROWS], "rows", 3],
)
def test_a_producer_whose_result_lists_no_assets_starts_a_run(converted: ConvertedFile, result: Any) -> None:
    event = {"name": "produce-1", "completed": "2026-11-26T06:00:00Z", "result": result}
    for source in (each["name"] for each in converted.schedule("consume")["sources"]):
        assert value(converted.schedule("consume")["when"], source=source, event=event) is True
        assert value(converted.schedule("consume")["params"]["asset_events"], source=source, event=event) == []


async def test_a_run_without_a_list_of_assets_starts_its_consumer(tmp_path: Path, python: str) -> None:
    (tmp_path / "dag_relisted.py").write_text(DAGS.replace('"produce"', '"relisted"'))
    file = dag_file.read(str(tmp_path / "dag_relisted.py"))
    conversions = {each.dag_id: each for _, each in command.convert([file], TARGET)}
    conversion, schedule = conversions["relisted"], conversions["consume"].documents[1]["spec"]
    template: Any = copy.deepcopy(conversion.documents[0])
    template["spec"]["workflow"]["result"] = "{'rows': size(tasks.price.result.__xcoms__.return_value)}"
    documents = [command.config_map("dags", dag_sources.texts([file])), template]
    async with asyncio.timeout(SECONDS_MAX):
        ended = await local_runs.play(conversion, documents, local_runs.options(tmp_path / "run", python, {}), {})
    result = json.loads(ended.workflow["status"]["result"])
    assert (ended.state, result) == ("Succeeded", {"rows": 2})
    event = {"name": "relisted-1", "completed": "2026-11-26T06:00:00Z", "result": result}
    assert value(schedule["when"], source=schedule["sources"][0]["name"], event=event) is True
    assert value(schedule["params"]["asset_events"], source=schedule["sources"][0]["name"], event=event) == []


def test_the_converted_runs_are_valid(converted: ConvertedFile) -> None:
    for name in ("produce", "consume", "idle"):
        WorkflowSpec.model_validate(converted.documents[name, "WorkflowTemplate"]["spec"]["workflow"])


@pytest.mark.attack
@pytest.mark.parametrize(
    "uri", ['x" || true || "', "x' || true", "a\\", "line\nbreak", "\u202e${params.conf}", "\U0001f680"]
)
def test_a_uri_of_a_file_stays_a_text_in_an_expression(uri: str) -> None:
    condition = asset_events.when({"source": uri})
    assert condition is not None
    assert value(condition, source="source", event={"result": {"assets": [{"uri": uri}]}}) is True
    assert value(condition, source="source", event={"result": {"assets": [{"uri": "another"}]}}) is False


@pytest.mark.attack
def test_an_expression_for_many_assets_is_bounded(tmp_path: Path) -> None:
    text = DAGS + (
        "\nmany = [Asset(f's3://lake/{number}') for number in range(100)]\n"
        "with DAG('produce_many', schedule=None):\n"
        "    BashOperator(task_id='load', bash_command='true', outlets=many)\n"
    )
    converted = convert_text(tmp_path, "dag_many_assets", text)
    assert "result" not in converted.documents["produce-many", "WorkflowTemplate"]["spec"]["workflow"]

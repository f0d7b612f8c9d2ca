"""Converted DAGs run to their end by the engine of `torpor run`, with one warm interpreter for their tasks."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torpor_airflow  # noqa: F401 - before Airflow
from local_play import SECONDS_MAX
from torpor_airflow.check import local_runs
from torpor_airflow.check.comparison import ComparedRun
from torpor_airflow.conversion import command, dag_file, dag_sources, names
from torpor_airflow.conversion.documents import ConversionTarget
from torpor_local.options import GivenAnswer

TESTS = Path(__file__).parent
TARGET = ConversionTarget(image="any:1", pool="airflow", config_map="dags")


async def run(folder: Path, python: str, name: str, answers: Mapping[str, GivenAnswer]) -> ComparedRun:
    file = dag_file.read(str(TESTS / name))
    ((_, conversion),) = command.convert([file], TARGET)
    documents = [command.config_map(TARGET.config_map, dag_sources.texts([file])), conversion.documents[0]]
    async with asyncio.timeout(SECONDS_MAX):
        options = local_runs.options(folder / "run", python, answers)
        ended = await local_runs.play(conversion, documents, options, {})
    return local_runs.outcome(ended, names.task_names(file.dags[0].task_ids))


async def test_a_converted_dag_ends_as_it_does_in_airflow(tmp_path: Path, python: str) -> None:
    ended = await run(tmp_path, python, "dag_shapes.py", {})
    states = {task: set(by_index.values()) for task, by_index in ended.states.items()}
    others = {
        "show_few": {"Skipped"},
        "never": {"Skipped"},
        "always": {"Skipped"},
        "broken": {"Failed"},
        "work": {"Skipped"},
    }
    assert states == {task: others.get(task, {"Succeeded"}) for task in states}
    assert ended.state == "Succeeded"
    results: dict[str, Any] = {task: found.get(-1, {}).get("return_value") for task, found in ended.xcoms.items()}
    assert (results["total"], results["span"], results["show_many"]) == (24, 2, "trips [1, 2, 3]")
    assert {index: found["return_value"] for index, found in ended.xcoms["each.negate"].items()} == {
        0: -1.0,
        1: -1.5,
        2: -2.0,
    }


async def test_the_answers_of_people_reach_the_tasks_after_them(tmp_path: Path, python: str) -> None:
    answers = {
        "pick": GivenAnswer(options=["fares"]),
        "enter": GivenAnswer(fields={"reason": "late", "rows": 1}),
        "publish": GivenAnswer(),
        "certain": GivenAnswer(),
        "route": GivenAnswer(options=["west"]),
    }
    ended = await run(tmp_path, python, "dag_asking.py", answers)
    assert ended.xcoms["load"][-1]["return_value"] == ["fares", "late"]
    assert (ended.states["east"], ended.states["west"]) == ({-1: "Skipped"}, {-1: "Succeeded"})
    assert ended.state == "Succeeded"

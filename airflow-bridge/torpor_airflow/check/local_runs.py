"""Plays a converted DAG with `torpor run`'s engine, and returns the states and XComs under Airflow's ids."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torpor_local import engine
from torpor_local.options import GivenAnswer, LocalRunOutcome, Options

from torpor_airflow.check.comparison import ComparedRun
from torpor_airflow.conversion.documents import API_VERSION, DagConversion
from torpor_airflow.operators import call

_TRIGGERS = {"airflow.providers.**": "torpor_airflow.triggers.catalog:load_classes"}


class _Unseen:
    def changed(self, kind: str, body: Mapping[str, Any]) -> None:
        pass


def options(folder: Path, python: str, answers: Mapping[str, GivenAnswer]) -> Options:
    """Return the options of a local run whose tasks this interpreter runs. `answers` are those of people, by task."""
    return Options(folder=folder, python=python, jobs=2, skip_time=True, triggers=_TRIGGERS, answers=answers)


async def play(
    conversion: DagConversion, documents: Sequence[Mapping[str, Any]], options: Options, conf: Mapping[str, Any]
) -> LocalRunOutcome:
    """Run the template of a DAG. `documents` are what the run needs: its template, and the ConfigMap of its files.

    Raises LocalRunError.
    """
    template = conversion.documents[0]
    params = {each["name"]: each.get("default") for each in template["spec"]["params"]} | {"conf": dict(conf)}
    workflow = {
        "apiVersion": API_VERSION,
        "kind": "Workflow",
        "metadata": {"name": "check"},
        "spec": {"templateRef": {"name": template["metadata"]["name"]}, "params": params},
    }
    return await engine.play([*documents, workflow], options, _Unseen())


def outcome(ended: LocalRunOutcome, names: Mapping[str, str]) -> ComparedRun:
    """Return the states and XComs by task id. `names` are Torpor's by Airflow's."""
    ids = {name: task_id for task_id, name in names.items()}
    states: dict[str, dict[int, str]] = {}
    xcoms: dict[str, dict[int, Mapping[str, Any]]] = {}
    for run in ended.objects["TaskRun"]:
        spec, status = run["spec"], run.get("status") or {}
        if run["metadata"].get("labels", {}).get("torpor.dev/workflow") != ended.workflow["metadata"]["name"]:
            continue
        task_id, index = ids[spec["task"]], _index(spec)
        states.setdefault(task_id, {})[index] = str(status.get("state"))
        result = json.loads(status["result"]) if "result" in status else None
        result = ended.results.get(spec["task"]) if "stored" in status and index < 0 else result
        found = call.read_xcoms(result).by_index[call.UNMAPPED]
        xcoms.setdefault(task_id, {})[index] = {key: value for key, value in found.items() if value is not None}
    for task in ended.workflow["status"].get("tasks") or ():
        states.setdefault(ids[task["name"]], {-1: str(task.get("state"))})
    return ComparedRun(state=ended.state, states=states, xcoms=xcoms)


def _index(spec: Mapping[str, Any]) -> int:
    groups = spec.get("groupIndexes") or ()
    return int(groups[-1]) if groups else int(spec.get("mapIndex", spec.get("index", -1)))

"""Plays the rows of a family in one local run: pods as processes, waits in the shipped triggerer."""

import asyncio
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torpor_local import engine
from torpor_local.options import LocalRunOutcome, Options

from provider_runs import row as rows
from provider_runs.row import ProviderRow, RowEnd, RowOutcome
from provider_runs.servers.started import RowServers

_TARGET = "torpor_airflow.triggers.catalog:load_classes"
SECONDS_MAX = 240.0
"""A run that hangs ends."""
TASK_TIMEOUT = "2m"


class DeferralRecorder:
    """Notes the class of each trigger that a task waits for, and tells the servers. `keys`: the rows of the tasks."""

    def __init__(self, keys: Mapping[str, str], servers: RowServers) -> None:
        self.classes: dict[str, list[str]] = {}
        self._keys = keys
        self._servers = servers

    def changed(self, kind: str, body: Mapping[str, Any]) -> None:
        """Read a change of the run."""
        status = body.get("status") or {}
        if kind == "TaskRun" and "trigger" in status:
            noted = self.classes.setdefault(body["spec"]["task"], [])
            self._servers.note_deferral(self._keys[body["spec"]["task"]])
            if status["trigger"]["class"] not in noted:
                noted.append(status["trigger"]["class"])


def play(family: Sequence[ProviderRow], folder: Path, python: str, servers: RowServers) -> Iterator[RowOutcome]:
    """Yield the outcome of each row."""
    for each in family:
        each.prepare()
    names = {each.key: f"row_{number}" for number, each in enumerate(family)}
    recorder = DeferralRecorder({name: key for key, name in names.items()}, servers)
    providers = {each.provider for each in family}
    tasks = [_task(names[each.key], each) for each in family]
    with _variables(_connections(family)):
        ended = asyncio.run(_play(tasks, providers, folder, python, recorder))
    runs = {run["spec"]["task"]: run for run in ended.objects["TaskRun"]}
    for each in family:
        name = names[each.key]
        status = (runs.get(name) or {}).get("status") or {}
        end = RowEnd(
            state=str(status.get("state", "Missing")),
            result=_result(status, ended.results.get(name)),
            message=str(status.get("message", "")),
            triggers=[path for path in recorder.classes.get(name, []) if path.startswith(rows.PREFIX)],
            unasked=servers.unasked(each),
        )
        yield RowOutcome(
            key=each.key,
            family=each.family,
            class_path=each.class_path,
            is_trigger=each.is_trigger,
            state=end.state,
            triggers=end.triggers,
            problem=" ".join(rows.judge(each, end).split()),
        )


async def _play(
    tasks: Sequence[Mapping[str, Any]], providers: AbstractSet[str], folder: Path, python: str, recorder: Any
) -> LocalRunOutcome:
    workflow = {
        "apiVersion": "torpor.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "providers", "namespace": "default"},
        "spec": {"image": "any:1", "tasks": list(tasks)},
    }
    triggers = {f"{rows.PREFIX}{provider}.**": _TARGET for provider in (*providers, "standard")}
    options = Options(folder=folder, python=python, working_directory=folder.parent, triggers=triggers, jobs=2)
    async with asyncio.timeout(SECONDS_MAX):
        return await engine.play([workflow], options, recorder)


def _task(name: str, row: ProviderRow) -> dict[str, Any]:
    if row.is_trigger:
        trigger = {"class": row.class_path, "kwargs": dict(row.arguments)}
        return {"name": name, "trigger": trigger, "timeout": TASK_TIMEOUT}
    args = {"operator": row.class_path, "arguments": dict(row.arguments)}
    return {"name": name, "python": "torpor_airflow.operators:AirflowOperator", "args": args, "timeout": TASK_TIMEOUT}


def _result(status: Mapping[str, Any], collected: Any) -> Any:
    return json.loads(status["result"]) if "result" in status else collected


def _connections(family: Sequence[ProviderRow]) -> dict[str, str]:
    return {f"AIRFLOW_CONN_{name.upper()}": value for each in family for name, value in each.connections.items()}


@contextmanager
def _variables(values: Mapping[str, str]) -> Iterator[None]:
    os.environ.update(values)
    try:
        yield
    finally:
        for name in values:
            del os.environ[name]

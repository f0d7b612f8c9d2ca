"""The reference run: all that a Workflow can do in a few seconds, and what is the same in each of its runs.

Two runs are equal if Workflow, tasks and TaskRuns end in the same states, attempts and segments, with the same results.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.integration.controller.stage import python, shell, shell_with_outcome

Object = dict[str, Any]
_TASKS = "tests.integration.faults.tasks"
_COUNT = """
if [ "$TORPOR_SEGMENT" = 0 ]; then
  body='"defer": {"trigger": {"class": "duration", "kwargs": {"duration": "1s"}}, "state": {"rows": 3}}'
else
  body='"result": '"$TORPOR_STATE"
fi
echo '{"torpor": 1, "nonce": "'"$TORPOR_OUTCOME_NONCE"'", '"$body"'}' > "$TORPOR_OUTCOME"
"""
_FILE = "/tmp/torpor-faults-table"
_TABLE = f"test -e {_FILE} || {{ head -c 1200000 /dev/zero > {_FILE}.$$ && mv {_FILE}.$$ {_FILE}; }}"
TASKS: tuple[Object, ...] = (
    python("items", "listed", args={"count": 3}),
    python("load", "loaded", expand=[{"name": "item", "over": "${tasks.items.result}"}], args={"seconds": 1}),
    python("pause", "waited", args={"length": "1s"}),
    {"name": "alarm", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}},
    {"name": "ask", "trigger": {"class": "approval", "kwargs": {"question": "Go on?"}}},
    {"name": "flaky", "python": f"{_TASKS}:fails_once", "retries": {"limit": 1, "delay": "1s"}},
    {"name": "large", "python": f"{_TASKS}:large"},
    {"name": "size", "python": f"{_TASKS}:size", "args": {"value": "${tasks.large.result}"}},
    shell_with_outcome("count", _COUNT),
    shell("table", _TABLE, files={"out": [{"name": "table", "path": _FILE}]}),
    shell("final", "exit 3", mayFail=True),
    python(
        "report",
        "echo",
        after=["alarm", "flaky"],
        args={
            "loads": "${tasks.load.results}",
            "rows": "${tasks.count.result.rows}",
            "kept": "${tasks.pause.result}",
            "size": "${tasks.size.result}",
            "approved": "${tasks.ask.result.approved}",
        },
    ),
    python("tell", "echo", hook="end", args={"state": "${run.state}"}),
)
CHILD_TEMPLATE: Object = {"workflow": {"image": "tests", "tasks": [python("only", "echo")]}}
BUILDER = "builder"
"""The ServiceAccount as which the object task acts."""
_RECORD: Object = {
    "serviceAccountName": BUILDER,
    "manifest": {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"generateName": "record-"},
        "data": {"state": "new"},
    },
    "until": "object.data.state == 'done'",
    "result": "object.data.state",
}
_COMPARED = ("report", "tell", "order", "record")
"""Tasks whose results are compared."""
NOTES = 16
"""Processes that run user code in a faultless run, without that of the child."""
_RESULTS: Mapping[str, object] = {
    "report": {"loads": [0, 10, 20], "rows": 3, "kept": "1s", "size": 100_000, "approved": True},
    "tell": {"state": "Succeeded"},
}


def all_tasks(orders: str) -> tuple[Object, ...]:
    """Return the tasks, with bodies that v0.1.0 does not have: a run, a request to `orders`, and an object."""
    retries = {"limit": 1, "delay": "1s", "when": "httpStatus == 503"}
    return (
        *TASKS,
        {"name": "child", "run": {"templateRef": {"name": "child"}}},
        {"name": "order", "http": {"url": orders, "method": "POST", "json": {"rows": 3}}, "retries": retries},
        {"name": "record", "object": _RECORD},
    )


class Ending(NamedTuple):
    """What must be equal: the Workflow's state, the states of its tasks, and its TaskRuns by task and index."""

    workflow: str
    tasks: Mapping[str, str]
    taskruns: Mapping[str, tuple[str, int, int]]
    files: Mapping[str, int]
    children: Mapping[str, object]
    results: Mapping[str, object]


FAULTLESS = Ending(
    workflow="Succeeded",
    tasks={str(task["name"]): "Failed" if task["name"] == "final" else "Succeeded" for task in TASKS},
    taskruns={
        "alarm": ("Succeeded", 1, 0),
        "ask": ("Succeeded", 1, 0),
        "count": ("Succeeded", 1, 1),
        "final": ("Failed", 1, 0),
        "flaky": ("Succeeded", 2, 0),
        "items": ("Succeeded", 1, 0),
        "large": ("Succeeded", 1, 0),
        "load/0": ("Succeeded", 1, 0),
        "load/1": ("Succeeded", 1, 0),
        "load/2": ("Succeeded", 1, 0),
        "pause": ("Succeeded", 1, 1),
        "report": ("Succeeded", 1, 0),
        "size": ("Succeeded", 1, 0),
        "table": ("Succeeded", 1, 0),
        "tell": ("Succeeded", 1, 0),
    },
    files={"table": 1_200_000},
    children={},
    results=_RESULTS,
)

FAULTLESS_WITH_ALL = FAULTLESS._replace(
    tasks={**FAULTLESS.tasks, "child": "Succeeded", "order": "Succeeded", "record": "Succeeded"},
    taskruns={
        **FAULTLESS.taskruns,
        "child": ("Succeeded", 1, 0),
        "order": ("Succeeded", 2, 0),
        "record": ("Succeeded", 1, 0),
    },
    children={"0": ("Succeeded", {"only": ("Succeeded", 1, 0)})},
    results={**_RESULTS, "order": {"accepted": True}, "record": "done"},
)
"""Of `all_tasks`."""


def ending(
    workflow: Object, taskruns: Iterable[Object], children: Iterable[tuple[Object, Iterable[Object]]] = ()
) -> Ending:
    """Return the end of a run, from its objects. `children` are the runs of its tasks, with their TaskRuns."""
    status, runs = workflow.get("status", {}), {_key(run): run["status"] for run in taskruns}
    ends = [ending(child, child_runs) for child, child_runs in children]
    return Ending(
        workflow=str(status.get("state")),
        tasks={task["name"]: task["state"] for task in status.get("tasks", [])},
        taskruns={key: (run["state"], run["attempt"], run["segment"]) for key, run in sorted(runs.items())},
        files={file["name"]: file["size"] for run in runs.values() for file in run.get("files", [])},
        children={str(number): (end.workflow, end.taskruns) for number, end in enumerate(ends)},
        results={task: json.loads(runs[task].get("result") or "null") for task in _COMPARED if task in runs},
    )


def differences(found: Ending, expected: Ending = FAULTLESS) -> list[str]:
    """Return what differs from the faultless run; empty: equal."""
    return [
        f"{name} {key}: {value!r} instead of {wanted!r}"
        for name, has, should in zip(Ending._fields, found, expected, strict=True)
        for key, value, wanted in _pairs(has, should)
        if value != wanted
    ]


def _pairs(found: object, expected: object) -> list[tuple[str, object, object]]:
    """Return the values to compare: those of each key if both are mappings."""
    if isinstance(found, Mapping) and isinstance(expected, Mapping):
        return [(key, found.get(key), expected.get(key)) for key in sorted({*found, *expected})]
    return [("", found, expected)]


def repeated(notes: Iterable[str]) -> list[str]:
    """Return the notes that stand more than once: user code ran twice for one attempt, segment and launch."""
    return [note for note, count in Counter(notes).items() if count > 1]


def _key(run: Object) -> str:
    index = run["spec"].get("mapIndex", -1)
    return str(run["spec"]["task"]) if index < 0 else f"{run['spec']['task']}/{index}"

"""Workflows, TaskRuns, pods and Events as JSON, with what a test does not name left out."""

from collections.abc import Mapping, Sequence
from typing import Any

from torpor_views.facts import Facts
from torpor_views.model import RunView
from torpor_wire import constants, names, times

Object = dict[str, Any]
NOW = 1_795_341_600.0
"""The time at which the tests look: 2026-11-22T10:00:00Z."""


def at(seconds: float) -> str:
    """The time so many seconds after NOW."""
    return times.rfc3339(NOW + seconds)


def workflow(
    *tasks: Object, status: Mapping[str, Any] | None = None, state: str = "Running", age: float = 600, **spec: Any
) -> Object:
    """A Workflow `etl` of these tasks. A task may have `status`, its entry in the status of the Workflow."""
    entries = [{"name": task["name"], **task["status"]} for task in tasks if "status" in task]
    written = {name: value for name, value in (("state", state), ("startTime", at(-age))) if value}
    return {
        "metadata": {"name": "etl", "namespace": "data", "uid": "w1", "generation": 1, "creationTimestamp": at(-age)},
        "spec": {
            "image": "etl:1",
            **spec,
            "tasks": [{k: v for k, v in task.items() if k != "status"} for task in tasks],
        },
        "status": {**written, "tasks": entries, **(status or {})},
    }


def verdict(reason: str, message: str = "", status: str = "Unknown", name: str = "Succeeded") -> Object:
    """A condition."""
    return {"type": name, "status": status, "reason": reason, "message": message, "lastTransitionTime": at(-60)}


def python(name: str, state: str = "", **fields: Any) -> Object:
    """A python task; with a state, also its entry in the status. `counts` are the counts of that entry."""
    counts = fields.pop("counts", {})
    reported = {key: fields.pop(key) for key in ("reason", "message") if key in fields}
    entry = {"status": {"state": state, **counts, **reported}} if state else {}
    return {"name": name, "python": "etl.tasks:run", **entry, **fields}


def wait(name: str, state: str = "", **fields: Any) -> Object:
    """A task that is a trigger."""
    task = python(name, state, **fields)
    del task["python"]
    return {"trigger": {"class": "http", "kwargs": {}}, **task}


def taskrun(task: str, state: str = "Scheduled", *path: int, groups: Sequence[int] = (), **fields: Any) -> Object:
    """A TaskRun of the run. `spec` adds to its spec, `metadata` to its metadata, the rest to its status."""
    spec, metadata = fields.pop("spec", {}), fields.pop("metadata", {})
    index = path[0] if path else constants.UNMAPPED
    name = names.taskrun("etl", "w1", task, index, groups)
    mapped = {"mapIndex": index} if path else {}
    grouped = {"groupIndexes": list(groups)} if groups else {}
    return {
        "metadata": {
            "name": name,
            "namespace": "data",
            "uid": f"uid-{name}",
            "creationTimestamp": at(-300),
            **metadata,
        },
        "spec": {
            "workflow": {"name": "etl", "uid": "w1"},
            "task": task,
            "python": "etl.tasks:run",
            "image": "etl:1",
            **mapped,
            **grouped,
            **spec,
        },
        "status": {"state": state, "attempt": 1, "segment": 0, "launch": 0, **fields},
    }


def deferred(
    task: str, *path: int, class_name: str = "http", waits_for: str = "http example.org", **fields: Any
) -> Object:
    """A TaskRun that waits."""
    trigger = {"class": class_name, "kwargs": "{}", "key": "k1", "shard": 1, "waitsFor": waits_for}
    trigger |= fields.pop("trigger", {})
    return taskrun(task, "Deferred", *path, **{"deferredAt": at(-120), "trigger": trigger, **fields})


def pod(run: Object, phase: str = "Pending", **fields: Any) -> Object:
    """The pod of the present segment of a TaskRun. `waiting` is the state of its container."""
    status, metadata = run["status"], fields.pop("metadata", {})
    own = names.pod(run["metadata"]["name"], status["attempt"], status["segment"], status["launch"])
    waiting, node = fields.pop("waiting", None), fields.pop("node", "")
    containers = [{"state": {"waiting": waiting}}] if waiting else []
    return {
        "metadata": {
            "name": own,
            "creationTimestamp": at(-20),
            "ownerReferences": [{"uid": run["metadata"]["uid"], "controller": True}],
            **metadata,
        },
        "spec": {"nodeName": node} if node else {},
        "status": {"phase": phase, "containerStatuses": containers, **fields},
    }


def run(body: Object, *taskruns: Object, now: float = NOW) -> RunView:
    """The parsed run."""
    return RunView.parse(body, taskruns, now=now)


def facts(**read: Any) -> Facts:
    """The parsed facts."""
    return Facts.parse(**read)

"""A run as people have them: groups, mapped tasks, waits of several classes, and a failure. Pictures show it."""

from typing import Any

from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_wire import constants, times

from tests.support.made_up_cluster import MadeUpApi, runs
from tests.support.made_up_cluster.runs import InstanceTimes

Object = dict[str, Any]
NAME = "nightly-census"
REGIONS = 24
_GROUPS = [{"name": "regions"}, {"name": "publish"}, {"name": "release", "in": "publish"}]
_OVER = [{"name": "region", "over": "${tasks.list_files.result}"}]
_TASKS: list[Object] = [
    {"name": "wait_for_drop", "trigger": {"class": "object", "kwargs": {"url": "s3://drop/2026-11-25/_SUCCESS"}}},
    {"name": "list_files", "python": "census:list_files", "after": ["wait_for_drop"]},
    {"name": "load", "python": "census:load", "group": "regions", "expand": _OVER},
    {"name": "validate", "python": "census:validate", "group": "regions", "after": ["load"], "expand": _OVER},
    {"name": "warehouse_ready", "trigger": {"class": "sql"}, "group": "regions"},
    {"name": "aggregate", "python": "census:aggregate", "after": ["validate", "warehouse_ready"]},
    {"name": "report", "python": "census:report", "group": "publish", "after": ["aggregate"]},
    {"name": "ask", "trigger": {"class": "approval"}, "group": "release", "after": ["report"]},
    {"name": "upload", "python": "census:upload", "group": "release", "after": ["ask"]},
    {"name": "notify", "python": "census:notify", "hook": "finish"},
]
_LOAD = ["Succeeded"] * 19 + ["Failed", "Running", "Running", "Deferred", "Deferred"]
_VALIDATE = ["Succeeded"] * 10 + ["Deferred"] * 5 + ["Running"] * 2 + ["Scheduled"] * 2
_WAITS = {
    "load": ("http", "https://exports.vendor.example/eu/ready"),
    "validate": ("sql", "warehouse.example.org: load of the region has ended"),
    "warehouse_ready": ("sql", "warehouse.example.org: nightly vacuum has ended"),
}


def add(cluster: MadeUpApi) -> Object:
    """Add the run, which began half an hour ago."""
    start = cluster.clock.now() - 1800
    states = {"load": _LOAD, "validate": _VALIDATE}
    status = {
        "state": "Running",
        "startTime": times.rfc3339(start),
        "progress": "31/53",
        "conditions": runs.verdict("Running"),
        "tasks": [
            *(_task(name, ["Succeeded"]) for name in ("wait_for_drop", "list_files")),
            *(_task(name, each) for name, each in states.items()),
            _task("warehouse_ready", ["Deferred"]),
            *({"name": name, "state": "Pending"} for name in ("aggregate", "report", "ask", "upload")),
        ],
    }
    spec = {"params": {"day": "2026-11-25", "regions": "all"}, "tasks": _TASKS, "groups": _GROUPS}
    spec |= {"templateRef": {"name": "ingest"}}
    labels = {constants.LABEL_SCHEDULE: "nightly", "team": "census"}
    body = runs.workflow("data", NAME, spec, status, labels=labels)
    run = cluster.put_at(WORKFLOWS, body, cluster.clock.now() + 1)
    single = (
        ("wait_for_drop", "Succeeded", InstanceTimes(start=start, pauses=(2.0, 6.0, 300.0, 4.0))),
        ("list_files", "Succeeded", InstanceTimes(start=start + 315, pauses=(3.0, 10.0, 12.0, 9.0))),
        ("warehouse_ready", "Deferred", InstanceTimes(start=start + 355, pauses=(2.0, 3.0, 5400.0, 5.0))),
    )
    for task, state, when in single:
        _instance(cluster, runs.taskrun(run, task, state, when), when.start)
    for task, first, step in (("load", start + 360, 11), ("validate", start + 900, 24)):
        for index, state in enumerate(states[task]):
            when = InstanceTimes(start=first + step * index, pauses=_pauses(state, index))
            _instance(cluster, runs.taskrun(run, task, state, when, index), when.start)
    return run


def _task(name: str, states: list[str]) -> Object:
    counts = {state.lower(): states.count(state) for state in ("Succeeded", "Failed", "Deferred")}
    active = states.count("Running") + states.count("Scheduled")
    state = "Succeeded" if counts["succeeded"] == len(states) else "Running"
    total = {"total": len(states), "created": len(states), "active": active}
    return {"name": name, "state": state, **total, **{key: value for key, value in counts.items() if value}}


def _pauses(state: str, index: int) -> tuple[float, ...]:
    """Seconds until it runs, waits, is fired and ends; a wait that goes on has a deadline in some hours."""
    spread = (index * 37) % 11
    return 4.0 + spread, 40.0 + 9 * spread, 5400.0 if state == "Deferred" else 120.0 + 25 * spread, 30.0 + 6 * spread


def _instance(cluster: MadeUpApi, body: Object, start: float) -> None:
    task = body["spec"]["task"]
    if body["status"]["state"] == "Deferred" and task in _WAITS:
        trigger, subject = _WAITS[task]
        body["status"]["trigger"] |= {"class": trigger, "waitsFor": subject}
    cluster.put_at(TASKRUNS, body, start)

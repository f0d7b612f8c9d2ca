"""Fills a made-up cluster: thousands of runs, one run with thousands of instances, templates, Schedules, an archive."""

from collections import Counter
from dataclasses import dataclass
from random import Random
from typing import Any

from torpor_kubernetes.client.resources import SCHEDULES, TASKRUNS, TEMPLATES, WORKFLOWS
from torpor_wire import constants, times

from tests.support.made_up_cluster import runs
from tests.support.made_up_cluster.api import MadeUpApi
from tests.support.made_up_cluster.runs import InstanceTimes

Object = dict[str, Any]
NAMESPACES = ("data", "ml", "reports")
BIG = "big-load"
"""The run in `data` with thousands of instances."""
_MIX = {"Succeeded": 62, "Deferred": 20, "Running": 8, "Scheduled": 6, "Failed": 3, "Skipped": 1}
_RUN_STATES = {"Succeeded": 80, "Failed": 8, "Running": 9, "Pending": 1, "Suspended": 1, "Cancelled": 1}
_PRODUCTS = ("orders", "invoices", "clicks", "stock", "prices", "returns", "visits", "forecast")


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How much to make. `instances`: of the big run. `taskruns`: of all other runs together."""

    runs: int = 300
    instances: int = 500
    taskruns: int = 1000
    archived: int = 300


def fill(api: MadeUpApi, size: Size, *, seed: int = 1) -> None:
    """Fill the cluster. The same seed makes the same cluster, except that its times follow the clock."""
    random, now = Random(seed), api.clock.now()
    api.add_namespaces(*NAMESPACES)
    for namespace in NAMESPACES:
        _templates(api, namespace)
    big = _mapped_run(api, random, BIG, size.instances, now - 3600)
    open_runs = [_run(api, random, number, now) for number in range(size.runs - 1)]
    owners = [run for run in open_runs if run["status"]["state"] == "Running"] or [big]
    for number in range(size.taskruns):
        owner = owners[number % len(owners)]
        _taskrun(api, random, owner, number // len(owners))
    for number in range(size.archived):
        api.archive.add(_archived(random, number, now))


def _templates(api: MadeUpApi, namespace: str) -> None:
    params = [
        {"name": "day", "type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$", "description": "the day to load"},
        {"name": "limit", "type": "integer", "default": 1000},
        {"name": "mode", "type": "string", "enum": ["full", "delta"], "default": "delta"},
    ]
    spec = {"params": params, "workflow": {"tasks": [{"name": "load", "python": "etl:load"}]}}
    api.server.put(TEMPLATES, {"metadata": {"namespace": namespace, "name": "ingest"}, "spec": spec})
    sources = [{"name": "nightly", "cron": "0 2 * * *", "timezone": "Europe/Berlin"}]
    schedule = {"sources": sources, "templateRef": {"name": "ingest"}}
    api.server.put(SCHEDULES, {"metadata": {"namespace": namespace, "name": "nightly"}, "spec": schedule, "status": {}})


def _spec(mapped: bool) -> Object:
    expand = {"expand": [{"name": "row", "over": "${tasks.list.result}"}]} if mapped else {}
    tasks: list[Object] = [
        {"name": "arrive", "trigger": {"class": "http", "kwargs": {"url": "https://files.example.org/_SUCCESS"}}},
        {"name": "list", "python": "etl:list", "after": ["arrive"]},
        {"name": "load", "python": "etl:load", "after": ["list"], **expand},
        {"name": "report", "python": "etl:report", "after": ["load"], "rule": "all_done"},
    ]
    return {"params": {"day": "2026-11-20"}, "tasks": tasks, "templateRef": {"name": "ingest"}}


def _run(api: MadeUpApi, random: Random, number: int, now: float) -> Object:
    state = runs.states(random, 1, _RUN_STATES)[0]
    started = now - number * 60 - random.uniform(0, 60)
    took = random.uniform(60, 3600)
    ended = state in {"Succeeded", "Failed", "Cancelled"}
    product = _PRODUCTS[number % len(_PRODUCTS)]
    message = "task load failed: ValueError: row 17 has no date" if state == "Failed" else ""
    counts = {"total": 40, "created": 40, "active": 0 if ended else 6, "deferred": 0 if ended else 21}
    counts |= {"succeeded": 40 if ended else 13, "failed": int(state == "Failed")}
    status = {
        "state": "Failed" if state == "Cancelled" else state,
        "progress": "40/40" if ended else "13/40",
        "startTime": times.rfc3339(started + 1),
        "conditions": runs.verdict(state, message),
        "tasks": [{"name": "load", "state": "Succeeded" if ended else "Running", **counts}],
    }
    if ended:
        status["completionTime"] = times.rfc3339(min(started + took, now))
    labels = {"product": product} | ({constants.LABEL_SCHEDULE: "nightly"} if number % 3 == 0 else {})
    namespace = NAMESPACES[0] if number % 10 else NAMESPACES[1 + number // 10 % 2]
    body = runs.workflow(namespace, f"{product}-{number:05}", _spec(mapped=True), status, labels=labels)
    return api.put_at(WORKFLOWS, body, started)


def _mapped_run(api: MadeUpApi, random: Random, name: str, instances: int, started: float) -> Object:
    states = runs.states(random, instances, _MIX)
    numbers = Counter(states)
    counts = {"total": instances, "created": instances, "deferred": numbers["Deferred"], "failed": numbers["Failed"]}
    counts |= {"succeeded": numbers["Succeeded"], "skipped": numbers["Skipped"]}
    counts["active"] = numbers["Running"] + numbers["Scheduled"]
    status = {
        "state": "Running",
        "progress": f"{numbers['Succeeded']}/{instances}",
        "startTime": times.rfc3339(started + 1),
        "conditions": runs.verdict("Running"),
        "tasks": [
            {"name": "arrive", "state": "Succeeded", "total": 1, "created": 1, "succeeded": 1},
            {"name": "list", "state": "Succeeded", "total": 1, "created": 1, "succeeded": 1},
            {"name": "load", "state": "Running", **counts},
            {"name": "report", "state": "Pending"},
        ],
    }
    run = api.put_at(WORKFLOWS, runs.workflow(NAMESPACES[0], name, _spec(mapped=True), status), started)
    for task in ("arrive", "list"):
        when = InstanceTimes(start=started, pauses=(1.0, 5.0, 20.0, 4.0))
        api.server.put(TASKRUNS, runs.taskrun(run, task, "Succeeded", when))
    for index, state in enumerate(states):
        start = started + 40 + index * 3000 / max(instances, 1)
        api.put_at(TASKRUNS, runs.taskrun(run, "load", state, InstanceTimes(start=start), index), start)
    return run


def _taskrun(api: MadeUpApi, random: Random, owner: Object, index: int) -> None:
    state = runs.states(random, 1, _MIX)[0]
    start = api.clock.now() - random.uniform(100, 3000)
    api.put_at(TASKRUNS, runs.taskrun(owner, "load", state, InstanceTimes(start=start), index), start)


def _archived(random: Random, number: int, now: float) -> Object:
    ended = now - 86_400 - number * 120
    state = runs.states(random, 1, {"Succeeded": 9, "Failed": 1})[0]
    status = {
        "state": state,
        "startTime": times.rfc3339(ended - 600),
        "completionTime": times.rfc3339(ended),
        "conditions": runs.verdict(state),
        "tasks": [{"name": "load", "state": state, "total": 1, "created": 1}],
    }
    metadata = {"uid": f"a0000000-0000-4000-8000-{number:012}", "creationTimestamp": times.rfc3339(ended - 601)}
    product = _PRODUCTS[number % len(_PRODUCTS)]
    name = f"{product}-old-{number:05}"
    return runs.workflow(NAMESPACES[0], name, _spec(mapped=False), status, labels={"product": product}, **metadata)

"""Checks what follows a failure: which attempts `retries` allows (I4), and which tasks fail a run (I5)."""

from collections.abc import Callable
from typing import Any

from torpor_wire import times
from torpor_wire.state import TASK_BROKEN, State, TaskState

from tests.simulation.scenarios.random_retries import RULES

Object = dict[str, Any]
Expect = Callable[[str, bool, str], None]


def judge_retry(expect: Expect, before: Object, after: Object, description: str) -> None:
    """A TaskRun leaves UpForRetry to a next attempt if its rules allow one, and to Failed if not."""
    was, now = before["status"], after["status"]
    if was["state"] != State.UP_FOR_RETRY or now["state"] not in {State.SCHEDULED, State.FAILED}:
        return
    retries = before["spec"].get("retries", {})
    first = was.get("firstStartedAt") or was.get("startedAt") or before["metadata"]["creationTimestamp"]
    latest = times.epoch(first) + times.seconds(retries["for"]) if "for" in retries else None
    in_time = latest is None or times.epoch(was["retryAt"]) <= latest
    wanted = "when" not in retries or RULES[retries["when"]](was)
    retried = now["state"] == State.SCHEDULED
    expect("I4", retried == (in_time and wanted), f"{description}: but its retries are {retries}, it {was}")


def judge_run(expect: Expect, flow: Object) -> None:
    """A run that has ended failed if a task failed that may not, and not because of one that may."""
    name, status = flow["metadata"]["name"], flow["status"]
    may_fail = {task["name"] for task in flow["spec"].get("tasks", ()) if task.get("mayFail")}
    hooks = {task["name"] for task in flow["spec"].get("tasks", ()) if "hook" in task}
    broken = {task["name"]: task["state"] for task in status.get("tasks", ()) if task["state"] in TASK_BROKEN}
    decisive = {
        task for task, state in broken.items() if task not in may_fail | hooks and state != TaskState.UPSTREAM_FAILED
    }
    if status["state"] == "Succeeded":
        expect("I5", not decisive, f"{name} succeeded, but {sorted(decisive)} failed")
        return
    message = next(entry["message"] for entry in status["conditions"] if entry["type"] == "Succeeded")
    blamed = message.removeprefix("task ").partition(":")[0] if message.startswith("task ") else ""
    expect("I5", blamed not in may_fail & broken.keys(), f"{name} failed because of {blamed}, which may fail")

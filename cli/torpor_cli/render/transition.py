"""A line for a state that a TaskRun entered: time, task, state, and the most useful detail. Pure."""

import json
from collections.abc import Mapping
from typing import Any

from torpor_client.runs import references
from torpor_wire import times
from torpor_wire.state import State
from torpor_wire.text import printable_line

from torpor_cli import table
from torpor_cli.render.tree import one_line, waits_for

_NAME = 20
_STATE = 10
_RESULT = 120
_ENDED = frozenset({"Failed", "UpstreamFailed", "Skipped", "Cancelled"})


def line(item: Mapping[str, Any], before: Mapping[str, Any] | None, now: float) -> str:
    """Return the line for a TaskRun; `before` is its former version."""
    return run_line(references.ref_of(item), _state(item), details_of(item, before), now)


def run_line(name: str, state: str, details: str, now: float) -> str:
    """Return a line of text without control characters. It is never cut: the line may be the only trace in a log."""
    cells = (times.rfc3339(now), name, state, one_line(details))
    return printable_line(table.line(cells, (0, _NAME, _STATE), gap="  "))


def ended_without_taskruns(workflow: Mapping[str, Any]) -> dict[tuple[str, str], str]:
    """Return why tasks have ended before they had TaskRuns, by task and state: no TaskRun has a line about it."""
    tasks = _status(workflow).get("tasks") or ()
    return {
        (str(task.get("name")), str(task["state"])): _because(task)
        for task in tasks
        if task.get("state") in _ENDED and not task.get("created")
    }


def details_of(item: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
    """Return what a reader asks next: where it runs, what it waits for, why it failed, what it returned."""
    status = _status(item)
    because = _because(status)
    match _state(item):
        case State.SCHEDULED:
            return _scheduled(status, _status(before or {}))
        case State.RUNNING:
            pod = (status.get("pod") or {}).get("name")
            return f"in pod {pod}" if pod else ""
        case State.DEFERRED:
            wait = waits_for(str((status.get("trigger") or {}).get("waitsFor") or "its trigger"))
            return f"{wait}; it has no pod" if item["spec"].get("trigger") else f"{wait}; its pod is released"
        case State.UP_FOR_RETRY:
            return f"{because}; again at {status.get('retryAt')}"
        case State.SUCCEEDED:
            return _result(status.get("result"))
        case _:
            return because


def _scheduled(status: Mapping[str, Any], before: Mapping[str, Any]) -> str:
    if before and _number(status, "segment") > _number(before, "segment"):
        method = (status.get("next") or {}).get("method") or "the task"
        return f"the trigger fired; {method} is next, in a new pod"
    if before and _number(status, "launch") > _number(before, "launch"):
        return "its pod was disrupted; another one starts"
    attempt = _number(status, "attempt")
    return f"attempt {attempt}" if attempt > 1 else ""


def _because(status: Mapping[str, Any]) -> str:
    reason, message = str(status.get("reason") or ""), str(status.get("message") or "")
    known = message.startswith(reason) or reason == status.get("state")
    return message if known else ": ".join(filter(None, (reason, message)))


def _result(text: Any) -> str:
    """Return the beginning of a result; of an object, the values that fit on a line."""
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):  # 4,000 brackets fit into a result
        return ""
    if isinstance(value, dict):
        text = " ".join(f"{name}={each}" for name, each in value.items() if "\n" not in str(each))
        return table.cut(text, _RESULT)
    return "" if value is None else table.cut(json.dumps(value), _RESULT)


def _status(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return item.get("status") or {}


def _state(item: Mapping[str, Any]) -> str:
    return str(_status(item).get("state") or State.SCHEDULED)


def _number(status: Mapping[str, Any], name: str) -> int:
    return int(status.get(name) or 0)

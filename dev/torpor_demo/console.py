"""Formats one line for each change of a TaskRun: time, name, state and the most useful detail."""

import json

from torpor_api.models.taskrun import TaskRun
from torpor_wire.state import State

from torpor_demo.recording import RunSeen, label

HEAD = f"{'TIME':>7}  {'TASKRUN':<12} {'STATE':<11} {'TRY':>3} {'SEGMENT':>7}  WHAT"
_WIDTH = 70


def line(seen: RunSeen, before: TaskRun | None) -> str:
    """The line for one change."""
    status = seen.run.status
    numbers = f"{status.attempt:>3} {status.segment:>7}"
    return f"{seen.at:>6.1f}s  {label(seen.run):<12} {status.state:<11} {numbers}  {_cut(_what(seen.run, before))}"


def _what(run: TaskRun, before: TaskRun | None) -> str:
    status = run.status
    match status.state:
        case State.SCHEDULED:
            return _scheduled(run, before)
        case State.RUNNING:
            return f"in pod {status.pod.name}" if status.pod else ""
        case State.DEFERRED:
            words = "never has a pod" if run.spec.trigger else "gives its pod back"
            return f"waits {status.trigger.waits_for}; {words}" if status.trigger else words
        case State.UP_FOR_RETRY:
            return f"{status.reason}: {status.message}; again at {status.retry_at}"
        case State.SUCCEEDED:
            return _result(status.result)
        case State.FAILED | State.SKIPPED | State.CANCELLED:
            return f"{status.reason}: {status.message}"


def _scheduled(run: TaskRun, before: TaskRun | None) -> str:
    if before is not None and run.status.segment > before.status.segment:
        resume = run.status.next
        return f"the trigger fired; {resume.method if resume else 'it'} is next, in a new pod"
    if before is not None and run.status.launch > before.status.launch:
        return "its pod was disrupted; another one is started"
    return "again" if run.status.attempt > 1 else ""


def _result(text: str | None) -> str:
    """The result; of an object, the values that are short enough for a line."""
    value = json.loads(text) if text else None
    if isinstance(value, dict):
        return " ".join(f"{name}={each}" for name, each in value.items() if "\n" not in str(each))
    return "" if value is None else json.dumps(value)


def _cut(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= _WIDTH else flat[: _WIDTH - 3] + "..."

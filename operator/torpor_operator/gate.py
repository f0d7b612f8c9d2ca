"""Whether a task's turn has come, by its rule and the outcomes of the tasks before it (Airflow's trigger rules)."""

from collections.abc import Sequence
from typing import assert_never

from torpor_api.workflow import Rule, Task, TaskState
from torpor_wire.reason import Reason

from torpor_operator.outcome import BROKEN, Outcome, decided


def closed(task: Task, upstream: Sequence[Outcome]) -> Outcome | None:
    """Why the task does not run now or ever, or None where its turn has come."""
    waiting = [outcome.task for outcome in upstream if not outcome.ended]
    if waiting:
        return decided(task.name, TaskState.PENDING)
    match task.rule:
        case Rule.ALL_DONE:
            return None
        case Rule.ALL_SUCCESS:
            return _unless_all_succeeded(task, upstream)
        case _:
            assert_never(task.rule)


def _unless_all_succeeded(task: Task, upstream: Sequence[Outcome]) -> Outcome | None:
    for outcome in upstream:
        if outcome.state in BROKEN:
            message = f"task {outcome.task} before it: {outcome.reason or outcome.state}"
            return decided(task.name, TaskState.UPSTREAM_FAILED, Reason.UPSTREAM_FAILED, message)
    for outcome in upstream:
        if outcome.state is TaskState.SKIPPED:
            return decided(task.name, TaskState.SKIPPED, Reason.SKIPPED, f"task {outcome.task} before it was skipped")
    return None

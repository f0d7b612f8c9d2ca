"""The problems of a run in progress: which tasks have failed, and which need the help of a user. Pure.

A run continues after a failure while other tasks can run. Its users must not have to read each TaskRun.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torpor_crds.models.taskrun import TaskRun
from torpor_wire import transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State, TaskState

from torpor_operator.state.task_state import TaskOutcome

TASKS_MAX = 20
"""Tasks of a run that get an Event; the message counts the others."""
_SHOWN = 3
_EACH = 300
_ACTIVE = frozenset({State.SCHEDULED, State.RUNNING})
_NEEDS_HELP = frozenset(
    {
        Reason.SECRET_FORBIDDEN,
        Reason.FORBIDDEN,
        Reason.ADDRESS_DENIED,
        Reason.POOL_UNSERVED,
        Reason.REPORT_REFUSED,
        Reason.IMAGE_PULL_FAILED,
        Reason.LAUNCH_FAILED,
        Reason.TRIGGER_UNKNOWN,
    }
)
"""Reasons of a deferral or a failed attempt that do not resolve by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskProblem:
    """A task that has failed or needs help."""

    task: str
    failed: bool
    reason: str
    message: str


def task_problems(outcomes: Iterable[TaskOutcome]) -> tuple[TaskProblem, ...]:
    """The problems of a run: failed tasks first, each part in the order of the tasks."""
    problems = [
        problem for outcome in outcomes for problem in (_failure(outcome), _help_needed(outcome)) if problem is not None
    ]
    return tuple(sorted(problems, key=lambda problem: not problem.failed))


def summary(problems: Sequence[TaskProblem]) -> str:
    """The first problems in one line, with the number of the others."""
    shown = "; ".join(transitions.shorten(sentence(problem), _EACH) for problem in problems[:_SHOWN])
    more = len(problems) - _SHOWN
    return f"{shown}; and {more} more" if more > 0 else shown


def sentence(problem: TaskProblem) -> str:
    """One problem, for a user."""
    return f"task {problem.task} {'failed' if problem.failed else 'waits'}: {problem.message}"


def _failure(outcome: TaskOutcome) -> TaskProblem | None:
    failed = next((run for _, run in sorted(outcome.runs.items()) if run.status.state is State.FAILED), None)
    if failed is not None:
        return _of_run(outcome, failed, failed=True)
    if outcome.state is not TaskState.FAILED:
        return None
    reason = outcome.reason or Reason.TASK_FAILED
    return TaskProblem(task=outcome.task, failed=True, reason=reason, message=outcome.message or str(reason))


def _help_needed(outcome: TaskOutcome) -> TaskProblem | None:
    if outcome.reason == Reason.POOL_UNKNOWN:
        return TaskProblem(task=outcome.task, failed=False, reason=outcome.reason, message=outcome.message or "")
    stuck = next((run for _, run in sorted(outcome.runs.items()) if _is_stuck(run)), None)
    return None if stuck is None else _of_run(outcome, stuck, failed=False)


def _is_stuck(run: TaskRun) -> bool:
    status = run.status
    if status.state in _ACTIVE:
        return status.reason is not None
    return status.state in {State.DEFERRED, State.UP_FOR_RETRY} and status.reason in _NEEDS_HELP


def _of_run(outcome: TaskOutcome, run: TaskRun, *, failed: bool) -> TaskProblem:
    reason = run.status.reason or Reason.TASK_FAILED
    message = f"{reason}: TaskRun {run.metadata.name}: {run.status.message or run.status.state}"
    return TaskProblem(task=outcome.task, failed=failed, reason=reason, message=transitions.shorten(message))

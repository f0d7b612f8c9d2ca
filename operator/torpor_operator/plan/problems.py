"""What a person should know of a run that goes on: which tasks have failed, and which wait for somebody's help. Pure.

A run goes on after a failure as long as other tasks can: whoever looks at it must not have to look at each TaskRun.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import TaskState
from torpor_wire import constants
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.state.task_state import Outcome

TASKS_MAX = 20
"""Tasks of a run that are told of by Events; the message counts the rest."""
_SHOWN = 3
_EACH = 300
_ANY = frozenset({State.SCHEDULED, State.RUNNING})
_HELP = frozenset(
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
"""Reasons of a wait, or of an attempt that will be tried again, that do not pass by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A task that has failed, or waits for somebody's help."""

    task: str
    failed: bool
    reason: str
    message: str


def of(outcomes: Iterable[Outcome]) -> tuple[Trouble, ...]:
    """The troubles of a run in the order of its tasks, those that failed first."""
    found = [trouble for outcome in outcomes for trouble in (_failure(outcome), _help(outcome)) if trouble is not None]
    return tuple(sorted(found, key=lambda trouble: not trouble.failed))


def told(troubles: Sequence[Trouble]) -> str:
    """The troubles in one line, the first in full and the rest counted."""
    shown = "; ".join(sentence(trouble)[:_EACH] for trouble in troubles[:_SHOWN])
    more = len(troubles) - _SHOWN
    return f"{shown}; and {more} more" if more > 0 else shown


def sentence(trouble: Trouble) -> str:
    """One trouble, for a person."""
    return f"task {trouble.task} {'failed' if trouble.failed else 'waits'}: {trouble.message}"


def _failure(outcome: Outcome) -> Trouble | None:
    failed = next((run for _, run in sorted(outcome.runs.items()) if run.status.state is State.FAILED), None)
    if failed is not None:
        return _of_run(outcome, failed, failed=True)
    if outcome.state is not TaskState.FAILED:
        return None
    reason = outcome.reason or Reason.TASK_FAILED
    return Trouble(task=outcome.task, failed=True, reason=reason, message=outcome.message or str(reason))


def _help(outcome: Outcome) -> Trouble | None:
    if outcome.reason == Reason.POOL_UNKNOWN:
        return Trouble(task=outcome.task, failed=False, reason=outcome.reason, message=outcome.message or "")
    stuck = next((run for _, run in sorted(outcome.runs.items()) if _is_stuck(run)), None)
    return None if stuck is None else _of_run(outcome, stuck, failed=False)


def _is_stuck(run: TaskRun) -> bool:
    status = run.status
    if status.state in _ANY:
        return status.reason is not None
    return status.state in {State.DEFERRED, State.UP_FOR_RETRY} and status.reason in _HELP


def _of_run(outcome: Outcome, run: TaskRun, *, failed: bool) -> Trouble:
    reason = run.status.reason or Reason.TASK_FAILED
    message = f"{reason}: TaskRun {run.metadata.name}: {run.status.message or run.status.state}"
    return Trouble(task=outcome.task, failed=failed, reason=reason, message=message[: constants.MESSAGE_MAX])

"""Why a run ends before its tasks have: deleted, cancelled, stopped or timed out. Pure."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from torpor_wire import times
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.plan import task_order
from torpor_operator.plan.run_context import RunContext
from torpor_operator.plan.status import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlyEnd:
    """The verdict of the run, and whether its hooks follow."""

    verdict: Verdict
    hooks: bool


def early_end(run: RunContext) -> EarlyEnd | None:
    """Why the run ends now, if it does; the first cause in the list counts."""
    return next((end for cause in _CAUSES if (end := cause(run)) is not None), None)


def _deleted(run: RunContext) -> EarlyEnd | None:
    if run.workflow.metadata.deletion_timestamp is None:
        return None
    return EarlyEnd(verdict=Verdict.failed(Reason.CANCELLED, "the Workflow was deleted"), hooks=False)


def _cancelled(run: RunContext) -> EarlyEnd | None:
    if not run.workflow.spec.cancel:
        return None
    return EarlyEnd(verdict=Verdict.failed(Reason.CANCELLED, "spec.cancel was set"), hooks=False)


def _stopped(run: RunContext) -> EarlyEnd | None:
    if not run.workflow.spec.stop or _tasks_ended(run, before=None):
        return None
    return EarlyEnd(verdict=Verdict.failed(Reason.CANCELLED, "spec.stop was set"), hooks=True)


def _timed_out(run: RunContext) -> EarlyEnd | None:
    due = run.timeout_at
    if due is None or run.snapshot.now < due or _tasks_ended(run, before=due):
        return None
    message = f"the run exceeded its timeout of {run.workflow.spec.timeout}"
    return EarlyEnd(verdict=Verdict.failed(Reason.TIMEOUT, message), hooks=True)


_Cause: TypeAlias = Callable[[RunContext], EarlyEnd | None]
_CAUSES: tuple[_Cause, ...] = (
    _deleted,  # without hooks: the garbage collector waits for the finalizer
    _cancelled,  # without hooks
    _stopped,  # with hooks, unless only hooks are left to run
    _timed_out,  # with hooks, unless only hooks are left to run
)


def _tasks_ended(run: RunContext, *, before: float | None) -> bool:
    """Whether all tasks ended by themselves (before this moment), so that only hooks are left."""
    plans = task_order.plan_tasks(run.snapshot, run.graph)
    taskruns = [taskrun for planned in plans for taskrun in planned.runs]
    cancelled = any(taskrun.status.state is State.CANCELLED for taskrun in taskruns)  # the early end itself did that
    if cancelled or not all(planned.outcome.ended for planned in plans):
        return False
    if before is None:
        return True
    moments = (taskrun.status.completion_time or times.rfc3339(before) for taskrun in taskruns)
    return all(times.epoch(end) < before for end in moments)

"""The Events a plan posts: what ended badly, once for each object, attempt and reason."""

from collections.abc import Iterable

from torpor_api.taskrun import TaskRun
from torpor_api.workflow import TaskState, Workflow
from torpor_wire.reason import Reason
from torpor_wire.state import State

from torpor_operator.actions import PostEvent
from torpor_operator.outcome import Outcome
from torpor_operator.status import Verdict


def failures(runs: Iterable[TaskRun]) -> tuple[PostEvent, ...]:
    """An Event for each TaskRun whose attempt failed."""
    return tuple(_failure(run) for run in runs if run.status.state in {State.FAILED, State.UP_FOR_RETRY})


def task_problems(workflow: Workflow, outcomes: Iterable[Outcome]) -> tuple[PostEvent, ...]:
    """An Event on the Workflow for each task that failed before it had a TaskRun, or waits for what is not there."""
    return tuple(
        _problem(workflow, outcome, f"task {outcome.task}: {outcome.message}", f"{outcome.task}/{outcome.reason}")
        for outcome in outcomes
        if (outcome.state is TaskState.FAILED and not outcome.runs) or outcome.reason == Reason.POOL_UNKNOWN
    )


def hooks(workflow: Workflow, outcomes: Iterable[Outcome]) -> tuple[PostEvent, ...]:
    """An Event on the Workflow for each hook that failed, since how the run ended does not tell of it."""
    return tuple(
        _problem(workflow, outcome, f"hook {outcome.task} failed: {outcome.message}", f"hook/{outcome.task}")
        for outcome in outcomes
        if outcome.state is TaskState.FAILED
    )


def verdict(workflow: Workflow, final: Verdict) -> tuple[PostEvent, ...]:
    """An Event on the Workflow when its run is over."""
    if not final.final:
        return ()
    return (
        PostEvent(
            regarding=None,
            reason=final.reason,
            message=final.message or "every task ended well",
            warning=final.succeeded == "False",
            key=f"{workflow.metadata.uid}/{workflow.status.clears}/{final.reason}",
        ),
    )


def cleared(workflow: Workflow, reason: Reason, message: str) -> PostEvent:
    """An Event on the Workflow for what somebody asked to have run again."""
    return PostEvent(
        regarding=None,
        reason=reason,
        message=message,
        warning=reason is Reason.CLEAR_REFUSED,
        key=f"{workflow.metadata.uid}/{workflow.status.clears}/{reason}/{message}",
    )


def _failure(run: TaskRun) -> PostEvent:
    status = run.status
    again = f"; will be tried again at {status.retry_at or 'once'}" if status.state is State.UP_FOR_RETRY else ""
    return PostEvent(
        regarding=run,
        reason=status.reason or Reason.STATUS_INVALID,
        message=f"{status.message or status.state}{again}",
        warning=True,
        key=f"{run.metadata.uid}/{status.attempt}/{status.reason}",
    )


def _problem(workflow: Workflow, outcome: Outcome, message: str, key: str) -> PostEvent:
    return PostEvent(
        regarding=None,
        reason=outcome.reason or Reason.TASK_FAILED,
        message=message,
        warning=True,
        key=f"{workflow.metadata.uid}/{workflow.status.clears}/{key}",
    )

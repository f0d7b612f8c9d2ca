"""The Events that a plan posts: failures and problems, once for each object, attempt and reason. Pure."""

from collections.abc import Iterable

from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_wire.reason import Reason
from torpor_wire.state import CONDITION, State, TaskState

from torpor_operator.model.actions import PostEvent
from torpor_operator.state import conditions
from torpor_operator.state.task_state import TaskOutcome
from torpor_operator.workflows.plan import task_problems
from torpor_operator.workflows.plan.status import RunVerdict


def failures(runs: Iterable[TaskRun]) -> tuple[PostEvent, ...]:
    """An Event for each TaskRun whose attempt failed."""
    return tuple(_failure(run) for run in runs if run.status.state in {State.FAILED, State.UP_FOR_RETRY})


def problems(workflow: Workflow, outcomes: Iterable[TaskOutcome], verdict: RunVerdict) -> tuple[PostEvent, ...]:
    """An Event on the Workflow for each task with a failed instance, or one that needs help."""
    listed = task_problems.task_problems(outcomes)
    if verdict.final and len(listed) == 1:
        return ()  # the Event of the verdict has the same message
    return tuple(
        PostEvent(
            regarding=None,
            reason=problem.reason,
            message=task_problems.sentence(problem),
            warning=True,
            key=f"{_run_key(workflow)}/{problem.task}/{'failed' if problem.failed else problem.reason}",
        )
        for problem in listed[: task_problems.TASKS_MAX]
    )


def hooks(workflow: Workflow, outcomes: Iterable[TaskOutcome]) -> tuple[PostEvent, ...]:
    """An Event on the Workflow for each hook that failed, since the verdict does not include it."""
    return tuple(
        _problem(workflow, outcome, f"hook {outcome.task} failed: {outcome.message}", f"hook/{outcome.task}")
        for outcome in outcomes
        if outcome.state is TaskState.FAILED
    )


def verdict(workflow: Workflow, final: RunVerdict) -> tuple[PostEvent, ...]:
    """An Event on the Workflow when its run has failed, or has succeeded with a remark.

    A plain success needs none: the state shows it, and each of many small runs would pay for it.
    """
    if not final.final or not (final.message or final.succeeded == "False"):
        return ()
    return (
        PostEvent(
            regarding=None,
            reason=final.reason,
            message=final.message,
            warning=final.succeeded == "False",
            key=f"{_run_key(workflow)}/{final.reason}",
        ),
    )


def ended(workflow: Workflow) -> tuple[PostEvent, ...]:
    """The Event on the Workflow of a run that has ended, from its stored condition."""
    stored = conditions.find(workflow.status.conditions, CONDITION)
    if stored is None:
        return ()
    state, succeeded = workflow.status.state or "", stored.status
    return verdict(workflow, RunVerdict(state=state, succeeded=succeeded, reason=stored.reason, message=stored.message))


def cleared(workflow: Workflow, reason: Reason, message: str) -> PostEvent:
    """An Event on the Workflow for an accepted or refused request to clear or to mark."""
    return PostEvent(
        regarding=None,
        reason=reason,
        message=message,
        warning=reason in {Reason.CLEAR_REFUSED, Reason.MARK_REFUSED},
        key=f"{_run_key(workflow)}/{reason}/{message}",
    )


def _failure(run: TaskRun) -> PostEvent:
    status = run.status
    retry = (
        f"; next attempt {f'at {status.retry_at}' if status.retry_at else 'now'}"
        if status.state is State.UP_FOR_RETRY
        else ""
    )
    return PostEvent(
        regarding=run,
        reason=status.reason or Reason.STATUS_INVALID,
        message=f"{status.message or status.state}{retry}",
        warning=True,
        key=f"{run.metadata.uid}/{status.attempt}/{status.reason}",
    )


def _problem(workflow: Workflow, outcome: TaskOutcome, message: str, key: str) -> PostEvent:
    return PostEvent(
        regarding=None,
        reason=outcome.reason or Reason.TASK_FAILED,
        message=message,
        warning=True,
        key=f"{_run_key(workflow)}/{key}",
    )


def _run_key(workflow: Workflow) -> str:
    return f"{workflow.metadata.uid}/{workflow.status.clears}"

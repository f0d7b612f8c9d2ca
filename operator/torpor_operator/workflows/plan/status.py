"""The Workflow's status, computed from the outcomes of its tasks; it never lists instances. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple, Self

from torpor_crds.models.base import Condition
from torpor_crds.models.history import Clearing
from torpor_crds.models.workflow import TaskStatus, Workflow, WorkflowSpec, WorkflowStatus
from torpor_wire import constants, times
from torpor_wire.enums import WorkflowEvent
from torpor_wire.reason import Reason
from torpor_wire.state import TASK_BROKEN, TERMINAL, RunState, TaskState

from torpor_operator.model.actions import Notice
from torpor_operator.state import conditions, workflow_history
from torpor_operator.state.task_state import TaskOutcome
from torpor_operator.workflows.plan import task_problems

_NAMED = 5
"""Further failed tasks that the message of a failed run names; `tasks` has all of them."""
_STALLED = frozenset({Reason.TEMPLATE_NOT_FOUND, Reason.DEFAULTS_INVALID})
_IN_PROGRESS = frozenset({RunState.RUNNING, RunState.SUSPENDED})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVerdict:
    """The verdict of the run: its `Succeeded` condition and its state."""

    state: str
    succeeded: str  # True, False or Unknown
    reason: str
    message: str = ""

    @classmethod
    def failed(cls, reason: str, message: str) -> Self:
        """The verdict of a run that failed."""
        return cls(state=RunState.FAILED, succeeded="False", reason=reason, message=message)

    @property
    def final(self) -> bool:
        """Whether the run has ended."""
        return self.succeeded != "Unknown"


class SlotWait(NamedTuple):
    """What the instances of a task wait for."""

    reason: Reason
    message: str


def verdict(workflow: Workflow, outcomes: Sequence[TaskOutcome], ending: RunVerdict | None) -> RunVerdict:
    """The verdict of the run. `ending` is why it ends early, and is the verdict once no task runs.

    A run fails if any task failed, even if a later task with rule all_done succeeded: a clean-up must not hide a
    failure.
    """
    open_tasks = [outcome.task for outcome in outcomes if not outcome.ended]
    if ending is not None:
        return (
            RunVerdict(state=RunState.CANCELLING, succeeded="Unknown", reason=ending.reason) if open_tasks else ending
        )
    if open_tasks:
        state = RunState.SUSPENDED if workflow.spec.suspend else RunState.RUNNING
        problems = task_problems.task_problems(outcomes)
        reason = problems[0].reason if problems else state
        message = task_problems.summary(problems)
        return RunVerdict(state=state, succeeded="Unknown", reason=reason, message=message)
    tolerated = tolerated_tasks(workflow, outcomes)
    decisive = [outcome for outcome in outcomes if outcome.task not in tolerated]
    broken = next((outcome for outcome in decisive if outcome.state is TaskState.FAILED), None)
    broken = broken or next((outcome for outcome in decisive if outcome.state in TASK_BROKEN), None)
    if broken is None:
        failed = sorted(each.task for each in outcomes if each.task in tolerated and each.state is TaskState.FAILED)
        message = f"failed tasks that may fail: {_names(failed)}" if failed else ""
        return RunVerdict(state=RunState.SUCCEEDED, succeeded="True", reason=Reason.SUCCEEDED, message=message)
    message = f"task {broken.task}: {broken.message or broken.reason or broken.state}{_also_failed(broken, outcomes)}"
    return RunVerdict.failed(broken.reason or Reason.TASK_FAILED, message)


def _also_failed(first: TaskOutcome, outcomes: Sequence[TaskOutcome]) -> str:
    """The names of the other failed tasks, so that a user can fix all of them at once."""
    others = [outcome.task for outcome in outcomes if outcome.state is TaskState.FAILED and outcome is not first]
    return f"; also failed: {_names(others)}" if others else ""


def tolerated_tasks(workflow: Workflow, outcomes: Sequence[TaskOutcome]) -> frozenset[str]:
    """The broken tasks that do not fail the run: those that may fail, and those that did not run because of them.

    A task does not run for lack of an upstream task. If another task is broken, that one fails the run anyway.
    """
    may_fail = {task.name for task in workflow.spec.tasks if task.may_fail}
    broken = [outcome for outcome in outcomes if outcome.state in TASK_BROKEN]
    tolerated = frozenset(outcome.task for outcome in broken if outcome.task in may_fail)
    if not tolerated:
        return tolerated
    return tolerated | {outcome.task for outcome in broken if outcome.state is TaskState.UPSTREAM_FAILED}


def _names(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - _NAMED} more" if len(tasks) > _NAMED else ""
    return f"{', '.join(tasks[:_NAMED])}{more}"


def with_hooks(result: RunVerdict, hooks: Sequence[TaskOutcome]) -> RunVerdict:
    """The verdict, which is not final before the hooks have ended; their outcomes do not change it."""
    running = [hook.task for hook in hooks if not hook.ended]
    if not result.final or not running:
        return result
    message = f"running hooks: {', '.join(running)}" + (f"; {result.message}" if result.message else "")
    return RunVerdict(state=RunState.FINISHING, succeeded="Unknown", reason=result.reason, message=message)


def slot_waits(spec: WorkflowSpec, refused: Mapping[str, Reason]) -> Mapping[str, SlotWait]:
    """What each task waits for that has an instance without a slot.

    Without counts, so that it is written when a wait begins and ends. TaskRuns that wait are not written to.
    """
    tasks = {task.name: task for task in spec.tasks}
    waits: dict[str, SlotWait] = {}
    for name, reason in refused.items():
        match reason:
            case Reason.POOL_FULL:
                owner = f"of pool {tasks[name].pool}, which is full (ConfigMap {constants.POOLS_CONFIG})"
            case Reason.MAX_ACTIVE_REACHED:
                owner = f"of the task: maxActive is {tasks[name].max_active}"
            case _:
                owner = f"of the run: spec.parallelism is {spec.parallelism}"
        waits[name] = SlotWait(reason, f"instances wait for a slot {owner}")
    return waits


def with_slot_waits(result: RunVerdict, waits: Mapping[str, SlotWait]) -> RunVerdict:
    """The verdict with the message of a full pool, unless it has another message."""
    if result.final or result.message:
        return result
    messages = (f"task {task}: {wait.message}" for task, wait in waits.items() if wait.reason is Reason.POOL_FULL)
    return replace(result, message=next(messages, ""))


def with_create_error(result: RunVerdict, error: Notice | None) -> RunVerdict:
    """The verdict of a run in progress with the error of a TaskRun that could not be created."""
    if result.final or error is None:
        return result
    return replace(result, reason=error.reason, message="; ".join(filter(None, (error.message, result.message))))


def build(  # noqa: PLR0913 - all parts of a status
    workflow: Workflow,
    outcomes: Sequence[TaskOutcome],
    result: RunVerdict,
    now: float,
    *,
    cleared: bool = True,
    kept: str = "",
    waiting: Mapping[str, SlotWait] = MappingProxyType({}),
) -> WorkflowStatus:
    """The status to store; equal to the present one if nothing has changed.

    `cleared`: no clearing is in progress. `kept`: which lost node blocks the deletion of a cleared TaskRun.
    `waiting`: the tasks that wait for slots.
    """
    former = workflow.status
    started = former.start_time or times.rfc3339(now)
    completed = (former.completion_time or times.rfc3339(now)) if result.final else None
    tasks = tuple(_entry(outcome, waiting.get(outcome.task)) for outcome in outcomes)
    done = sum(task.succeeded + task.failed for task in tasks)
    return WorkflowStatus(
        observed_generation=workflow.metadata.generation,
        state=result.state,
        progress=f"{done}/{sum(_expected(task) for task in tasks)}",
        start_time=started,
        reopened_time=former.reopened_time,
        completion_time=completed,
        tasks=tasks,
        clears=former.clears,
        clearing=None if cleared or result.final else former.clearing,
        history=workflow_history.observe(workflow, result.state, _end(result), now),
        notifications=former.notifications,
        conditions=_conditions(workflow, result, _lost(outcomes, kept), now),
    )


def _end(result: RunVerdict) -> str | None:
    """The state of a run that has ended. A cancelled run differs from a failed one."""
    if not result.final:
        return None
    return "Cancelled" if result.reason == Reason.CANCELLED else result.state


def _entry(outcome: TaskOutcome, wait: SlotWait | None) -> TaskStatus:
    entry = outcome.status()
    if wait is None or outcome.ended or entry.reason is not None:
        return entry
    return entry.model_copy(update={"reason": wait.reason, "message": wait.message})


def _expected(task: TaskStatus) -> int:
    """How many instances the task is expected to have, as far as is known."""
    return 0 if task.state is TaskState.SKIPPED else max(task.total - task.skipped, 1)


def reopened(  # noqa: PLR0913 - all parts of a status
    workflow: Workflow,
    clearing: Clearing,
    tasks: Sequence[TaskStatus],
    now: float,
    *,
    message: str,
    event: WorkflowEvent = WorkflowEvent.CLEARED,
) -> WorkflowStatus:
    """The status that begins a clearing or a mark: the run is open; if it had ended, its timeout starts again."""
    former = workflow.status
    opened = RunVerdict(state=RunState.RUNNING, succeeded="Unknown", reason=RunState.RUNNING)
    return former.model_copy(
        update={
            "state": opened.state,
            "start_time": former.start_time or times.rfc3339(now),
            "reopened_time": times.rfc3339(now) if former.completion_time else former.reopened_time,
            "completion_time": None,
            "result": None,
            "stored": None,
            "tasks": tuple(tasks),
            "clears": former.clears + 1,
            "clearing": clearing,
            "history": workflow_history.reopened(workflow, event, message, now),
            "conditions": _conditions(workflow, opened, "", now),
        }
    )


def _conditions(workflow: Workflow, result: RunVerdict, lost: str, now: float) -> tuple[Condition, ...]:
    stalled = result.succeeded == "False" or result.reason in _STALLED or bool(lost)
    in_progress = result.state if result.state in _IN_PROGRESS else result.reason
    reason, message = (Reason.NODE_LOST, lost) if lost else (in_progress, result.message)
    wanted = (
        ("Succeeded", result.succeeded, result.reason, result.message),
        ("Reconciling", "False" if result.final else "True", in_progress, ""),
        ("Stalled", "True" if stalled else "False", reason, message if stalled else ""),
    )
    return conditions.updated(workflow.status.conditions, wanted, now)


def _lost(outcomes: Sequence[TaskOutcome], kept: str) -> str:
    """The message of a TaskRun whose pod is on a lost node; it continues only after the node is repaired or deleted."""
    runs = (run for outcome in outcomes for run in outcome.runs.values() if run.status.state not in TERMINAL)
    lost = next((run for run in runs if run.status.reason == Reason.NODE_LOST), None)
    return kept if lost is None else lost.status.message or ""

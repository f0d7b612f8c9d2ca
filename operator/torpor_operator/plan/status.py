"""The Workflow's status as a pure function of its tasks' outcomes; never a list of instances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Self

from torpor_api.models.base import Condition
from torpor_api.models.workflow import Clearing, TaskState, TaskStatus, Workflow, WorkflowStatus
from torpor_wire import times
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL
from torpor_wire.text import printable

from torpor_operator.plan import problems
from torpor_operator.plan.slot_messages import SlotWait
from torpor_operator.state.task_state import BROKEN, Outcome

_QUOTA = "exceeded quota"
_NAMED = 5
"""Names of failed tasks in the message of a run that has ended; `status.tasks` has them all."""
_GOING_ON = frozenset({"Running", "Suspended"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How the run as a whole stands: the `Succeeded` condition, and the word in `kubectl get workflows`."""

    state: str
    succeeded: str  # True, False or Unknown
    reason: str
    message: str = ""

    @classmethod
    def failed(cls, reason: str, message: str) -> Self:
        """The verdict of a run that failed."""
        return cls(state="Failed", succeeded="False", reason=reason, message=message)

    @property
    def final(self) -> bool:
        """Whether the run is over."""
        return self.succeeded != "Unknown"


def verdict(workflow: Workflow, outcomes: Sequence[Outcome], ending: Verdict | None) -> Verdict:
    """The run's verdict. `ending` says why it is being cancelled, and wins once nothing runs any more.

    A run fails when any of its tasks did, also where a later task with rule all_done went well: a clean-up must not
    hide what it cleans up after.
    """
    open_tasks = [outcome.task for outcome in outcomes if not outcome.ended]
    if ending is not None:
        return Verdict(state="Cancelling", succeeded="Unknown", reason=ending.reason) if open_tasks else ending
    if open_tasks:
        state = "Suspended" if workflow.spec.suspend else "Running"
        troubles = problems.of(outcomes)
        reason = troubles[0].reason if troubles else state
        return Verdict(state=state, succeeded="Unknown", reason=reason, message=problems.told(troubles))
    broken = next((outcome for outcome in outcomes if outcome.state is TaskState.FAILED), None)
    broken = broken or next((outcome for outcome in outcomes if outcome.state in BROKEN), None)
    if broken is None:
        return Verdict(state="Succeeded", succeeded="True", reason=Reason.SUCCEEDED)
    message = f"task {broken.task}: {broken.message or broken.reason or broken.state}{_also_failed(broken, outcomes)}"
    return Verdict(state="Failed", succeeded="False", reason=broken.reason or Reason.TASK_FAILED, message=message)


def _also_failed(first: Outcome, outcomes: Sequence[Outcome]) -> str:
    """The names of the other tasks that failed, so that nobody mends one task and finds the next in the next run."""
    others = [outcome.task for outcome in outcomes if outcome.state is TaskState.FAILED and outcome is not first]
    if not others:
        return ""
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    return f"; also failed: {', '.join(others[:_NAMED])}{more}"


def finishing(result: Verdict, hooks: Sequence[Outcome]) -> Verdict:
    """The run's verdict, which is not final before its hooks have ended; how those end does not change it."""
    running = [hook.task for hook in hooks if not hook.ended]
    if not result.final or not running:
        return result
    message = f"hooks run: {', '.join(running)}" + (f"; {result.message}" if result.message else "")
    return Verdict(state="Finishing", succeeded="Unknown", reason=result.reason, message=message)


def waiting(result: Verdict, waits: Mapping[str, SlotWait]) -> Verdict:
    """The verdict with a word of what others keep from the run, where there is nothing worse to say."""
    if result.final or result.message:
        return result
    found = (f"task {task}: {wait.message}" for task, wait in waits.items() if wait.reason is Reason.POOL_FULL)
    return replace(result, message=next(found, ""))


def uncreated(result: Verdict, why: str) -> Verdict:
    """The verdict of a run that goes on and cannot have a TaskRun, which nothing else in it would tell of."""
    if result.final or not why:
        return result
    return replace(result, reason=why_not_created(why), message="; ".join(filter(None, (why, result.message))))


def why_not_created(message: str) -> Reason:
    """The reason of what the API server answered."""
    return Reason.QUOTA_EXCEEDED if _QUOTA in message else Reason.LAUNCH_FAILED


def build(  # noqa: PLR0913 - all that a status tells of
    workflow: Workflow,
    outcomes: Sequence[Outcome],
    result: Verdict,
    now: float,
    *,
    cleared: bool = True,
    kept: str = "",
    waiting: Mapping[str, SlotWait] = MappingProxyType({}),
) -> WorkflowStatus:
    """The status to be stored; equal to the present one when nothing has changed.

    `cleared`: no clearing goes on. `kept`: what keeps a TaskRun that is to be made anew. `waiting`: for which slots.
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
        conditions=_conditions(workflow, result, _lost(outcomes, kept), now),
    )


def _entry(outcome: Outcome, wait: SlotWait | None) -> TaskStatus:
    made = outcome.status()
    if wait is None or outcome.ended or made.reason is not None:
        return made
    return made.model_copy(update={"reason": wait.reason, "message": wait.message})


def _expected(task: TaskStatus) -> int:
    """How many instances the run is done with, as far as is known."""
    return 0 if task.state is TaskState.SKIPPED else max(task.total - task.skipped, 1)


def reopened(workflow: Workflow, clearing: Clearing, tasks: Sequence[TaskStatus], now: float) -> WorkflowStatus:
    """The status in which a clearing begins: the run is open again, and has its timeout anew if it had ended."""
    former = workflow.status
    opened = Verdict(state="Running", succeeded="Unknown", reason="Running")
    return former.model_copy(
        update={
            "state": opened.state,
            "start_time": former.start_time or times.rfc3339(now),
            "reopened_time": times.rfc3339(now) if former.completion_time else former.reopened_time,
            "completion_time": None,
            "tasks": tuple(tasks),
            "clears": former.clears + 1,
            "clearing": clearing,
            "conditions": _conditions(workflow, opened, "", now),
        }
    )


def _conditions(workflow: Workflow, result: Verdict, lost: str, now: float) -> tuple[Condition, ...]:
    stalled = result.succeeded == "False" or bool(lost)
    going_on = result.state if result.state in _GOING_ON else result.reason
    reason, message = (Reason.NODE_LOST, lost) if lost else (going_on, result.message)
    wanted = (
        ("Succeeded", result.succeeded, result.reason, result.message),
        ("Reconciling", "False" if result.final else "True", going_on, ""),
        ("Stalled", "True" if stalled else "False", reason, message if stalled else ""),
    )
    return tuple(_condition(workflow, now, *entry) for entry in wanted)


def _lost(outcomes: Sequence[Outcome], kept: str) -> str:
    """Of a TaskRun whose pod is on a node that does not answer: it goes on only when somebody acts on the node."""
    runs = (run for outcome in outcomes for run in outcome.runs.values() if run.status.state not in TERMINAL)
    lost = next((run for run in runs if run.status.reason == Reason.NODE_LOST), None)
    return kept if lost is None else lost.status.message or ""


def _condition(workflow: Workflow, now: float, name: str, status: str, reason: str, message: str) -> Condition:  # noqa: PLR0913, PLR0917
    former = next((entry for entry in workflow.status.conditions if entry.type == name), None)
    since = former.last_transition_time if former and former.status == status else times.rfc3339(now)
    said = printable(message)[:4096]
    return Condition(type=name, status=status, reason=reason, message=said, last_transition_time=since)

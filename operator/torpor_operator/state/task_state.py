"""How a task of the Workflow stands, its instances taken together: the value that the tasks after it decide on."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torpor_api.models.task import Task
from torpor_api.models.taskrun import TaskRun
from torpor_api.models.workflow import TaskState, TaskStatus
from torpor_wire import constants
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State
from torpor_wire.text import printable

from torpor_operator.state.instance_indexes import InstanceIndexes

ENDED = frozenset(
    {TaskState.SUCCEEDED, TaskState.FAILED, TaskState.SKIPPED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED}
)
BROKEN = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED})

_NONE = (None, "null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A task's state in a frame, and the instances it comes from, by index (-1 for a task that is not mapped)."""

    task: str
    state: TaskState
    mapped: bool = False
    marks: InstanceIndexes = InstanceIndexes()  # noqa: RUF009 - frozen
    runs: Mapping[int, TaskRun]
    reason: str | None = None
    message: str | None = None
    frame: Path = ()

    @property
    def begun(self) -> bool:
        """Whether any instance was made."""
        return bool(self.marks.made)

    @property
    def ended(self) -> bool:
        """Whether nothing of the task is still to come."""
        return self.state in ENDED

    @property
    def skipped(self) -> int:
        """How many of its instances began and ended Skipped; those that `when` left out are in `marks`."""
        return sum(run.status.state is State.SKIPPED for run in self.runs.values())

    def finished(self) -> Iterator[TaskRun]:
        """Its instances that have a result other than null, in the order of the index (adr/0025)."""
        return (run for _, run in sorted(self.runs.items()) if run.status.result not in _NONE or run.status.stored)

    def status(self) -> TaskStatus:
        """The task's entry in the Workflow's status."""
        made, skips = self.marks.made, self.marks.skips
        created = len(made)
        return entry(self, created).model_copy(
            update={
                "total": self.marks.total,
                "made": None if made == Indexes.below(created) else made.text(),
                "skipped": len(skips) + self.skipped,
                "skips": skips.text() or None,
                "removed": self.marks.removed,
            }
        )


def entry(outcome: Outcome, created: int) -> TaskStatus:
    """What the status says of any task: how it stands, and how many of its instances do what."""
    states = Counter(run.status.state for run in outcome.runs.values())
    waiting, succeeded = states[State.DEFERRED], states[State.SUCCEEDED]
    running = sum(count for state, count in states.items() if state not in TERMINAL) - waiting
    return TaskStatus(
        name=outcome.task,
        state=outcome.state,
        created=created,
        active=running,
        deferred=waiting,
        succeeded=succeeded,
        failed=created - running - waiting - succeeded - states[State.SKIPPED],
        reason=outcome.reason,
        message=outcome.message,
    )


def cancelled(former: TaskStatus) -> TaskStatus:
    """A task's entry in the status of a run that ended without a plan: what had not ended was cancelled."""
    if former.state in ENDED:
        return former
    counts = {"active": 0, "deferred": 0, "failed": former.failed + former.active + former.deferred}
    return former.model_copy(update=counts | {"state": TaskState.CANCELLED, "reason": Reason.CANCELLED})


def decided(task: str, state: TaskState, reason: str | None = None, message: str | None = None) -> Outcome:
    """The outcome of a task that has no instances: it waits, was skipped, or failed before its first."""
    return Outcome(
        task=task, state=state, runs={}, reason=reason, message=message and printable(message)[: constants.MESSAGE_MAX]
    )


def failed(task: str, reason: str, message: str) -> Outcome:
    """The outcome of a task that failed before it had an instance."""
    return decided(task, TaskState.FAILED, reason, message)


def not_json(task: str, error: Exception) -> Outcome:
    """The outcome where a result is no JSON: no worker stores that; another hand may, and no plan must fail of it."""
    return failed(task, Reason.EXPRESSION_FAILED, f"what it is given is not JSON: {error}")


def of_instances(task: Task, marks: InstanceIndexes, runs: Mapping[int, TaskRun], *, final: bool = False) -> Outcome:
    """The outcome of a task whose width is known. An instance that was made and is not there was deleted.

    `final`: no more are made, though some are open.
    """
    state, reason, message = TaskState.RUNNING, None, None
    if (final or marks.complete) and all(run.status.state in TERMINAL for run in runs.values()):
        state, reason, message = _ended(marks, runs)
    return Outcome(
        task=task.name, state=state, mapped=task.mapped, marks=marks, runs=runs, reason=reason, message=message
    )


def _ended(marks: InstanceIndexes, runs: Mapping[int, TaskRun]) -> tuple[TaskState, str | None, str | None]:
    bad = [run for _, run in sorted(runs.items()) if run.status.state in {State.FAILED, State.CANCELLED}]
    deleted = len(marks.made) - len(runs)
    if bad:
        cancelled = all(run.status.state is State.CANCELLED for run in bad)
        return TaskState.CANCELLED if cancelled else TaskState.FAILED, bad[0].status.reason, _told(bad[0])
    if deleted:
        return TaskState.FAILED, Reason.DELETED, f"{deleted} of its TaskRuns were deleted"
    if not marks.made:
        return TaskState.SKIPPED, Reason.SKIPPED, f"when: false for all {len(marks.skips)} instances"
    if all(run.status.state is State.SKIPPED for run in runs.values()):
        return TaskState.SKIPPED, Reason.SKIPPED, _told(min(runs.items())[1])
    return TaskState.SUCCEEDED, None, None


def _told(run: TaskRun) -> str:
    said = printable(run.status.message or run.status.reason or run.status.state)
    return f"TaskRun {run.metadata.name}: {said}"[: constants.MESSAGE_MAX]

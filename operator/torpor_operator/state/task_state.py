"""The outcome of a task, over all its instances: what later tasks decide on. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_crds.models.task import Task
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import TaskStatus
from torpor_wire import constants
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.reason import Reason
from torpor_wire.state import TASK_ENDED, TERMINAL, State, TaskState
from torpor_wire.text import printable

from torpor_operator.state.instance_indexes import InstanceIndexes

_NULL = (None, "null")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskOutcome:
    """A task's state at one group path, with its instances by index (-1 for a task that is not mapped)."""

    task: str
    state: TaskState
    mapped: bool = False
    indexes: InstanceIndexes = InstanceIndexes()  # noqa: RUF009 - frozen
    runs: Mapping[int, TaskRun]
    reason: str | None = None
    message: str | None = None
    group_path: Path = ()

    @property
    def started(self) -> bool:
        """Whether any instance was created."""
        return bool(self.indexes.created)

    @property
    def ended(self) -> bool:
        """Whether the task has ended."""
        return self.state in TASK_ENDED

    @property
    def skipped(self) -> int:
        """How many instances ran and ended Skipped; those that `when` skipped are in `indexes`."""
        return sum(run.status.state is State.SKIPPED for run in self.runs.values())

    def runs_with_result(self) -> Iterator[TaskRun]:
        """The instances with a result other than null, by index (ADR 0025)."""
        return (run for _, run in sorted(self.runs.items()) if run.status.result not in _NULL or run.status.stored)

    def status(self) -> TaskStatus:
        """The task's entry in the Workflow's status."""
        created, skips = self.indexes.created, self.indexes.skips
        return task_status(
            self,
            len(created),
            total=self.indexes.total,
            made=None if created == Indexes.below(len(created)) else created.text(),
            skipped=len(skips) + self.skipped,
            skips=skips.text() or None,
            removed=self.indexes.removed,
        )


def task_status(outcome: TaskOutcome, created: int, **fields: Any) -> TaskStatus:
    """The state of a task and its instances by state, for the status, with further fields of it."""
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
        **fields,
    )


def cancelled_status(former: TaskStatus) -> TaskStatus:
    """A task's entry in the status of a run that ended without a plan: tasks that had not ended are cancelled."""
    if former.state in TASK_ENDED:
        return former
    counts = {"active": 0, "deferred": 0, "failed": former.failed + former.active + former.deferred}
    return former.model_copy(update=counts | {"state": TaskState.CANCELLED, "reason": Reason.CANCELLED})


def without_runs(task: str, state: TaskState, reason: str | None = None, message: str | None = None) -> TaskOutcome:
    """The outcome of a task without instances: it waits, was skipped, or failed before the first."""
    return TaskOutcome(
        task=task, state=state, runs={}, reason=reason, message=message and printable(message)[: constants.MESSAGE_MAX]
    )


def failed_without_runs(task: str, reason: str, message: str) -> TaskOutcome:
    """The outcome of a task that failed before its first instance."""
    return without_runs(task, TaskState.FAILED, reason, message)


def failed_by_invalid_json(task: str, error: Exception) -> TaskOutcome:
    """The outcome of a task that reads a result which is not JSON. Workers never store one; other clients can."""
    return failed_without_runs(task, Reason.EXPRESSION_FAILED, f"an input of the task is not valid JSON: {error}")


def of_instances(
    task: Task, indexes: InstanceIndexes, runs: Mapping[int, TaskRun], *, final: bool = False
) -> TaskOutcome:
    """The outcome of a task whose width is known. An instance that was created and has no TaskRun was deleted.

    `final`: no more instances are created, even if some are undecided.
    """
    state, reason, message = TaskState.RUNNING, None, None
    if (final or indexes.complete) and all(run.status.state in TERMINAL for run in runs.values()):
        state, reason, message = _final_state(indexes, runs)
    return TaskOutcome(
        task=task.name, state=state, mapped=task.mapped, indexes=indexes, runs=runs, reason=reason, message=message
    )


def _final_state(indexes: InstanceIndexes, runs: Mapping[int, TaskRun]) -> tuple[TaskState, str | None, str | None]:
    broken = [run for _, run in sorted(runs.items()) if run.status.state in {State.FAILED, State.CANCELLED}]
    deleted = len(indexes.created) - len(runs)
    if broken:
        cancelled = all(run.status.state is State.CANCELLED for run in broken)
        return TaskState.CANCELLED if cancelled else TaskState.FAILED, broken[0].status.reason, _run_message(broken[0])
    if deleted:
        return TaskState.FAILED, Reason.DELETED, f"{deleted} TaskRuns of the task were deleted"
    if not indexes.created:
        return TaskState.SKIPPED, Reason.SKIPPED, f"when: false for all {len(indexes.skips)} instances"
    if all(run.status.state is State.SKIPPED for run in runs.values()):
        return TaskState.SKIPPED, Reason.SKIPPED, _run_message(min(runs.items())[1])
    return TaskState.SUCCEEDED, None, None


def _run_message(run: TaskRun) -> str:
    message = printable(run.status.message or run.status.reason or run.status.state)
    return f"TaskRun {run.metadata.name}: {message}"[: constants.MESSAGE_MAX]

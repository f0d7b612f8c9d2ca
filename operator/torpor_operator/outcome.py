"""How a task of the Workflow stands, its instances taken together: the value that the tasks after it decide on."""

from collections.abc import Mapping
from dataclasses import dataclass

from torpor_api.taskrun import TaskRun
from torpor_api.workflow import TaskState, TaskStatus
from torpor_wire import keys
from torpor_wire.reason import Reason
from torpor_wire.state import TERMINAL, State

ENDED = frozenset(
    {TaskState.SUCCEEDED, TaskState.FAILED, TaskState.SKIPPED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED}
)
BROKEN = frozenset({TaskState.FAILED, TaskState.UPSTREAM_FAILED, TaskState.CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A task's state, and the instances it comes from, by index (-1 for a task that is not mapped)."""

    task: str
    state: TaskState
    mapped: bool = False
    total: int = 0
    created: int = 0
    runs: Mapping[int, TaskRun]
    reason: str | None = None
    message: str | None = None

    @property
    def ended(self) -> bool:
        """Whether nothing of the task is still to come."""
        return self.state in ENDED

    def status(self) -> TaskStatus:
        """The task's entry in the Workflow's status."""
        states = [run.status.state for run in self.runs.values()]
        waiting = states.count(State.DEFERRED)
        succeeded = states.count(State.SUCCEEDED)
        running = sum(state not in TERMINAL for state in states) - waiting
        return TaskStatus(
            name=self.task,
            state=self.state,
            total=self.total,
            created=self.created,
            active=running,
            deferred=waiting,
            succeeded=succeeded,
            failed=self.created - running - waiting - succeeded,
            reason=self.reason,
            message=self.message,
        )


def decided(task: str, state: TaskState, reason: str | None = None, message: str | None = None) -> Outcome:
    """The outcome of a task that has no instances: it waits, was skipped, or failed before its first."""
    return Outcome(task=task, state=state, runs={}, reason=reason, message=message and message[: keys.MESSAGE_MAX])


def failed(task: str, reason: str, message: str) -> Outcome:
    """The outcome of a task that failed before it had an instance."""
    return decided(task, TaskState.FAILED, reason, message)


def of_instances(task: str, *, mapped: bool, total: int, created: int, runs: Mapping[int, TaskRun]) -> Outcome:
    """The outcome of a task whose width is known. An index below the high-water mark without a TaskRun was deleted."""
    deleted = created - len(runs)
    first = next((run for _, run in sorted(runs.items()) if run.status.state in {State.FAILED, State.CANCELLED}), None)
    state, reason, message = TaskState.RUNNING, None, None
    if created == total and all(run.status.state in TERMINAL for run in runs.values()):
        if first is not None:
            cancelled = all(run.status.state is not State.FAILED for run in runs.values())
            state = TaskState.CANCELLED if cancelled else TaskState.FAILED
            reason, message = first.status.reason, _told(first)
        elif deleted:
            state, reason, message = TaskState.FAILED, Reason.DELETED, f"{deleted} of its TaskRuns were deleted"
        else:
            state = TaskState.SUCCEEDED
    return Outcome(
        task=task, state=state, mapped=mapped, total=total, created=created, runs=runs, reason=reason, message=message
    )


def _told(run: TaskRun) -> str:
    return f"TaskRun {run.metadata.name}: {run.status.message or run.status.reason or run.status.state}"[
        : keys.MESSAGE_MAX
    ]

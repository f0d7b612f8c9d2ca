"""Counts of the instances of a task or a run: from the TaskRuns if given, else from the Workflow status. Pure."""

from collections import Counter
from dataclasses import dataclass, fields
from typing import Self, assert_never

from torpor_wire.state import State

from torpor_views.model import RunView, TaskView


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceCounts:
    """Numbers of instances; each instance counts once.

    `pending`: not created yet. `active`: Scheduled, Running or UpForRetry, where the Workflow status does not say
    which; 0 if the TaskRuns are given. `queued`: Scheduled. `waiting`: Deferred. `retrying`: UpForRetry. `deleted`:
    TaskRuns that a user deleted; without the TaskRuns they are in `failed`, and so are those that were cancelled.
    `unknown`: in a state that this version does not know.
    """

    pending: int = 0
    active: int = 0
    queued: int = 0
    running: int = 0
    waiting: int = 0
    retrying: int = 0
    succeeded: int = 0
    failed: int = 0
    cancelled: int = 0
    skipped: int = 0
    deleted: int = 0
    unknown: int = 0

    @property
    def done(self) -> int:
        """How many have ended."""
        return self.succeeded + self.failed + self.cancelled + self.skipped + self.deleted

    @property
    def total(self) -> int:
        """All instances; 0 while the number of instances is unknown."""
        return sum(getattr(self, field.name) for field in fields(self))

    def __add__(self, other: Self) -> "InstanceCounts":
        return InstanceCounts(
            **{field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(self)}
        )


def of_task(run: RunView, task: TaskView) -> InstanceCounts:
    """Return the counts of a task."""
    return _of_instances(run, task) if run.instances_of(task.name) else _of_status(task)


def of_run(run: RunView) -> InstanceCounts:
    """Return the counts of all tasks. A task whose number of instances is unknown counts as one pending instance."""
    return sum((_at_least_one(task, of_task(run, task)) for task in run.tasks), InstanceCounts())


def summary(counts: InstanceCounts) -> str:
    """Return a mapped task in one line: `812/1000, 40 waiting, 3 failed`; `0/?` while the number is unknown."""
    parts = [f"{counts.done}/{counts.total or '?'}"]
    words = ("active", "running", "queued", "waiting", "retrying", "failed", "cancelled", "skipped", "deleted")
    parts += [f"{number} {word}" for word in words if (number := getattr(counts, word))]
    return ", ".join(parts)


def _at_least_one(task: TaskView, counts: InstanceCounts) -> InstanceCounts:
    return counts if counts.total or task.ended else InstanceCounts(pending=1)


def _of_status(task: TaskView) -> InstanceCounts:
    counts = task.counts
    done = counts.active + counts.deferred + counts.succeeded + counts.failed + counts.skipped
    return InstanceCounts(
        pending=0 if task.ended else max(counts.total - done, 0),
        active=counts.active,
        waiting=counts.deferred,
        succeeded=counts.succeeded,
        failed=counts.failed,
        skipped=counts.skipped,
    )


def _of_instances(run: RunView, task: TaskView) -> InstanceCounts:
    """The Workflow status may be a second older than the TaskRuns, so a total below their number is not used."""
    instances = run.instances_of(task.name)
    states = Counter(_field(instance.state) for instance in instances)
    ended_skipped = states["skipped"]
    skipped = max(task.counts.skipped, ended_skipped)
    deleted = 0 if task.name in run.clearing else max(task.counts.created - len(instances), 0)
    created = len(instances) + deleted + skipped - ended_skipped
    pending = 0 if task.ended else max(task.counts.total - created, 0)
    return InstanceCounts(**{**states, "skipped": skipped, "deleted": deleted, "pending": pending})


def _field(state: State | None) -> str:
    match state:
        case State.SCHEDULED:
            return "queued"
        case State.RUNNING:
            return "running"
        case State.DEFERRED:
            return "waiting"
        case State.UP_FOR_RETRY:
            return "retrying"
        case State.SUCCEEDED:
            return "succeeded"
        case State.FAILED:
            return "failed"
        case State.SKIPPED:
            return "skipped"
        case State.CANCELLED:
            return "cancelled"
        case None:
            return "unknown"
        case _:
            assert_never(state)

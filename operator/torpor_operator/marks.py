"""Which instances of a task have been decided on: created, once and for all, or left out by their `when`.

What was created is not created again, whatever becomes of it. The status says it a second later at most; until then
the TaskRuns themselves and what was seen of them do.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torpor_api.task import Task
from torpor_api.taskrun import TaskRun
from torpor_api.workflow import TaskStatus, Workflow
from torpor_wire import keys
from torpor_wire.indexes import Indexes

from torpor_operator.snapshot import Snapshot

NONE = Indexes()


@dataclass(frozen=True, slots=True, kw_only=True)
class Marks:
    """`total` is 0 until the width is known; a task that is not mapped has one instance, at position 0.

    `removed` counts instances of before a clearing that are beyond the new length; before that is known, all.
    """

    total: int = 0
    made: Indexes = NONE
    skips: Indexes = NONE
    removed: int = 0

    @property
    def open(self) -> Indexes:
        """The positions that have not been decided on."""
        return (self.made | self.skips).missing(self.total)

    @property
    def complete(self) -> bool:
        """Whether the width is known and every instance has been decided on."""
        return self.total > 0 and not self.open

    def of_width(self, total: int) -> "Marks":
        """The same once the width is known."""
        removed = self.removed if self.total else max(0, self.removed - total)
        return Marks(total=total, made=self.made, skips=self.skips, removed=removed)

    def skipping(self, skips: Indexes) -> "Marks":
        """The same with more instances left out."""
        return Marks(total=self.total, made=self.made, skips=self.skips | skips, removed=self.removed)


def stored(status: TaskStatus) -> Marks:
    """What the Workflow's status says. Raises ValueError where another hand wrote it."""
    made = Indexes.below(status.created) if status.made is None else Indexes.parse(status.made)
    return Marks(total=status.total, made=made, skips=Indexes.parse(status.skips or ""), removed=status.removed)


def problem(workflow: Workflow) -> str | None:
    """What in the status cannot be by our own hand, for a person; nothing is decided on it, nor reckoned with it."""
    for entry in workflow.status.tasks:
        try:
            if max(entry.created, entry.total) > keys.MAP_MAX:
                return f"status.tasks: {entry.name}: at most {keys.MAP_MAX} instances can be"
            stored(entry)
        except ValueError as error:
            return f"status.tasks: {entry.name}: {error}"
    return None


def of(snapshot: Snapshot, task: Task, runs: Mapping[int, TaskRun]) -> Marks:
    """What is known: by the status, by the TaskRuns there are, and by those that were seen."""
    said = _said(snapshot.workflow, task)
    seen = positions(runs) | snapshot.created.get(task.name, NONE)
    return Marks(total=said.total, made=said.made | seen, skips=said.skips - seen, removed=said.removed)


def positions(indexes: Iterable[int]) -> Indexes:
    """The places of instances by their index, which is -1 where a task is not mapped."""
    return Indexes.of(max(index, 0) for index in indexes)


def index(task: Task, position: int) -> int:
    """The index of the instance at a position."""
    return position if task.mapped else keys.UNMAPPED


def _said(workflow: Workflow, task: Task) -> Marks:
    return next((stored(entry) for entry in workflow.status.tasks if entry.name == task.name), Marks())

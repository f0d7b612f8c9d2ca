"""Which instances of a task have been decided on: created, once and for all, or left out by their `when`.

What was created is not created again, whatever becomes of it. The status says it a second later at most; until then
the TaskRuns themselves and what was seen of them do. Of a task within groups there are marks in each frame.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from torpor_api.models.task import Task
from torpor_api.models.workflow import TaskStatus, Workflow
from torpor_wire import constants, instance_paths
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path

from torpor_operator.model import task_groups
from torpor_operator.model.snapshot import Snapshot

NONE = Indexes()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceIndexes:
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

    def of_width(self, total: int) -> "InstanceIndexes":
        """The same once the width is known."""
        removed = self.removed if self.total else max(0, self.removed - total)
        return InstanceIndexes(total=total, made=self.made, skips=self.skips, removed=removed)

    def skipping(self, skips: Indexes) -> "InstanceIndexes":
        """The same with more instances left out."""
        return InstanceIndexes(total=self.total, made=self.made, skips=self.skips | skips, removed=self.removed)

    def seeing(self, seen: Indexes) -> "InstanceIndexes":
        """The same with instances that are there, whatever the status says."""
        return InstanceIndexes(total=self.total, made=self.made | seen, skips=self.skips - seen, removed=self.removed)


UNMARKED = InstanceIndexes()


def stored(status: TaskStatus, depth: int, *, mapped: bool) -> Mapping[Path, InstanceIndexes]:
    """What the Workflow's status says of a task this deep in groups. Raises ValueError where another hand wrote it."""
    if depth:
        return _in_groups(status.instances or "", status.made, status.skips or "", depth, mapped=mapped)
    made = Indexes.below(status.created) if status.made is None else Indexes.parse(status.made)
    skips = Indexes.parse(status.skips or "")
    return {(): InstanceIndexes(total=status.total, made=made, skips=skips, removed=status.removed)}


def problem(workflow: Workflow) -> str | None:
    """What in the status cannot be by our own hand, for a person; nothing is decided on it, nor reckoned with it."""
    tasks = {task.name: task for task in workflow.spec.tasks}
    try:
        chains = task_groups.chains(workflow.spec)
    except task_groups.GroupingError:
        return None  # nothing of it runs
    for entry in workflow.status.tasks:
        try:
            if max(entry.created, entry.total) > constants.MAP_MAX:
                return f"status.tasks: {entry.name}: at most {constants.MAP_MAX} instances can be"
            if entry.name in tasks:
                stored(entry, len(chains[entry.name]), mapped=tasks[entry.name].mapped)
        except ValueError as error:
            return f"status.tasks: {entry.name}: {error}"
    return None


def of(snapshot: Snapshot, task: Task, depth: int, runs: Mapping[Path, Iterable[int]]) -> dict[Path, InstanceIndexes]:
    """What is known, by frame: by the status, by the TaskRuns there are, and by those that were seen."""
    entry = next((entry for entry in snapshot.workflow.status.tasks if entry.name == task.name), None)
    found = dict(stored(entry, depth, mapped=task.mapped)) if entry is not None else {}
    seen = snapshot.created.get(task.name, {})
    for frame in {frame for frame in (*runs, *seen) if len(frame) == depth}:
        there = positions(runs.get(frame, ())) | seen.get(frame, NONE)
        if there:
            known = found.get(frame, UNMARKED).seeing(there)
            found[frame] = known.of_width(1) if depth and not task.mapped else known
    return found


def positions(indexes: Iterable[int]) -> Indexes:
    """The places of instances by their index, which is -1 where a task is not mapped."""
    return Indexes.of(max(index, 0) for index in indexes)


def index(task: Task, position: int) -> int:
    """The index of the instance at a position."""
    return position if task.mapped else constants.UNMAPPED


def written(frames: Mapping[Path, Indexes], *, mapped: bool) -> str:
    """Positions of a task's instances by frame, as a status holds them."""
    return instance_paths.text(
        instance_paths.joined(frames) if mapped else (frame for frame, there in frames.items() if there)
    )


@lru_cache(maxsize=48)  # read at each plan, and written once a second; of ten thousand indexes an entry has a megabyte
def _in_groups(
    instances: str, made: str | None, skips: str, depth: int, *, mapped: bool
) -> Mapping[Path, InstanceIndexes]:
    there, left_out = _read(instances, depth, mapped=mapped), _read(skips, depth, mapped=mapped)
    created = {frame: each - left_out.get(frame, NONE) for frame, each in there.items()}
    if made is not None:
        created = _read(made, depth, mapped=mapped)
    alike: dict[InstanceIndexes, InstanceIndexes] = {}  # most indexes stand as others do
    found: dict[Path, InstanceIndexes] = {}
    for frame in there.keys() | created.keys() | left_out.keys():
        each = InstanceIndexes(
            total=there.get(frame, NONE).end, made=created.get(frame, NONE), skips=left_out.get(frame, NONE)
        )
        found[frame] = alike.setdefault(each, each)
    return MappingProxyType(found)


def _read(text: str, depth: int, *, mapped: bool) -> dict[Path, Indexes]:
    if mapped:
        return instance_paths.by_frame(instance_paths.parse_paths(text, depth + 1))
    return dict.fromkeys(instance_paths.parse_paths(text, depth), Indexes.below(1))

"""Which instances of a task have been created, and which `when` has skipped.

An instance that was created is never created again, even if it is deleted. The status records it a second later at
most; until then the TaskRuns that exist, and those that were seen, count as well. A task in groups has one record for
each group path.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from torpor_crds.models.task import Task
from torpor_crds.models.workflow import TaskStatus, Workflow
from torpor_wire import constants, instance_paths
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path

from torpor_operator.model import task_groups
from torpor_operator.model.snapshot import Snapshot

NO_INDEXES = Indexes()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceIndexes:
    """`total` is 0 until the width is known. A task that is not mapped has one instance, at position 0.

    `removed` counts instances that a clearing removed since the new list is shorter; all, until its length is known.
    """

    total: int = 0
    created: Indexes = NO_INDEXES
    skips: Indexes = NO_INDEXES
    removed: int = 0

    @property
    def undecided(self) -> Indexes:
        """The positions that are neither created nor skipped."""
        return (self.created | self.skips).missing(self.total)

    @property
    def complete(self) -> bool:
        """Whether the width is known and every instance is created or skipped."""
        return self.total > 0 and not self.undecided

    def with_total(self, total: int) -> "InstanceIndexes":
        """The same once the width is known."""
        removed = self.removed if self.total else max(0, self.removed - total)
        return InstanceIndexes(total=total, created=self.created, skips=self.skips, removed=removed)

    def with_skipped(self, skips: Indexes) -> "InstanceIndexes":
        """The same with more instances skipped."""
        return InstanceIndexes(total=self.total, created=self.created, skips=self.skips | skips, removed=self.removed)

    def with_created(self, seen: Indexes) -> "InstanceIndexes":
        """The same with instances that exist, although the status may not have them."""
        return InstanceIndexes(
            total=self.total, created=self.created | seen, skips=self.skips - seen, removed=self.removed
        )


UNKNOWN = InstanceIndexes()


def from_status(status: TaskStatus, depth: int, *, mapped: bool) -> Mapping[Path, InstanceIndexes]:
    """The record of a task in `depth` groups. Raises ValueError for values that Torpor never writes."""
    if depth:
        return _from_groups(status.instances or "", status.made, status.skips or "", depth, mapped=mapped)
    return _ungrouped(status.total, status.created, status.made, status.skips or "", status.removed)


def problem(workflow: Workflow) -> str | None:
    """What in `status.tasks` Torpor never writes; nothing is computed from it."""
    tasks = {task.name: task for task in workflow.spec.tasks}
    try:
        chains = task_groups.chains(workflow.spec)
    except task_groups.GroupingError:
        return None  # the graph is invalid, so nothing runs
    for entry in workflow.status.tasks:
        try:
            if max(entry.created, entry.total) > constants.MAP_MAX:
                return f"status.tasks: {entry.name}: more than {constants.MAP_MAX} instances"
            if entry.name in tasks:
                from_status(entry, len(chains[entry.name]), mapped=tasks[entry.name].mapped)
        except ValueError as error:
            return f"status.tasks: {entry.name}: {error}"
    return None


def known(
    snapshot: Snapshot, task: Task, depth: int, runs: Mapping[Path, Iterable[int]]
) -> dict[Path, InstanceIndexes]:
    """The record by group path: from the status, the TaskRuns that exist, and those that were seen."""
    entry = snapshot.task_statuses.get(task.name)
    indexes = dict(from_status(entry, depth, mapped=task.mapped)) if entry is not None else {}
    seen = snapshot.created.get(task.name, {})
    for path in {path for path in (*runs, *seen) if len(path) == depth}:
        existing = positions(runs.get(path, ())) | seen.get(path, NO_INDEXES)
        if existing:
            created = indexes.get(path, UNKNOWN).with_created(existing)
            indexes[path] = created.with_total(1) if depth and not task.mapped else created
    return indexes


def positions(indexes: Iterable[int]) -> Indexes:
    """The positions of instances by their index, which is -1 if a task is not mapped."""
    return Indexes.from_numbers(max(index, 0) for index in indexes)


def index(task: Task, position: int) -> int:
    """The index of the instance at a position."""
    return position if task.mapped else constants.UNMAPPED


def to_text(positions: Mapping[Path, Indexes], *, mapped: bool) -> str:
    """Positions of a task's instances by group path, as the status stores them."""
    return instance_paths.text(
        instance_paths.joined(positions) if mapped else (path for path, indexes in positions.items() if indexes)
    )


@lru_cache(maxsize=256)  # most tasks of all runs have one of a few records
def _ungrouped(
    total: int, created: int, ranges: str | None, skips: str, removed: int
) -> Mapping[Path, InstanceIndexes]:
    existing = Indexes.below(created) if ranges is None else Indexes.parse(ranges)
    return MappingProxyType(
        {(): InstanceIndexes(total=total, created=existing, skips=Indexes.parse(skips), removed=removed)}
    )


@lru_cache(maxsize=48)  # each plan reads it; an entry of ten thousand indexes takes a megabyte
def _from_groups(
    instances: str, ranges: str | None, skips: str, depth: int, *, mapped: bool
) -> Mapping[Path, InstanceIndexes]:
    totals, skipped = _read(instances, depth, mapped=mapped), _read(skips, depth, mapped=mapped)
    created = {path: each - skipped.get(path, NO_INDEXES) for path, each in totals.items()}
    if ranges is not None:
        created = _read(ranges, depth, mapped=mapped)
    shared: dict[InstanceIndexes, InstanceIndexes] = {}  # most records are equal: one object for all of them
    indexes: dict[Path, InstanceIndexes] = {}
    for path in totals.keys() | created.keys() | skipped.keys():
        each = InstanceIndexes(
            total=totals.get(path, NO_INDEXES).end,
            created=created.get(path, NO_INDEXES),
            skips=skipped.get(path, NO_INDEXES),
        )
        indexes[path] = shared.setdefault(each, each)
    return MappingProxyType(indexes)


def _read(text: str, depth: int, *, mapped: bool) -> dict[Path, Indexes]:
    if mapped:
        return instance_paths.by_group_path(instance_paths.parse_paths(text, depth + 1))
    return dict.fromkeys(instance_paths.parse_paths(text, depth), Indexes.below(1))

"""The outcome of a task in mapped groups, combined over all group paths below one.

From outside the group such a task is a mapped task: its results in the order of their paths, its instances counted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from torpor_crds.models.workflow import TaskStatus
from torpor_wire import constants, instance_paths
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.state import TASK_ENDED, TaskState

from torpor_operator.state import instance_indexes
from torpor_operator.state.task_state import TaskOutcome, task_status

# The first of these that a part has is the state of the whole.
_BROKEN = (TaskState.FAILED, TaskState.CANCELLED, TaskState.UPSTREAM_FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState(TaskOutcome):
    """The outcomes at all paths below `group_path`, by the rest of the path; `runs` are numbered in that order.

    A group without indexes yet has one outcome, at a path that is shorter than the others.
    """

    parts: Mapping[Path, TaskOutcome] = field(default_factory=dict)
    depth: int = 1  # groups below `group_path`
    mapped_in_group: bool = False

    @classmethod
    def combined(
        cls, task: str, group_path: Path, parts: Mapping[Path, TaskOutcome], *, depth: int, mapped_in_group: bool
    ) -> Self:
        """The combined outcome of parts, by the rest of their paths."""
        ordered = dict(sorted(parts.items()))
        runs = (run for part in ordered.values() for _, run in sorted(part.runs.items()))
        whole = cls(
            task=task,
            group_path=group_path,
            state=_state(ordered),
            mapped=True,
            runs=dict(enumerate(runs)),
            parts=ordered,
            depth=depth,
            mapped_in_group=mapped_in_group,
        )
        cause = next(((path, part) for path, part in ordered.items() if _explains(part, whole.state)), None)
        if cause is None:
            return whole
        path, part = cause
        prefix = f"{task}/{instance_paths.written((*group_path, *path))}: " if path and not part.runs else ""
        message = part.message and prefix + part.message
        return replace(whole, reason=part.reason, message=message and message[: constants.MESSAGE_MAX])

    @property
    def started(self) -> bool:
        """Whether any instance was created."""
        return any(part.started for part in self.parts.values())

    def result_paths(self) -> Iterator[Path]:
        """The paths of the instances that have a result, below the group path."""
        return (run.spec.path[len(self.group_path) :] for run in self.runs_with_result())

    def all_paths(self) -> frozenset[Path]:
        """The paths of all instances, created or not, below the group path."""
        if not self.mapped_in_group:
            return frozenset(path for path, _ in self._full())
        return frozenset((*path, index) for path, part in self._full() for index in range(part.indexes.total))

    def status(self) -> TaskStatus:
        """The task's entry in the Workflow's status, for a task seen from outside all groups."""
        full = {path: part.indexes for path, part in self._full()}
        created = {path: each.created for path, each in full.items()}
        # An instance beyond the total does not count: an unknown width would seem known, and the rest never be created.
        instances = {path: Indexes.below(each.total) for path, each in full.items()}
        all_made = all(each.created == instances[path] - each.skips for path, each in full.items())
        skipped = sum(part.state is TaskState.SKIPPED and not part.indexes.total for _, part in self._full())
        return task_status(
            self,
            sum(map(len, created.values())),
            total=sum(max(each.total, len(each.created), 1) for each in full.values()),
            instances=self._to_text(instances) or None,
            made=None if all_made else self._to_text(created),
            skipped=skipped + self.skipped + sum(len(each.skips) for each in full.values()),
            skips=self._to_text({path: each.skips for path, each in full.items()}) or None,
        )

    def _full(self) -> Iterator[tuple[Path, TaskOutcome]]:
        """The parts at full paths, without groups that have no indexes yet."""
        return ((path, part) for path, part in self.parts.items() if len(path) == self.depth)

    def _to_text(self, positions: Mapping[Path, Indexes]) -> str:
        return instance_indexes.to_text(positions, mapped=self.mapped_in_group)


def _explains(part: TaskOutcome, whole: TaskState) -> bool:
    """Whether this part has the reason for the state of the whole."""
    return part.reason is not None and (part.state is whole or (whole not in TASK_ENDED and not part.ended))


def _state(parts: Mapping[Path, TaskOutcome]) -> TaskState:
    states = {part.state for part in parts.values()}
    if not all(part.ended for part in parts.values()):
        return TaskState.PENDING if states == {TaskState.PENDING} else TaskState.RUNNING
    worst = next((state for state in _BROKEN if state in states), None)
    if worst is not None:
        return worst
    return TaskState.SKIPPED if states <= {TaskState.SKIPPED} else TaskState.SUCCEEDED

"""How a task within mapped groups stands over all the frames that are seen from one place.

Whoever is outside the group sees such a task as mapped: its results in the order of their paths, its instances counted.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Self

from torpor_api.models.workflow import TaskState, TaskStatus
from torpor_wire import constants, instance_paths
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path

from torpor_operator.state import instance_indexes
from torpor_operator.state.task_state import ENDED, Outcome, entry

# Of several ends the first that is found is the whole's.
_WORST = (TaskState.FAILED, TaskState.CANCELLED, TaskState.UPSTREAM_FAILED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupState(Outcome):
    """The outcomes in all frames below `frame`, by the rest of their paths; `runs` are numbered in that order.

    A group that has not come to have indexes has one outcome, at a path that is shorter than the others'.
    """

    parts: Mapping[Path, Outcome] = field(default_factory=dict)
    depth: int = 1  # groups below `frame`
    itself: bool = False  # the task is mapped within its group

    @classmethod
    def of(cls, task: str, frame: Path, parts: Mapping[Path, Outcome], *, depth: int, itself: bool) -> Self:
        """The whole of outcomes by what is left of their frames."""
        ordered = dict(sorted(parts.items()))
        runs = (run for part in ordered.values() for _, run in sorted(part.runs.items()))
        made = cls(
            task=task,
            frame=frame,
            state=_state(ordered),
            mapped=True,
            runs=dict(enumerate(runs)),
            parts=ordered,
            depth=depth,
            itself=itself,
        )
        told = next(((where, part) for where, part in ordered.items() if _tells(part, made.state)), None)
        if told is None:
            return made
        where, part = told
        at = f"{task}/{instance_paths.written((*frame, *where))}: " if where and not part.runs else ""
        message = part.message and at + part.message
        return replace(made, reason=part.reason, message=message and message[: constants.MESSAGE_MAX])

    @property
    def begun(self) -> bool:
        """Whether any instance was made."""
        return any(part.begun for part in self.parts.values())

    def indexes(self) -> Iterator[Path]:
        """The paths of the instances that have a result, below the frame."""
        return (run.spec.path[len(self.frame) :] for run in self.finished())

    def there(self) -> frozenset[Path]:
        """The paths of all instances that there are to be, below the frame."""
        if not self.itself:
            return frozenset(frame for frame, _ in self._full())
        return frozenset((*frame, index) for frame, part in self._full() for index in range(part.marks.total))

    def status(self) -> TaskStatus:
        """The task's entry in the Workflow's status; that of a task that is seen from outside all groups."""
        full = {frame: part.marks for frame, part in self._full()}
        made = {frame: each.made for frame, each in full.items()}
        # Not what is made beyond: a width that is not known must not seem to be, lest the rest is never made.
        instances = {frame: Indexes.below(each.total) for frame, each in full.items()}
        all_made = all(each.made == instances[frame] - each.skips for frame, each in full.items())
        skipped = sum(part.state is TaskState.SKIPPED and not part.marks.total for _, part in self._full())
        return entry(self, sum(map(len, made.values()))).model_copy(
            update={
                "total": sum(max(each.total, len(each.made), 1) for each in full.values()),
                "instances": self._written(instances) or None,
                "made": None if all_made else self._written(made),
                "skipped": skipped + self.skipped + sum(len(each.skips) for each in full.values()),
                "skips": self._written({frame: each.skips for frame, each in full.items()}) or None,
            }
        )

    def _full(self) -> Iterator[tuple[Path, Outcome]]:
        """The frames that there are, and not those that a group has not come to have."""
        return ((frame, part) for frame, part in self.parts.items() if len(frame) == self.depth)

    def _written(self, frames: Mapping[Path, Indexes]) -> str:
        return instance_indexes.written(frames, mapped=self.itself)


def _tells(part: Outcome, whole: TaskState) -> bool:
    """Whether this part says why the whole ended as it did, or what it waits for."""
    return part.reason is not None and (part.state is whole or (whole not in ENDED and not part.ended))


def _state(parts: Mapping[Path, Outcome]) -> TaskState:
    states = {part.state for part in parts.values()}
    if not all(part.ended for part in parts.values()):
        return TaskState.PENDING if states == {TaskState.PENDING} else TaskState.RUNNING
    broken = next((state for state in _WORST if state in states), None)
    if broken is not None:
        return broken
    return TaskState.SKIPPED if states <= {TaskState.SKIPPED} else TaskState.SUCCEEDED

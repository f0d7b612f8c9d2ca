"""How many more TaskRuns may hold a pod: of the whole Workflow, and of each task that has a limit of its own."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Self

from torpor_api.taskrun import TaskRun
from torpor_api.workflow import WorkflowSpec


@dataclass(slots=True, kw_only=True)
class Room:
    """Slots that are left; they are taken in the order in which they are asked for."""

    slots: int
    limits: Mapping[str, int]
    held: Counter[str]

    @classmethod
    def of(cls, spec: WorkflowSpec, holders: Iterable[TaskRun]) -> Self:
        """What is left beside those that hold a slot."""
        held = Counter(run.spec.task for run in holders)
        limits = {task.name: task.max_active for task in spec.tasks if task.max_active is not None}
        return cls(slots=spec.parallelism - held.total(), limits=limits, held=held)

    def take(self, task: str) -> bool:
        """Take one for a TaskRun of this task, if there is one."""
        if self.slots <= 0 or self.held[task] >= self.limits.get(task, self.held[task] + 1):
            return False
        self.slots -= 1
        self.held[task] += 1
        return True

"""How many more TaskRuns may hold a pod: of the Workflow, of a task with a limit, of pools shared with others."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Self, TypeVar

from torpor_api.taskrun import TaskRun
from torpor_api.workflow import WorkflowSpec
from torpor_wire.reason import Reason

T = TypeVar("T")


def _none(_: object) -> bool:
    """What is not there yet holds nothing."""
    return False


@dataclass(slots=True, kw_only=True)
class Room:
    """Slots that are left; they are taken in the order in which they are asked for.

    Those of pools are known roughly, as others take them too: who has the last one is decided when it is done. What
    finds its pool full is asked for after all else, lest it keep others from the Workflow's own slots.
    """

    slots: int
    limits: Mapping[str, int]
    held: Counter[str]
    pool_of: Mapping[str, str]
    pools: dict[str, int]
    refused: dict[str, Reason] = field(default_factory=dict)  # by task: what the first instance that found none lacks

    @classmethod
    def of(cls, spec: WorkflowSpec, holders: Iterable[TaskRun], free: Callable[[str], int | None]) -> Self:
        """What is left beside those that hold a slot; `free` are the slots of a pool."""
        held = Counter(run.spec.task for run in holders)
        limits = {task.name: task.max_active for task in spec.tasks if task.max_active is not None}
        pool_of = {task.name: task.pool for task in spec.tasks if task.pool is not None}
        pools = {pool: free(pool) or 0 for pool in set(pool_of.values())}
        return cls(slots=spec.parallelism - held.total(), limits=limits, held=held, pool_of=pool_of, pools=pools)

    def chosen(self, wanting: Iterable[tuple[str, T]], holds: Callable[[T], bool] = _none) -> list[T]:
        """Which of these, each with its task, may be begun: those whose pool is full stand behind all others.

        What `holds` a slot of its pool asks for no more: behind one that has none, each would wait for the other's.
        """
        open_, full = list[tuple[str, T]](), list[tuple[str, T]]()
        for task, one in wanting:
            pool = None if holds(one) else self.pool_of.get(task)
            if pool is not None:
                self.pools[pool] -= 1
            (full if pool is not None and self.pools[pool] < 0 else open_).append((task, one))
        self.refused |= {task: Reason.POOL_FULL for task, _ in full if task not in self.refused}
        return [one for task, one in (*open_, *full) if self.take(task)]

    def take(self, task: str) -> bool:
        """Take one for a TaskRun of this task, if there is one."""
        if self.held[task] >= self.limits.get(task, self.held[task] + 1):
            self.refused.setdefault(task, Reason.MAX_ACTIVE_REACHED)
            return False
        if self.slots <= 0:
            self.refused.setdefault(task, Reason.PARALLELISM_REACHED)
            return False
        self.slots -= 1
        self.held[task] += 1
        return True

"""How the cache indexes TaskRuns: by owner and pool, and which instances it has seen until a status records them. Pure.

The status records a creation up to a second later. A TaskRun that is deleted before that is not created again.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from torpor_crds.models.taskrun import TaskRun
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.state import TERMINAL

from torpor_operator.taskrun import builder


class PoolKey(NamedTuple):
    """A pool of a namespace."""

    namespace: str
    pool: str


def index_key(pool: PoolKey) -> str:
    """The key under which the store of TaskRuns indexes those of a pool."""
    return f"pool {pool.namespace}/{pool.pool}"


def index_keys(taskrun: TaskRun) -> Iterable[str]:
    """The index keys of a TaskRun: its owner and its pool. A foreign one, which has another name, has none."""
    if not builder.is_named_for_its_spec(taskrun):
        return ()
    # Terminal TaskRuns hold no slot and stay for days; counting the slots of a pool must not pass through them.
    pool = None if taskrun.status.state in TERMINAL else taskrun.spec.pool
    return (taskrun.spec.owner.uid, *([] if pool is None else [index_key(PoolKey(taskrun.metadata.namespace, pool))]))


class SeenInstances:
    """Positions of instances by uid of the Workflow, by task and number of clears, and by group path."""

    def __init__(self) -> None:
        self._seen: defaultdict[str, dict[tuple[str, int], dict[Path, Indexes]]] = defaultdict(dict)

    def add(self, run: TaskRun) -> None:
        """Add the instance of a TaskRun, unless the TaskRun does not have the name that the operator gives."""
        position, task, path = max(run.spec.map_index, 0), (run.spec.task, run.spec.clears), run.spec.group_path
        seen = self._seen[run.spec.owner.uid]
        indexes = seen.get(task, {}).get(path, Indexes())
        if position not in indexes and builder.is_named_for_its_spec(run):
            seen.setdefault(task, {})[path] = indexes | Indexes.from_numbers([position])

    def instances(self, uid: str, clears: int) -> dict[str, Mapping[Path, Indexes]]:
        """The instances of a Workflow by task, since so many clears."""
        return {task: paths for (task, number), paths in self._seen.get(uid, {}).items() if number == clears}

    def forget(self, uid: str) -> None:
        """Forget a Workflow."""
        self._seen.pop(uid, None)

"""The keys under which the cache indexes TaskRuns: their owner and their pool. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from torpor_crds.models.taskrun import TaskRun
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

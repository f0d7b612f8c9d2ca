"""`context()`: the identity of the running task.

The context belongs to the process. It is not a contextvar, because a task may call `context()` from its own threads,
which do not inherit contextvars. A pod runs one task.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NoReturn

_FIELDS = (
    "namespace",
    "workflow",
    "task",
    "map_index",
    "group_indexes",
    "attempt",
    "segment",
    "taskrun",
    "uid",
    "idempotency_key",
)


class Context(Mapping[str, "str | int | tuple[int, ...]"]):
    """The identity of the running task, as in Airflow's task context: attributes, and also keys.

    Example:
        def execute(self, context):
            path = f"out/{context['workflow']}/{context.map_index}.csv"
    """

    __slots__ = _FIELDS

    def __init__(  # noqa: PLR0913 - the parts of an identity
        self,
        *,
        namespace: str,
        workflow: str,
        task: str,
        map_index: int,
        attempt: int,
        segment: int,
        taskrun: str,
        uid: str,
        group_indexes: tuple[int, ...] = (),
    ) -> None:
        self.namespace: Final = namespace
        self.workflow: Final = workflow
        self.task: Final = task
        self.map_index: Final = map_index
        """Index of the instance of a mapped task, from 0; -1 if the task is not mapped."""
        self.group_indexes: Final = group_indexes
        """Index in each mapped task group, outermost first; empty outside of mapped groups."""
        self.attempt: Final = attempt
        self.segment: Final = segment
        self.taskrun: Final = taskrun
        self.uid: Final = uid
        self.idempotency_key: Final = f"{uid}-{segment}"
        """A key that is the same for every execution of this segment of the TaskRun, in any pod and attempt.

        Effects outside the cluster happen at least once. Pass this key to services that accept an idempotency key. A
        TaskRun that was cleared has a new key, because it is meant to run again.
        """

    def __getitem__(self, key: str) -> "str | int | tuple[int, ...]":
        if key not in _FIELDS:
            raise KeyError(f"{key!r}; the context has {', '.join(_FIELDS)}")
        value: str | int | tuple[int, ...] = getattr(self, key)
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(_FIELDS)

    def __len__(self) -> int:
        return len(_FIELDS)

    def __repr__(self) -> str:
        return f"Context({dict(self)})"


class RemoteContext(Context):
    """The context of a sensor in the triggerer, where one poke serves many TaskRuns: only `namespace` is available."""

    __slots__ = ()

    def __init__(self, namespace: str) -> None:
        object.__setattr__(self, "namespace", namespace)

    def __getattr__(self, name: str) -> NoReturn:
        """Reject the fields that differ between the TaskRuns."""
        if name not in _FIELDS:
            raise AttributeError(name)
        raise LookupError(
            f"context.{name} is not available in the triggerer, where one poke may serve many TaskRuns: pass it as an "
            "argument of the sensor, or set runs_in_triggerer = False on its class"
        )

    def __repr__(self) -> str:
        return f"RemoteContext({self.namespace!r})"


class _ProcessContext:
    """The context of this process."""

    context: Context | None = None


def context() -> Context:
    """Return the context of the running task. Raises RuntimeError if no task is running.

    Example:
        from torpor import context, task

        @task
        def load() -> None:
            upload(key=context().idempotency_key)
    """
    if _ProcessContext.context is None:
        raise RuntimeError("no task is running; in a unit test, call the task through torpor.testing.run")
    return _ProcessContext.context


@contextmanager
def running(present: Context) -> Iterator[None]:
    """Set the context that `context()` returns."""
    former, _ProcessContext.context = _ProcessContext.context, present
    try:
        yield
    finally:
        _ProcessContext.context = former

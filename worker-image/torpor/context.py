"""`context()`: which TaskRun, attempt and segment the running code is.

The context is state of the process, not a contextvar: a task may ask for it from threads of its own, which do not
inherit contextvars, and a pod runs one task.
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
    """What the running code is; the fields are keys as well, for operators written as `execute(self, context)`."""

    __slots__ = _FIELDS

    def __init__(  # noqa: PLR0913 - one value an identity has
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
        """Its position in the task's own mapping, from 0; -1 where the task is not mapped itself."""
        self.group_indexes: Final = group_indexes
        """The index of each mapped group that the task stands in, outermost first; empty where it stands in none."""
        self.attempt: Final = attempt
        self.segment: Final = segment
        self.taskrun: Final = taskrun
        self.uid: Final = uid
        self.idempotency_key: Final = f"{uid}-{segment}"
        """Equal for every execution of this segment of the TaskRun, in whatever pod and attempt.

        Effects outside the cluster happen at least once: a service that takes an idempotency key makes that once. A
        TaskRun that was cleared and made anew has another key, since it is meant to act again.
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
    """The context where many TaskRuns may be served at once: their namespace, and a reason for all else."""

    __slots__ = ()

    def __init__(self, namespace: str) -> None:
        object.__setattr__(self, "namespace", namespace)

    def __getattr__(self, name: str) -> NoReturn:
        """For what is not set."""
        if name not in _FIELDS:
            raise AttributeError(name)
        raise LookupError(
            f"there is no {name} in the triggerer, where one poke may serve many TaskRuns: take it as an argument of "
            "the sensor, or set runs_in_triggerer = False on its class"
        )

    def __repr__(self) -> str:
        return f"Elsewhere({self.namespace!r})"


class _Process:
    """What this process runs at the moment."""

    context: Context | None = None


def context() -> Context:
    """The context of the running task. Raises RuntimeError where none runs."""
    if _Process.context is None:
        raise RuntimeError("no task is running; in a unit test, call the task through torpor.testing.run")
    return _Process.context


@contextmanager
def running(present: Context) -> Iterator[None]:
    """Makes `context()` answer with this context."""
    former, _Process.context = _Process.context, present
    try:
        yield
    finally:
        _Process.context = former

"""A source of log lines: a container of a pod, or a wait. Pure."""

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from torpor_wire import instance_paths
from torpor_wire.enums import LogKind

Nanoseconds: TypeAlias = int
"""A time since the epoch. Floats cannot order the lines of a busy container."""


class SourceKey(NamedTuple):
    """The part of a task's execution that a log belongs to. The archive and the API server have equal keys for it."""

    task: str
    path: tuple[int, ...]
    attempt: int
    segment: int
    launch: int
    kind: LogKind


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSource:
    """A log that can be read.

    `start` is not later than the first line; `end` is not earlier than the last one, and None if it is unknown.
    `id` is the uid of the pod, or the archive's name of a wait. `archived`: read it from the archive. `running`: more
    lines can follow. `earlier`: of a TaskRun that a retry has replaced, so another log may have the same key.
    `container`: the container of a pod that the object of a task has created; empty for the pod of a task.
    """

    key: SourceKey
    start: Nanoseconds = 0
    end: Nanoseconds | None = None
    id: str = ""
    pod: str = ""
    archived: bool = False
    running: bool = False
    earlier: bool = False
    container: str = ""

    @property
    def instance(self) -> str:
        """The instance as `load[3]`, or `load` if the task is not mapped."""
        index = instance_paths.written(self.key.path)
        return f"{self.key.task}[{index}]" if index else self.key.task

    @property
    def name(self) -> str:
        """The prefix of its lines: `load[3] a1 s0`, with `wait` for a wait, and `earlier` for one before a retry.

        For a pod of the object of a task it is `load[3] a1 pi-driver`.
        """
        if self.container:
            return f"{self.instance} a{self.key.attempt} {self.pod}"
        launch = f" l{self.key.launch}" if self.key.launch else ""
        wait = " wait" if self.key.kind is LogKind.WAIT else ""
        earlier = " earlier" if self.earlier else ""
        return f"{self.instance} a{self.key.attempt} s{self.key.segment}{launch}{wait}{earlier}"


class LogLine(NamedTuple):
    """A line without its newline. `at` is 0 where the source has no time for it."""

    at: Nanoseconds
    source: LogSource
    text: str

"""Names of runs, tasks and instances as users write them: `NAME`, `NAME/task`, `NAME/task/0.1`, `@latest`. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torpor_wire import constants

from torpor_client.errors import UsageError

LATEST = "@latest"
_KIND = re.compile(r"^workflows?\.torpor\.dev/")
"""What `-o name` prints before a name."""
_BRACKETS = re.compile(r"([^\[\]]+)\[([0-9.]+)\]")
"""A task and an index as `torpor logs` prints them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReference:
    """A run, one of its tasks, or instances of the task. `path` has the group indexes, then the index of the task."""

    run: str
    task: str | None = None
    path: tuple[int, ...] | None = None


def run_name(text: str) -> str:
    """Return the name of a run, which may be written as `-o name` prints it: `workflow.torpor.dev/NAME`."""
    return _KIND.sub("", text)


def parse(text: str) -> RunReference:
    """Return the reference of a text, also of `NAME/task[3]`, as `torpor logs` prints it. Raises UsageError."""
    run, _, rest = run_name(text).partition("/")
    task, _, path = rest.partition("/")
    if (indexed := _BRACKETS.fullmatch(task)) and not path:
        task, path = indexed.groups()
    if not run or (rest and not task):
        raise UsageError(f"{text!r} is not a reference; write NAME, NAME/task or NAME/task/0.1")
    try:
        indexes = tuple(map(int, path.split("."))) if path else None
    except ValueError:
        raise UsageError(
            f"{path!r} is not an index of an instance; write NAME/task/3, or NAME/task/0.1 in a group"
        ) from None
    return RunReference(run=run, task=task or None, path=indexes)


def path_of(taskrun: Mapping[str, Any]) -> tuple[int, ...]:
    """Return the indexes of a TaskRun: those of its groups, then its own if its task is mapped."""
    spec = taskrun["spec"]
    index = spec.get("mapIndex", constants.UNMAPPED)
    groups = tuple(spec.get("groupIndexes") or ())
    return groups if index == constants.UNMAPPED else (*groups, index)


def ref_of(taskrun: Mapping[str, Any]) -> str:
    """Return the instance of a TaskRun as `load/3`, or `load` if the task is not mapped."""
    task, path = str(taskrun["spec"].get("task") or ""), path_of(taskrun)
    return f"{task}/{'.'.join(map(str, path))}" if path else task

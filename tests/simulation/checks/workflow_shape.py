"""Relations of the tasks of a Workflow, read from its spec: groups, order and dependencies.

The invariants are judged by this, and by nothing that the code under test makes of the same words.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from torpor_local.apiserver.history import Object
from torpor_wire.instance_paths import Path

_TASK = re.compile(r"\btasks\.([a-z][a-z0-9_]*)")
_AT_ONCE = frozenset({"one_success", "one_failed", "one_done", "always"})

Prefixes = Mapping[str, frozenset[Path]]
"""For each task, paths that represent all instances below them."""


class Shape:
    """Of one `spec`."""

    def __init__(self, spec: Object) -> None:
        self._tasks = {task["name"]: task for task in spec.get("tasks", ())}
        self._groups = {group["name"]: group for group in spec.get("groups", ())}
        self.chains = {name: self._around(task.get("group")) for name, task in self._tasks.items()}
        self.before = {name: self._upstream(name) | self._producers(name) for name in self._tasks}
        self._awaited = {
            name: self._producers(name) | (frozenset() if task.get("rule") in _AT_ONCE else self._upstream(name))
            for name, task in self._tasks.items()
        }

    def mapped(self, task: str) -> bool:
        """Whether it has instances of its own at each group path."""
        return "expand" in self._tasks[task]

    def depth(self, task: str) -> int:
        """How many numbers the path of an instance has."""
        return len(self.chains[task]) + self.mapped(task)

    def awaits(self, task: str, other: str) -> bool:
        """Whether no instance of a task is to begin before those of another have ended."""
        return other in self._awaited[task]

    def upstream_of(self, task: str) -> frozenset[str]:
        """All tasks on which a task depends, directly or by others."""
        direct = self.before[task]
        return direct.union(*map(self.upstream_of, direct))

    def asks_success(self, task: str, other: str) -> bool:
        """Whether no instance of a task is to begin where one of another before it came to anything but success.

        A hook begins by how the run went, whatever its tasks came to.
        """
        task_body = self._tasks[task]
        rule = task_body.get("rule", "all_success")
        return "hook" not in task_body and rule == "all_success" and other in self._upstream(task)

    def shared(self, first: str, other: str) -> int:
        """The number of groups that contain both tasks."""
        pairs = zip(self.chains[first], self.chains[other], strict=False)
        return next((depth for depth, (a, b) in enumerate(pairs) if a != b), self._shorter(first, other))

    def dependent(self, named: Prefixes) -> Prefixes:
        """What is named and all that depends on it; tasks in the same groups have the same indexes."""
        meant = dict(named)
        while True:
            more = {task: self._affected(task, meant) for task in self._tasks}
            more = {task: prefixes for task, prefixes in more.items() if prefixes}
            if more == meant:
                return meant
            meant = more

    def width(self, group: str) -> int | None:
        """How many indexes a group has, where a person wrote its lists down."""
        lists = [entry["over"] for entry in self._groups[group]["expand"]]
        if any(isinstance(over, str) for over in lists):
            return None
        count = 1
        for over in lists:
            count *= len(over)
        return count

    def unhindered(self) -> Iterable[tuple[str, frozenset[str]]]:
        """Tasks that run wherever all before them succeeded, and those before them."""
        for name, task in self._tasks.items():
            unconditional = (
                task.get("rule", "all_success") == "all_success"
                and not {"when", "hook"} & task.keys()
                and not self.mapped(name)
            )
            if unconditional and not any(self._tasks[other].get("branch") for other in self.before[name]):
                yield name, self.before[name]

    def _affected(self, task: str, meant: Mapping[str, frozenset[Path]]) -> frozenset[Path]:
        through = (
            path[: self.shared(task, other)] for other in self.before[task] for path in meant.get(other, frozenset())
        )
        return meant.get(task, frozenset()) | frozenset(through)

    def _shorter(self, first: str, other: str) -> int:
        return min(len(self.chains[first]), len(self.chains[other]))

    def _around(self, group: str | None) -> tuple[str, ...]:
        return () if group is None else (*self._around(self._groups[group].get("in")), group)

    def _upstream(self, name: str) -> frozenset[str]:
        task = self._tasks[name]
        if "hook" in task:
            return frozenset(other for other, fields in self._tasks.items() if "hook" not in fields)
        upstream = {other for after in task.get("after", ()) for other in self._meant(after)}
        return frozenset(upstream) | _referred(task)

    def _producers(self, name: str) -> frozenset[str]:
        """Those that make its lists, or those of a group around it: whatever its rule, they come first."""
        lists = [self._groups[group]["expand"] for group in self.chains[name]]
        return _referred([self._tasks[name].get("expand", []), *lists])

    def _meant(self, after: str) -> Iterable[str]:
        return [after] if after in self._tasks else [name for name, chain in self.chains.items() if after in chain]


def path_of(run: Object) -> Path:
    """The path of a TaskRun: the index of each group around it, and its own if its task is mapped."""
    spec = run["spec"]
    own = (spec["mapIndex"],) if spec.get("mapIndex", -1) >= 0 else ()
    return (*(spec.get("groupIndexes") or ()), *own)


def below(path: Path, prefixes: Iterable[Path]) -> bool:
    """Whether a path is one of these, or below one."""
    return any(path[: len(prefix)] == prefix for prefix in prefixes)


def _referred(value: Any) -> frozenset[str]:
    return frozenset(_TASK.findall(json.dumps(value)))

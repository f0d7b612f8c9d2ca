"""What a clear request runs again, as the operator will decide (torpor_operator.workflows.plan.clear_request). Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from torpor_views.model import InstanceView, RunView, TaskView
from torpor_wire import constants, instance_paths
from torpor_wire.instance_paths import Path
from torpor_wire.state import TASK_BROKEN, State

from torpor_client import errors
from torpor_client.runs import references

FAILED = "failed"
_FAILED_STATES = frozenset({State.FAILED, State.CANCELLED})
_SHOWN = 120

InstanceSelection: TypeAlias = frozenset[Path] | None
"""All instances below these paths; None: the whole task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewedTask:
    """A task that runs again. `indexes`: which instances, empty for all. `instances`: how many exist now."""

    name: str
    instances: int
    indexes: str = ""
    named: bool = False
    """Whether the user named it; otherwise it depends on a task that runs again."""

    def text(self) -> str:
        """Return a line for a person."""
        which = f"/{self.indexes}" if self.indexes else ""
        number = "not started yet" if not self.instances else f"{self.instances} TaskRun{'s'[: self.instances != 1]}"
        return f"{self.name}{which} ({number}{'' if self.named else ', depends on these'})"


def request(run: RunView, entries: Sequence[str]) -> str:
    """Return the value of the annotation for entries such as `load` or `load/3`; none means what failed.

    Raises UsageError and UnknownNameError for entries that the operator would refuse.
    """
    if not entries:
        if not _failed(run):
            raise errors.UserError(f"nothing of {run.name} has failed; name a task to run it again")
        return FAILED
    for entry in entries:
        _check(run, entry)
    text = ",".join(entries)
    if len(text) > constants.CLEAR_MAX:
        raise errors.UsageError(f"{len(entries)} instances are too many for one request; name whole tasks")
    return text


def preview(run: RunView, text: str) -> tuple[PreviewedTask, ...]:
    """Return what the value of the annotation runs again: what it names, and what depends on it."""
    named: dict[str, InstanceSelection] = {}
    names = {task.name for task in run.tasks}
    for entry in text.split(","):
        chosen = _failed(run) if entry == FAILED and FAILED not in names else _entry(entry)
        for name, paths in chosen.items():
            named[name] = _union(named.get(name, frozenset()), paths)
    selected = _with_dependents(run, named)
    return tuple(_cleared(run, name, paths, named=name in named) for name, paths in selected.items())


def _check(run: RunView, entry: str) -> None:
    reference = references.parse(f"{run.name}/{entry}")
    task = run.task(reference.task or "")
    if task is None:
        known = [task.name for task in run.tasks]
        raise errors.unknown("task", reference.task or "", known, f"the run has {', '.join(known[:20])}")
    if reference.path is None:
        return
    if not task.several:
        raise errors.UsageError(f"task {task.name} has one instance; write {task.name} without an index")
    if not _below(run.instances_of(task.name), frozenset({reference.path})):
        known = [instance.index for instance in run.instances_of(task.name)[:20]]
        raise errors.UnknownNameError(f"there is no instance {entry!r}; {task.name} has {', '.join(known) or 'none'}")


def _entry(entry: str) -> dict[str, InstanceSelection]:
    name, _, path = entry.partition("/")
    return {name: frozenset({tuple(map(int, path.split(".")))}) if path else None}


def _failed(run: RunView) -> dict[str, InstanceSelection]:
    """What failed, was cancelled or was deleted; a task is selected as a whole if none of its instances is left."""
    selected: dict[str, InstanceSelection] = {}
    for task in run.tasks:
        if task.state not in TASK_BROKEN:
            continue
        instances = run.instances_of(task.name)
        failed = frozenset(instance.path for instance in instances if instance.state in _FAILED_STATES)
        partial = task.several and len(failed) < len(instances)
        selected[task.name] = failed if partial else None
    return selected


def _with_dependents(run: RunView, named: Mapping[str, InstanceSelection]) -> dict[str, InstanceSelection]:
    selected: dict[str, InstanceSelection] = {}
    for task in run.tasks:
        above = [name for name in selected if task.hook or name in task.before]
        if not above and task.name not in named:
            continue
        paths = named.get(task.name, frozenset())
        for name in above:
            depth = _common(run.task(name), task)
            other = selected[name]
            shared = None if other is None or not depth else frozenset(path[:depth] for path in other)
            paths = _union(paths, shared)
        selected[task.name] = paths
    return selected


def _common(first: TaskView | None, second: TaskView) -> int:
    """How many groups two tasks share, from the outermost."""
    depth = 0
    for mine, theirs in zip(first.groups if first else (), second.groups, strict=False):
        if mine != theirs:
            break
        depth += 1
    return depth


def _union(first: InstanceSelection, second: InstanceSelection) -> InstanceSelection:
    return None if first is None or second is None else first | second


def _cleared(run: RunView, name: str, paths: InstanceSelection, *, named: bool) -> PreviewedTask:
    instances = run.instances_of(name)
    chosen = instances if paths is None else _below(instances, paths)
    whole = paths is None or len(chosen) == len(instances)
    indexes = "" if whole else instance_paths.text(instance.path for instance in chosen)
    shown = indexes if len(indexes) <= _SHOWN else f"{indexes[:_SHOWN]}…"
    return PreviewedTask(name=name, instances=len(chosen), indexes=shown, named=named)


def _below(instances: Iterable[InstanceView], paths: frozenset[Path]) -> list[InstanceView]:
    depths = {len(path) for path in paths}
    return [instance for instance in instances if any(instance.path[:depth] in paths for depth in depths)]

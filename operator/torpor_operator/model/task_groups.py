"""The groups of a Workflow: which contain each task, and why a spec of groups is invalid. Pure.

A group path is one index of each group that contains a task, outermost first; it is empty for a task in no group.
"""

from collections.abc import Mapping, Sequence

from torpor_crds.models.argument import MappedGroup
from torpor_crds.models.workflow import WorkflowSpec
from torpor_wire import constants

Chain = tuple[str, ...]


class GroupingError(ValueError):
    """Why the groups are invalid."""


def chains(spec: WorkflowSpec) -> dict[str, Chain]:
    """The groups that contain each task, outermost first. Raises GroupingError."""
    groups = {group.name: group for group in spec.groups}
    containing = {name: _with_containing(group, groups) for name, group in groups.items()}
    by_task: dict[str, Chain] = {}
    for task in spec.tasks:
        if task.name in groups:
            raise GroupingError(f"{task.name} is the name of a task and of a group: rename one")
        if task.group is not None and task.group not in groups:
            raise GroupingError(f"task {task.name}: unknown group {task.group}; {_listed(groups)}")
        if task.group is not None and task.hook is not None:
            raise GroupingError(
                f"task {task.name} is a hook, which runs once at the end of the run: it cannot be in a group"
            )
        by_task[task.name] = containing[task.group] if task.group is not None else ()
    if empty := sorted(groups.keys() - {name for chain in by_task.values() for name in chain}):
        raise GroupingError(f"group {empty[0]} has no tasks: set `group: {empty[0]}` on a task, or remove the group")
    return by_task


def common(first: Sequence[str], second: Sequence[str]) -> int:
    """How many groups contain both tasks."""
    return next(
        (depth for depth, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def _with_containing(group: MappedGroup, groups: Mapping[str, MappedGroup]) -> Chain:
    """The group and the groups that contain it, outermost first."""
    names: list[str] = []
    inner: MappedGroup | None = group
    while inner is not None:
        if inner.name in names:
            raise GroupingError(f"groups contain each other: {' in '.join([*names, inner.name])}; remove one `in`")
        names.append(inner.name)
        if inner.in_ is not None and inner.in_ not in groups:
            raise GroupingError(f"group {inner.name}: unknown group {inner.in_}; {_listed(groups)}")
        inner = groups[inner.in_] if inner.in_ is not None else None
    if len(names) > constants.GROUP_DEPTH:
        raise GroupingError(f"group {group.name} has {len(names)} levels; the limit is {constants.GROUP_DEPTH}")
    return tuple(reversed(names))


def _listed(groups: Mapping[str, MappedGroup]) -> str:
    return f"groups: {', '.join(sorted(groups)) or 'none'}"

"""The groups of a Workflow: in which each stands, and what forbids it. Pure.

A frame is one index of each group around a task, outermost first; that of a task in no group is empty.
"""

from collections.abc import Mapping, Sequence

from torpor_api.models.task import Group
from torpor_api.models.workflow import WorkflowSpec
from torpor_wire import constants

Chain = tuple[str, ...]


class GroupingError(ValueError):
    """Why the groups cannot be; a sentence for the Workflow's author."""


def chains(spec: WorkflowSpec) -> dict[str, Chain]:
    """Of each task, the groups that it stands in, outermost first. Raises GroupingError."""
    groups = {group.name: group for group in spec.groups}
    around = {name: _around(group, groups) for name, group in groups.items()}
    found: dict[str, Chain] = {}
    for task in spec.tasks:
        if task.name in groups:
            raise GroupingError(f"{task.name} is a task and a group: rename one")
        if task.group is not None and task.group not in groups:
            raise GroupingError(f"task {task.name}: there is no group {task.group}; {_there(groups)}")
        if task.group is not None and task.hook is not None:
            raise GroupingError(f"task {task.name} is a hook, which runs once at the end: it stands in no group")
        found[task.name] = around[task.group] if task.group is not None else ()
    if empty := sorted(groups.keys() - {name for chain in found.values() for name in chain}):
        raise GroupingError(f"group {empty[0]}: no task stands in it; a task says so by `group: {empty[0]}`")
    return found


def common(one: Sequence[str], other: Sequence[str]) -> int:
    """How many groups two tasks both stand in."""
    return next(
        (depth for depth, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def _around(group: Group, groups: Mapping[str, Group]) -> Chain:
    """The group and those that it stands in, outermost first."""
    found: list[str] = []
    inner: Group | None = group
    while inner is not None:
        if inner.name in found:
            raise GroupingError(f"groups stand in each other: {' in '.join([*found, inner.name])}")
        found.append(inner.name)
        if inner.in_ is not None and inner.in_ not in groups:
            raise GroupingError(f"group {inner.name}: there is no group {inner.in_}; {_there(groups)}")
        inner = groups[inner.in_] if inner.in_ is not None else None
    if len(found) > constants.GROUP_DEPTH:
        raise GroupingError(f"group {group.name} is {len(found)} deep, and {constants.GROUP_DEPTH} are possible")
    return tuple(reversed(found))


def _there(groups: Mapping[str, Group]) -> str:
    return f"there are: {', '.join(sorted(groups)) or 'none'}"

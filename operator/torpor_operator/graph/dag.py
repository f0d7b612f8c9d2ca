"""The order of a Workflow's tasks: who comes after whom, by `after` and by reference, and what forbids it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from torpor_api.models.task import Group, Task
from torpor_api.models.workflow import WorkflowSpec
from torpor_cel import references
from torpor_cel.errors import ExpressionError
from torpor_wire.reason import Reason

from torpor_operator.expressions import resolve
from torpor_operator.expressions.context import GROUPS, MAPPING, VARIABLES
from torpor_operator.model import task_groups
from torpor_operator.model.task_groups import Chain, common


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The tasks in an order that can be walked once, hooks last, and what each comes after.

    A hook follows the end of the run: what it comes after besides are other hooks. `producers` are the tasks that a
    group's lists are made by: all of the group comes after them, and no rule counts them.
    """

    order: tuple[Task, ...]
    upstream: Mapping[str, frozenset[str]]
    branches: frozenset[str]
    groups: Mapping[str, Group]
    chains: Mapping[str, Chain]
    producers: Mapping[str, frozenset[str]]

    def downstream(self, name: str) -> frozenset[str]:
        """The tasks right after one."""
        return frozenset(other for other, before in self.upstream.items() if name in before)

    def before(self, name: str) -> frozenset[str]:
        """The tasks that one comes after, also those that only say how wide its groups are."""
        return self.upstream[name].union(*(self.producers[group] for group in self.chains[name]))

    def above(self, name: str) -> frozenset[str]:
        """Every task that a way leads from to this one."""
        found: set[str] = set()
        open_ = [name]
        while open_:
            fresh = self.upstream[open_.pop()] - found
            found |= fresh
            open_ += fresh
        return frozenset(found)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """Those that make up the run."""
        return tuple(task for task in self.order if task.hook is None)

    @property
    def hooks(self) -> tuple[Task, ...]:
        """Those that follow its end."""
        return tuple(task for task in self.order if task.hook is not None)


@dataclass(frozen=True, slots=True)
class Problem:
    """Why a Workflow cannot run at all, for its author."""

    reason: str
    message: str


class _ProblemError(Exception):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.problem = Problem(reason, message)


def build(spec: WorkflowSpec) -> Graph | Problem:
    """The graph of the spec, or the first problem found in the order in which the tasks are written."""
    try:
        return _ordered(_Written(spec, {task.name: task for task in spec.tasks}, task_groups.chains(spec)))
    except task_groups.GroupingError as error:
        return Problem(Reason.WORKFLOW_INVALID, str(error))
    except _ProblemError as error:
        return error.problem


def _ordered(written: "_Written") -> Graph:
    spec = written.spec
    upstream = {task.name: written.upstream(task) for task in spec.tasks}
    hooks = {task.name for task in spec.tasks if task.hook is not None}
    for name in hooks:
        upstream[name] &= hooks
    unordered = Graph(
        order=spec.tasks,
        upstream=upstream,
        branches=frozenset(task.name for task in spec.tasks if task.branch),
        groups={group.name: group for group in spec.groups},
        chains=written.chains,
        producers={group.name: written.producers(group) for group in spec.groups},
    )
    before_hooks = sorted(upstream.keys() - hooks)
    edges = {
        name: [*sorted(unordered.before(name)), *(before_hooks if name in hooks else ())] for name in sorted(upstream)
    }
    try:
        order = tuple(TopologicalSorter(edges).static_order())
    except CycleError as error:
        ring = " -> ".join(reversed(error.args[1]))
        message = f"tasks wait for each other: {ring}; remove one `after` or reference"
        raise _ProblemError(Reason.WORKFLOW_INVALID, message) from None
    return replace(unordered, order=tuple(written.tasks[name] for name in order))


@dataclass(frozen=True, slots=True)
class _Written:
    """What the author wrote, and the checks of its references. They raise _ProblemError."""

    spec: WorkflowSpec
    tasks: Mapping[str, Task]
    chains: Mapping[str, Chain]

    def upstream(self, task: Task) -> frozenset[str]:
        """The tasks that a task comes after, by `after` and by reference."""
        said = f"task {task.name}"
        before = {name for after in task.after for name in self._after(said, after)}
        before |= self._referred(said, resolve.expressions(task), self.chains[task.name], alone=not task.mapped)
        hooks = self._hooks(before)
        if hooks and task.hook is None:
            message = f"{said} comes after {hooks[0]}, which is a hook: it runs when all tasks have ended"
            raise _ProblemError(Reason.WORKFLOW_INVALID, message)
        return frozenset(before)

    def producers(self, group: Group) -> frozenset[str]:
        """The tasks that a group's lists are made by."""
        said, places = f"group {group.name}", tuple(resolve.of_group(group))
        for place in places:
            self._not_from_within(group, place)
        found = self._referred(said, places, self._around(group))
        if hooks := self._hooks(found):
            message = f"{said} is made from {hooks[0]}, which is a hook: it runs when all tasks have ended"
            raise _ProblemError(Reason.WORKFLOW_INVALID, message)
        return found

    def _not_from_within(self, group: Group, place: resolve.Place) -> None:
        found = references.of(str(place.expression), roots=place.roots)
        inside = sorted(found.tasks & self._members(group.name)) if not isinstance(found, ExpressionError) else []
        if inside:
            message = f"group {group.name}: {place.where}: task {inside[0]} stands in the group whose list it makes"
            raise _ProblemError(Reason.WORKFLOW_INVALID, message)

    def _members(self, group: str) -> frozenset[str]:
        """The tasks that stand in a group, or in one within it."""
        return frozenset(task for task, chain in self.chains.items() if group in chain)

    def _around(self, group: Group) -> Chain:
        """The groups that a group stands in."""
        inside = next((chain for chain in self.chains.values() if group.name in chain), ())
        return inside[: inside.index(group.name)] if inside else ()

    def _hooks(self, names: Iterable[str]) -> list[str]:
        return sorted(name for name in names if self.tasks[name].hook is not None)

    def _after(self, said: str, name: str) -> frozenset[str]:
        """The tasks that an entry of `after` means: one, or all of a group."""
        if any(group.name == name for group in self.spec.groups):
            return self._members(name)
        if name not in self.tasks:
            raise _ProblemError(Reason.WORKFLOW_INVALID, _unknown(f"{said}: after: {name}", "task", name, self.tasks))
        return frozenset({name})

    def _referred(
        self, said: str, places: Iterable[resolve.Place], chain: Chain, *, alone: bool = False
    ) -> frozenset[str]:
        found = (self._references(said, place, chain, alone=alone).tasks for place in places)
        return frozenset[str]().union(*found)

    def _references(self, said: str, place: resolve.Place, chain: Chain, *, alone: bool) -> references.References:
        """What an expression refers to, seen from these groups; `alone`: in a task that is not mapped itself."""
        where, expression, roots = place
        said = f"{said}: {where}"
        found = references.of(expression, roots=roots) if isinstance(expression, str) else expression
        if isinstance(found, ExpressionError):
            raise _ProblemError(found.reason, f"{said}: {found.message}{_literal(where)}")
        self._is_there(said, found)
        self._can_be_seen(said, found, chain, alone=alone)
        return found

    def _is_there(self, said: str, found: references.References) -> None:
        if of_group := sorted(found.tasks & {group.name for group in self.spec.groups}):
            message = f"{said}: {of_group[0]} is a group: name a task that stands in it, as in tasks.x.results"
            raise _ProblemError(Reason.WORKFLOW_INVALID, message)
        for kind, names, known in (("task", found.tasks, self.tasks), ("param", found.params, self.spec.params)):
            for name in sorted(names - known.keys()):
                raise _ProblemError(Reason.WORKFLOW_INVALID, _unknown(said, kind, name, known))
        if VARIABLES in found.roots and self.spec.variables_from is None:
            message = f"{said}: there are no variables: set spec.variablesFrom to the name of a ConfigMap"
            raise _ProblemError(Reason.WORKFLOW_INVALID, message)

    def _can_be_seen(self, said: str, found: references.References, chain: Chain, *, alone: bool) -> None:
        for root, name, field in sorted(found.parts, key=str):
            if root == GROUPS:
                self._of_group(said, name, field, chain)
            if root == MAPPING and alone and name != "index":
                message = f"{said}: it is not mapped, and so has no item: mapping has only `index`"
                message += f"; its group's item is groups.{chain[-1]}.value" if chain else ""
                raise _ProblemError(Reason.EXPRESSION_INVALID, message)
        for name, field in sorted(found.fields, key=str):
            wrong = self._misused(name, field, chain)
            if wrong is not None:
                raise _ProblemError(Reason.EXPRESSION_INVALID, f"{said}: {wrong}")

    def _of_group(self, said: str, name: str, field: str | None, chain: Chain) -> None:
        if all(group.name != name for group in self.spec.groups):
            known = {group.name: group for group in self.spec.groups}
            raise _ProblemError(Reason.WORKFLOW_INVALID, _unknown(said, "group", name, known))
        if name not in chain:
            there = f"it stands in: {', '.join(chain) or 'none'}"
            raise _ProblemError(Reason.WORKFLOW_INVALID, f"{said}: groups.{name} is not around it; {there}")
        if field not in {"index", "key", "value", None}:
            message = f"{said}: groups.{name}.{field}: a group has `index`, `key` and `value`"
            raise _ProblemError(Reason.EXPRESSION_INVALID, message)

    def _misused(self, name: str, field: str | None, chain: Chain) -> str | None:
        """What is wrong with a field of a task, seen from these groups: one result is `result`, many are `results`."""
        many = self.tasks[name].mapped or common(chain, self.chains[name]) < len(self.chains[name])
        right = "results" if many else "result"
        match field:
            case "state" | "indexes":
                return None
            case "result" | "results":
                stands = "is mapped" if many else "stands at the same index" if chain else "is not mapped"
                return None if field == right else f"task {name} {stands}: write tasks.{name}.{right}"
            case None:
                return f"tasks.{name} is used whole: write tasks.{name}.{right}"
            case _:
                return f"tasks.{name}.{field}: a task has `result`, `results`, `indexes` and `state`"


def _literal(where: str) -> str:
    """A word of a shell's where an expression cannot be read: the author may mean a variable of the shell."""
    shell = where.startswith((resolve.CONTAINER, resolve.ENV))
    return "; for a variable of the shell write $${NAME}, or $NAME" if shell else ""


def _unknown(place: str, kind: str, name: str, known: Mapping[str, object]) -> str:
    listed = ", ".join(sorted(known)[:20]) or "none"
    return f"{place}: there is no {kind} {name}; there are: {listed}"

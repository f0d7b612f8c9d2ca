"""The order of a Workflow's tasks: who comes after whom, by `after` and by reference, and what forbids it."""

from collections.abc import Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from torpor_api.task import Task
from torpor_api.workflow import WorkflowSpec
from torpor_cel import references
from torpor_cel.errors import ExpressionError
from torpor_wire.reason import Reason

from torpor_operator import inputs
from torpor_operator.scope import VARIABLES


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The tasks in an order that can be walked once, hooks last, and what each comes after.

    A hook follows the end of the run: what it comes after besides are other hooks.
    """

    order: tuple[Task, ...]
    upstream: Mapping[str, frozenset[str]]
    branches: frozenset[str] = frozenset()

    def downstream(self, name: str) -> frozenset[str]:
        """The tasks right after one."""
        return frozenset(other for other, before in self.upstream.items() if name in before)

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


def build(spec: WorkflowSpec) -> Graph | Problem:
    """The graph of the spec, or the first problem found in the order in which the tasks are written."""
    by_name = {task.name: task for task in spec.tasks}
    upstream: dict[str, frozenset[str]] = {}
    for task in spec.tasks:
        before = _upstream(task, spec, by_name)
        if isinstance(before, Problem):
            return before
        upstream[task.name] = before
    hooks = {task.name for task in spec.tasks if task.hook is not None}
    for name in hooks:
        upstream[name] &= hooks
    before_hooks = sorted(upstream.keys() - hooks)
    edges = {name: [*sorted(upstream[name]), *(before_hooks if name in hooks else ())] for name in sorted(upstream)}
    try:
        order = tuple(TopologicalSorter(edges).static_order())
    except CycleError as error:
        ring = " -> ".join(reversed(error.args[1]))
        return Problem(Reason.WORKFLOW_INVALID, f"tasks wait for each other: {ring}; remove one `after` or reference")
    branches = frozenset(task.name for task in spec.tasks if task.branch)
    return Graph(order=tuple(by_name[name] for name in order), upstream=upstream, branches=branches)


def _upstream(task: Task, spec: WorkflowSpec, by_name: Mapping[str, Task]) -> frozenset[str] | Problem:
    before = set(task.after)
    for name in task.after:
        if name not in by_name:
            return Problem(Reason.WORKFLOW_INVALID, _unknown(f"task {task.name}: after: {name}", "task", name, by_name))
    for place in inputs.expressions(task):
        found = _references(task, place, spec, by_name)
        if isinstance(found, Problem):
            return found
        before |= found.tasks
    hooks = sorted(name for name in before if by_name[name].hook is not None)
    if hooks and task.hook is None:
        message = f"task {task.name} comes after {hooks[0]}, which is a hook: it runs when all tasks have ended"
        return Problem(Reason.WORKFLOW_INVALID, message)
    return frozenset(before)


def _references(
    task: Task, place: inputs.Place, spec: WorkflowSpec, by_name: Mapping[str, Task]
) -> references.References | Problem:
    where, expression, roots = place
    found = references.of(expression, roots=roots) if isinstance(expression, str) else expression
    if isinstance(found, ExpressionError):
        return Problem(found.reason, f"task {task.name}: {where}: {found.message}")
    said = f"task {task.name}: {where}"
    for kind, names, known in (("task", found.tasks, by_name), ("param", found.params, spec.params)):
        for name in sorted(names - known.keys()):
            return Problem(Reason.WORKFLOW_INVALID, _unknown(said, kind, name, known))
    if VARIABLES in found.roots and spec.variables_from is None:
        message = f"{said}: there are no variables: set spec.variablesFrom to the name of a ConfigMap"
        return Problem(Reason.WORKFLOW_INVALID, message)
    return found


def _unknown(place: str, kind: str, name: str, known: Mapping[str, object]) -> str:
    listed = ", ".join(sorted(known)[:20]) or "none"
    return f"{place}: there is no {kind} {name}; there are: {listed}"

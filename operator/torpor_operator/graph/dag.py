"""The graph of a Workflow: its tasks in order, by `after` and by references, and why a spec has no graph. Pure."""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter

from torpor_crds.models.argument import MappedGroup
from torpor_crds.models.task import Task
from torpor_crds.models.workflow import WorkflowSpec
from torpor_expressions import errors, references
from torpor_expressions.errors import ExpressionError
from torpor_expressions.syntax import Parsed
from torpor_wire.reason import Reason

from torpor_operator.expressions import resolve, run_root
from torpor_operator.expressions.context import GROUPS, MAPPING, RUN, VARIABLES
from torpor_operator.graph import file_references, pod_containers, spec_expressions
from torpor_operator.graph.spec_expressions import Cost, SpecExpressions
from torpor_operator.model import task_groups
from torpor_operator.model.task_groups import Chain, common


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """The tasks in topological order, hooks last, with the upstream tasks of each.

    A hook comes after all other tasks; its `upstream` has only other hooks. `producers` are the tasks that produce the
    lists of a group: the tasks of the group come after them, but no trigger rule counts them.
    """

    order: tuple[Task, ...]
    upstream: Mapping[str, frozenset[str]]
    branches: frozenset[str]
    groups: Mapping[str, MappedGroup]
    chains: Mapping[str, Chain]
    producers: Mapping[str, frozenset[str]]
    parsed: tuple[Parsed, ...] = ()  # its expressions, held so that none is parsed again

    def downstream(self, name: str) -> frozenset[str]:
        """The direct downstream tasks of a task."""
        return frozenset(other for other, before in self.upstream.items() if name in before)

    def before(self, name: str) -> frozenset[str]:
        """The tasks that a task comes after, including the producers of its groups."""
        return self.upstream[name].union(*(self.producers[group] for group in self.chains[name]))

    def ancestors(self, name: str) -> frozenset[str]:
        """All upstream tasks of a task, direct and indirect."""
        ancestors: set[str] = set()
        queue = [name]
        while queue:
            new = self.upstream[queue.pop()] - ancestors
            ancestors |= new
            queue += new
        return frozenset(ancestors)

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The tasks without the hooks."""
        return tuple(task for task in self.order if task.hook is None)

    @property
    def hooks(self) -> tuple[Task, ...]:
        """The hooks."""
        return tuple(task for task in self.order if task.hook is not None)


@dataclass(frozen=True, slots=True)
class GraphProblem:
    """Why a Workflow cannot run."""

    reason: str
    message: str


class _ProblemError(Exception):
    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.problem = GraphProblem(reason, message)


def build(spec: WorkflowSpec) -> Graph | GraphProblem:
    """The graph of the spec, or the first problem in the order of the tasks."""
    building = build_in_steps(spec)
    while True:
        try:
            next(building)
        except StopIteration as end:
            built: Graph | GraphProblem = end.value
            return built


def build_in_steps(spec: WorkflowSpec) -> Generator[Cost, None, Graph | GraphProblem]:
    """Build the graph as `build` does. Each step yields its cost, so that a caller can pause."""
    try:
        chains = task_groups.chains(spec)
        expressions = yield from spec_expressions.read(spec)
        written = _Spec(spec, {task.name: task for task in spec.tasks}, chains, expressions)
        written.check_run()
        return (yield from _ordered(written))
    except task_groups.GroupingError as error:
        return GraphProblem(Reason.WORKFLOW_INVALID, str(error))
    except spec_expressions.SpecTooLargeError as error:
        return GraphProblem(errors.ExpressionReason.TOO_EXPENSIVE, str(error))
    except _ProblemError as error:
        return error.problem


def _ordered(written: "_Spec") -> Generator[Cost, None, Graph]:
    spec = written.spec
    upstream: dict[str, frozenset[str]] = {}
    for task in spec.tasks:
        upstream[task.name] = written.upstream(task)
        yield len(written.expressions.tasks[task.name])
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
        parsed=written.expressions.parsed,
    )
    before_hooks = sorted(upstream.keys() - hooks)
    edges = {
        name: [*sorted(unordered.before(name)), *(before_hooks if name in hooks else ())] for name in sorted(upstream)
    }
    try:
        order = tuple(TopologicalSorter(edges).static_order())
    except CycleError as error:
        cycle = " -> ".join(reversed(error.args[1]))
        message = f"the tasks form a cycle: {cycle}; remove one `after` or reference"
        raise _ProblemError(Reason.WORKFLOW_INVALID, message) from None
    return replace(unordered, order=tuple(written.tasks[name] for name in order))


@dataclass(frozen=True, slots=True)
class _Spec:
    """The spec of a Workflow, and the checks of its references. They raise _ProblemError."""

    spec: WorkflowSpec
    tasks: Mapping[str, Task]
    chains: Mapping[str, Chain]
    expressions: SpecExpressions

    def upstream(self, task: Task) -> frozenset[str]:
        """The tasks that a task comes after, by `after` and by reference."""
        where, expressions = f"task {task.name}", self.expressions.tasks[task.name]
        if (problem := pod_containers.problem(task, self.spec.volume_claims)) is not None:
            raise _ProblemError(Reason.WORKFLOW_INVALID, f"{where}: {problem}")
        self._check_run_fields(where, expressions, hook=task.hook is not None)
        before = {name for after in task.after for name in self._after(where, after)}
        before |= self._referred(where, expressions, self.chains[task.name], mapped=task.mapped)
        if (problem := file_references.problem(task, self.tasks)) is not None:
            raise _ProblemError(Reason.WORKFLOW_INVALID, f"{where}: {problem}")
        before |= file_references.upstream(task)
        hooks = self._hooks(before)
        if hooks and task.hook is None:
            message = f"{where} comes after {hooks[0]}, a hook, which runs when all tasks have ended"
            raise _ProblemError(Reason.WORKFLOW_INVALID, message)
        return frozenset(before)

    def producers(self, group: MappedGroup) -> frozenset[str]:
        """The tasks that produce the lists of a group."""
        where, expressions = f"group {group.name}", self.expressions.groups[group.name]
        for expression in expressions:
            self._check_producer_outside(group, expression)
        self._check_run_fields(where, expressions, hook=False)
        producers = self._referred(where, expressions, self._around(group))
        if hooks := self._hooks(producers):
            message = f"{where} maps over the result of {hooks[0]}, a hook, which runs when all tasks have ended"
            raise _ProblemError(Reason.WORKFLOW_INVALID, message)
        return producers

    def check_run(self) -> None:
        """Check the expressions that belong to no task, such as the result of the run."""
        referred = self._referred("spec", self.expressions.run, (), mapped=False)
        self._check_run_fields("spec", self.expressions.run, hook=False)
        if hooks := self._hooks(referred):
            message = f"spec.result uses {hooks[0]}, a hook, which runs when the result is known"
            raise _ProblemError(Reason.WORKFLOW_INVALID, message)

    def _check_producer_outside(self, group: MappedGroup, located: resolve.LocatedExpression) -> None:
        refs = self.expressions.refs[located]
        inside = sorted(refs.tasks & self._members(group.name)) if not isinstance(refs, ExpressionError) else []
        if inside:
            message = f"group {group.name}: {located.field}: task {inside[0]} is in the group whose list it produces"
            raise _ProblemError(Reason.WORKFLOW_INVALID, message)

    def _members(self, group: str) -> frozenset[str]:
        """The tasks in a group and in the groups inside it."""
        return frozenset(task for task, chain in self.chains.items() if group in chain)

    def _around(self, group: MappedGroup) -> Chain:
        """The groups that contain a group."""
        inside = next((chain for chain in self.chains.values() if group.name in chain), ())
        return inside[: inside.index(group.name)] if inside else ()

    def _hooks(self, names: Iterable[str]) -> list[str]:
        return sorted(name for name in names if self.tasks[name].hook is not None)

    def _after(self, where: str, name: str) -> frozenset[str]:
        """The tasks that an entry of `after` names: one task, or all of a group."""
        if any(group.name == name for group in self.spec.groups):
            return self._members(name)
        if name not in self.tasks:
            raise _ProblemError(Reason.WORKFLOW_INVALID, _unknown(f"{where}: after: {name}", "task", name, self.tasks))
        return frozenset({name})

    def _referred(
        self, where: str, expressions: Iterable[resolve.LocatedExpression], chain: Chain, *, mapped: bool = True
    ) -> frozenset[str]:
        names = (self._references(where, expression, chain, mapped=mapped).tasks for expression in expressions)
        return frozenset[str]().union(*names)

    def _references(
        self, where: str, located: resolve.LocatedExpression, chain: Chain, *, mapped: bool
    ) -> references.References:
        """What an expression in these groups refers to; `mapped`: whether its task is mapped, so that it has items."""
        where, refs = f"{where}: {located.field}", self.expressions.refs[located]
        if isinstance(refs, ExpressionError):
            raise _ProblemError(refs.reason, f"{where}: {refs.message}{located.hint or _shell_hint(located.field)}")
        self._check_names(where, refs)
        self._check_visibility(where, refs, chain, mapped=mapped)
        return refs

    def _check_names(self, where: str, refs: references.References) -> None:
        if groups := sorted(refs.tasks & {group.name for group in self.spec.groups}):
            message = f"{where}: {groups[0]} is a group: name a task in it, as in tasks.x.results"
            raise _ProblemError(Reason.WORKFLOW_INVALID, message)
        for kind, names, known in (("task", refs.tasks, self.tasks), ("param", refs.params, self.spec.params)):
            for name in sorted(names - known.keys()):
                raise _ProblemError(Reason.WORKFLOW_INVALID, _unknown(where, kind, name, known))
        if VARIABLES in refs.roots and self.spec.variables_from is None:
            message = f"{where}: no variables: set spec.variablesFrom to the name of a ConfigMap"
            raise _ProblemError(Reason.WORKFLOW_INVALID, message)

    def _check_visibility(self, where: str, refs: references.References, chain: Chain, *, mapped: bool) -> None:
        for root, name, field in sorted(refs.parts, key=str):
            if root == GROUPS:
                self._check_group_field(where, name, field, chain)
            if root == MAPPING and not mapped and name != "index":
                message = f"{where}: the task is not mapped and has no item: mapping has only `index`"
                message += f"; the item of its group is groups.{chain[-1]}.value" if chain else ""
                raise _ProblemError(Reason.EXPRESSION_INVALID, message)
        for name, field in sorted(refs.fields, key=str):
            problem = self._field_problem(name, field, chain)
            if problem is not None:
                raise _ProblemError(Reason.EXPRESSION_INVALID, f"{where}: {problem}")

    def _check_run_fields(self, where: str, expressions: Iterable[resolve.LocatedExpression], *, hook: bool) -> None:
        for located in expressions:
            refs = self.expressions.refs[located]
            parts = frozenset[tuple[str, str, str | None]]() if isinstance(refs, ExpressionError) else refs.parts
            for name in sorted({name for root, name, _ in parts if root == RUN}):
                if (problem := run_root.problem(name, hook=hook)) is not None:
                    raise _ProblemError(Reason.EXPRESSION_INVALID, f"{where}: {located.field}: {problem}")

    def _check_group_field(self, where: str, name: str, field: str | None, chain: Chain) -> None:
        if all(group.name != name for group in self.spec.groups):
            known = {group.name: group for group in self.spec.groups}
            raise _ProblemError(Reason.WORKFLOW_INVALID, _unknown(where, "group", name, known))
        if name not in chain:
            groups = ", ".join(chain) or "none"
            raise _ProblemError(Reason.WORKFLOW_INVALID, f"{where}: it is not in group {name}; its groups: {groups}")
        if field not in {"index", "key", "value", None}:
            message = f"{where}: groups.{name}.{field}: a group has `index`, `key` and `value`"
            raise _ProblemError(Reason.EXPRESSION_INVALID, message)

    def _field_problem(self, name: str, field: str | None, chain: Chain) -> str | None:
        """What is wrong with a field of a task, as seen from these groups: `result` is one, `results` are several."""
        several = self.tasks[name].mapped or common(chain, self.chains[name]) < len(self.chains[name])
        right = "results" if several else "result"
        match field:
            case "state" | "indexes":
                return None
            case "result" | "results":
                kind = "is mapped" if several else "has the same group index" if chain else "is not mapped"
                return None if field == right else f"task {name} {kind}: write tasks.{name}.{right}"
            case None:
                return f"tasks.{name} has no value of its own: write tasks.{name}.{right}"
            case _:
                return f"tasks.{name}.{field}: a task has `result`, `results`, `indexes` and `state`"


def _shell_hint(field: str) -> str:
    """How to write a variable of the shell, where an invalid expression may be meant as one."""
    shell = field.startswith((resolve.CONTAINER, resolve.ENV))
    return "; for a variable of the shell write $${NAME}, or $NAME" if shell else ""


def _unknown(where: str, kind: str, name: str, known: Mapping[str, object]) -> str:
    listed = ", ".join(sorted(known)[:20]) or "none"
    return f"{where}: unknown {kind} {name}; {kind}s: {listed}"

"""The expressions of a spec: found, counted and parsed once, in steps between which a caller can pause. Pure.

A Workflow of 1.2 MB could hold 20,000 expressions, whose parsing takes 20 s. So their number and size are limited, and
no step parses more than one.
"""

from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

from torpor_crds.models.workflow import WorkflowSpec
from torpor_expressions import references, syntax
from torpor_expressions.errors import ExpressionError
from torpor_expressions.references import References
from torpor_expressions.syntax import Parsed
from torpor_wire import constants

from torpor_operator.expressions import pod_texts, resolve
from torpor_operator.expressions.resolve import LocatedExpression

Referred: TypeAlias = Mapping[LocatedExpression, References | ExpressionError]
"""What each expression refers to, or what is wrong with it."""
Cost: TypeAlias = int
"""What a step costs, in characters: parsing one takes about 10 microseconds."""
_STEP_COST = 50
"""The cost of any step, which a short expression does not save."""
_POD_SHARE = 50
"""Characters of pod fields whose reading costs as much as parsing one: at worst 0.2 microseconds each."""
_POD_MAX = 256 * 1024
"""Characters of the pod fields of a task, which one step reads."""
_DEFAULTS_MAX = 80 * 1024
"""Characters of the pod fields that all tasks have: 48 KiB of the author, 16 KiB each of namespace and installation."""
_TOO_MANY = (
    f"the Workflow has more than {constants.EXPRESSIONS_MAX:,} expressions, or more than "
    f"{constants.EXPRESSIONS_BYTES_MAX // 1024} kB of them: compute values in a task, or split the Workflow"
)


class SpecTooLargeError(ValueError):
    """The spec has more expressions, or larger pod fields, than the operator reads. The message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpecExpressions:
    """The expressions of the run, each task and group, and what each refers to, or what is wrong with it."""

    run: tuple[LocatedExpression, ...]
    tasks: Mapping[str, tuple[LocatedExpression, ...]]
    groups: Mapping[str, tuple[LocatedExpression, ...]]
    refs: Referred
    parsed: tuple[Parsed, ...]  # held as long as the graph, so that no plan parses them again


def read(spec: WorkflowSpec) -> Generator[Cost, None, SpecExpressions]:
    """Find and parse the expressions of the spec. Raises SpecTooLargeError before it parses the first."""
    tasks: dict[str, tuple[LocatedExpression, ...]] = {}
    groups: dict[str, tuple[LocatedExpression, ...]] = {}
    if spec.defaults is not None:
        _check_size("the pod fields of spec.defaults have", pod_texts.size(spec.defaults.pod), _DEFAULTS_MAX)
    limit = _Limit()
    groups_of_author = resolve.are_of_author(spec.groups)
    for task in spec.tasks:
        pod_size = pod_texts.size(task.pod)
        _check_size(f"task {task.name}: the fields of its pod have", pod_size, _POD_MAX)
        of_task = resolve.task_expressions(task, spec.image, groups_of_author=groups_of_author)
        tasks[task.name] = limit.counted(of_task)
        yield _STEP_COST + pod_size // _POD_SHARE
    for group in spec.groups:
        groups[group.name] = limit.counted(resolve.group_expressions(group))
        yield _STEP_COST
    of_run = limit.counted(resolve.run_expressions(spec))
    located = chain.from_iterable((*tasks.values(), *groups.values(), of_run))
    refs, parsed = yield from _parse(located)
    return SpecExpressions(run=of_run, tasks=tasks, groups=groups, refs=refs, parsed=parsed)


def _check_size(what: str, size: int, limit: int) -> None:
    if size > limit:
        raise SpecTooLargeError(f"{what} {size:,} characters; the limit is {limit:,}: mount a ConfigMap")


def _parse(expressions: Iterable[LocatedExpression]) -> Generator[Cost, None, tuple[Referred, tuple[Parsed, ...]]]:
    """Parse the expressions. Each step parses one."""
    refs: dict[LocatedExpression, References | ExpressionError] = {}
    parsed: dict[str, Parsed] = {}
    for located in expressions:
        expression, roots = located.expression, located.roots
        if isinstance(expression, ExpressionError):
            refs[located] = expression
            continue
        if isinstance(held := syntax.parse(expression), Parsed):
            parsed[expression] = held
        refs[located] = syntax.check(expression, roots=roots) or references.find(expression, roots=roots)
        yield _STEP_COST + len(expression)
    return refs, tuple(parsed.values())


@dataclass(slots=True)
class _Limit:
    """How many expressions were counted, and their bytes."""

    count: int = 0
    size: int = 0

    def counted(self, expressions: Iterable[LocatedExpression]) -> tuple[LocatedExpression, ...]:
        """The expressions. Raises SpecTooLargeError at the first that exceeds a limit."""
        kept: list[LocatedExpression] = []
        for located in expressions:
            self.count += 1
            self.size += len(located.expression.encode()) if isinstance(located.expression, str) else 0
            if self.count > constants.EXPRESSIONS_MAX or self.size > constants.EXPRESSIONS_BYTES_MAX:
                raise SpecTooLargeError(_TOO_MANY)
            kept.append(located)
        return tuple(kept)

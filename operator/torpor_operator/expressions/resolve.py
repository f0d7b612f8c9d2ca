"""Where the expressions of a task are, and the values of its fields once their expressions are known."""

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from torpor_crds.models.task import MappedGroup, Task
from torpor_expressions import references, template
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value

from torpor_operator.expressions.context import GROUPS, MAPPING, PARAMS, ROOTS, RUN, Pending
from torpor_operator.model.actions import Need

LIST_ROOTS = ROOTS | {GROUPS}
INSTANCE_ROOTS = LIST_ROOTS | {MAPPING}
CONTAINER, ENV = "container", "pod.env"
EVENT_ROOTS = frozenset({"event", PARAMS, RUN})


class Evaluates(Protocol):
    """What the expressions see, such as `Scope`."""

    def evaluate(self, expression: str) -> Value | ExpressionError | Pending:
        """The value of an expression."""


class LocatedExpression(NamedTuple):
    """An expression, the field it is in, and the names it may use; `expression` is an error if it does not parse."""

    field: str
    expression: str | ExpressionError
    roots: frozenset[str]


def task_expressions(task: Task) -> Iterator[LocatedExpression]:
    """Every expression of the task."""
    if task.when is not None:
        yield LocatedExpression("when", unwrap(task.when), INSTANCE_ROOTS)
    for name, value in task.args.items():
        yield from _located(f"args: {name}", value, INSTANCE_ROOTS)
    for entry in task.expand:
        yield from _located(f"expand {entry.name}", entry.over, LIST_ROOTS)
    yield from _located("expandKwargs", task.expand_kwargs, LIST_ROOTS)
    yield from _located("displayName", task.display_name, INSTANCE_ROOTS)
    yield from _of_pod(task, INSTANCE_ROOTS)
    if task.trigger is not None:
        for name, value in task.trigger.kwargs.items():
            yield from _located(f"trigger: {name}", value, INSTANCE_ROOTS)
    for field, text in (("result", task.result), ("failWhen", task.fail_when)):
        if text is not None:
            yield LocatedExpression(field, text, EVENT_ROOTS)


def _of_pod(task: Task, roots: frozenset[str]) -> Iterator[LocatedExpression]:
    if task.container is not None:
        for field, words in (("command", task.container.command), ("args", task.container.args)):
            yield from _located(f"{CONTAINER}.{field}", list(words), roots)
    for variable in task.pod.env if task.pod is not None else ():
        yield from _located(f"{ENV}: {variable.name}", variable.value, roots)


def group_expressions(group: MappedGroup) -> Iterator[LocatedExpression]:
    """Every expression of a group; they see the groups around it."""
    for entry in group.expand:
        yield from _located(f"expand {entry.name}", entry.over, LIST_ROOTS)


def differs_per_instance(value: JSON) -> bool:
    """Whether a value differs between instances, since its expressions use `mapping`."""
    return any(uses_mapping(expression) for expression in embedded(value))


def uses_mapping(expression: str) -> bool:
    """Whether an expression uses `mapping`."""
    parsed = references.find(expression, roots=INSTANCE_ROOTS)
    return not isinstance(parsed, ExpressionError) and MAPPING in parsed.roots


def embedded(value: JSON) -> tuple[str, ...]:
    """The expressions in the strings of a value; none if one does not parse."""
    parsed = template.expressions(value)
    return () if isinstance(parsed, ExpressionError) else parsed


def resolve_value(value: JSON, scope: Evaluates) -> Value | ExpressionError | Pending:
    """The value with every `${...}` in its strings replaced; results of expressions are not parsed again."""
    results = evaluate_embedded(value, scope)
    if not isinstance(results, dict):
        return results
    rendered = template.substitute(value, results)
    return rendered if isinstance(rendered, ExpressionError) else Value(json=rendered)


def evaluate_embedded(value: JSON, scope: Evaluates) -> dict[str, JSON] | ExpressionError | Pending:
    """The result of each `${...}` in the strings of a value, by its expression."""
    parsed = template.expressions(value)
    if isinstance(parsed, ExpressionError):
        return parsed
    results: dict[str, JSON] = {}
    needs: list[Need] = []
    for expression in parsed:
        match scope.evaluate(expression):
            case Value(json=json):
                results[expression] = json
            case Pending(more):
                needs += more
            case error:
                return error
    return Pending(tuple(needs)) if needs else results


def unwrap(expression: str) -> str:
    """The expression of a `when`, which is CEL already; `${...}` around it is allowed."""
    return sole_expression(expression) or expression


def sole_expression(value: JSON) -> str | None:
    """The expression of a string that is one `${...}` and nothing else."""
    parsed = template.parse(value) if isinstance(value, str) else None
    return parsed.single if isinstance(parsed, template.StringTemplate) else None


def _located(field: str, value: JSON, roots: frozenset[str]) -> Iterator[LocatedExpression]:
    parsed = template.expressions(value)
    if isinstance(parsed, ExpressionError):
        yield LocatedExpression(field, parsed, roots)
        return
    for expression in parsed:
        yield LocatedExpression(field, expression, roots)

"""The values a task is given: where its expressions stand, and the values once those are answered."""

from collections.abc import Iterator
from typing import NamedTuple

from torpor_api.models.task import Group, Task
from torpor_cel import references, template
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON, Value

from torpor_operator.expressions.context import GROUPS, MAPPING, ROOTS, RUN, Pending, Scope
from torpor_operator.model.actions import Need

OF_LIST = ROOTS | {GROUPS}
OF_INSTANCE = OF_LIST | {MAPPING}
CONTAINER, ENV = "container", "pod.env"
OF_EVENT = frozenset({"event", "params"})


class Place(NamedTuple):
    """Where an expression stands, and which names it may use; `expression` is an error where it cannot be read."""

    where: str
    expression: str | ExpressionError
    roots: frozenset[str]


def expressions(task: Task) -> Iterator[Place]:
    """Every expression of the task."""
    run = frozenset({RUN}) if task.hook is not None else frozenset[str]()
    if task.when is not None:
        yield Place("when", bare(task.when), OF_INSTANCE | run)
    for name, value in task.args.items():
        yield from _within(f"args: {name}", value, OF_INSTANCE | run)
    for entry in task.expand:
        yield from _within(f"expand {entry.name}", entry.over, OF_LIST | run)
    yield from _within("expandKwargs", task.expand_kwargs, OF_LIST | run)
    yield from _within("displayName", task.display_name, OF_INSTANCE | run)
    yield from _of_pod(task, OF_INSTANCE | run)
    if task.trigger is not None:
        for name, value in task.trigger.kwargs.items():
            yield from _within(f"trigger: {name}", value, OF_INSTANCE | run)
    for where, text in (("result", task.result), ("failWhen", task.fail_when)):
        if text is not None:
            yield Place(where, text, OF_EVENT)


def _of_pod(task: Task, roots: frozenset[str]) -> Iterator[Place]:
    if task.container is not None:
        for where, words in (("command", task.container.command), ("args", task.container.args)):
            yield from _within(f"{CONTAINER}.{where}", list(words), roots)
    for variable in task.pod.env if task.pod is not None else ():
        yield from _within(f"{ENV}: {variable.name}", variable.value, roots)


def of_group(group: Group) -> Iterator[Place]:
    """Every expression of a group, which sees the groups around it."""
    for entry in group.expand:
        yield from _within(f"expand {entry.name}", entry.over, OF_LIST)


def of_instance(value: JSON) -> bool:
    """Whether a value differs from instance to instance, since its expressions use `mapping`."""
    return any(uses_mapping(one) for one in within(value))


def uses_mapping(expression: str) -> bool:
    """Whether an expression uses `mapping`."""
    found = references.of(expression, roots=OF_INSTANCE | {RUN})
    return not isinstance(found, ExpressionError) and MAPPING in found.roots


def within(value: JSON) -> tuple[str, ...]:
    """The expressions in the strings of a value; none where they cannot be read."""
    found = template.expressions(value)
    return () if isinstance(found, ExpressionError) else found


def resolve(value: JSON, scope: Scope) -> Value | ExpressionError | Pending:
    """The value with every `${...}` in its strings replaced; what an expression yields is not parsed again."""
    results = evaluated(value, scope)
    if not isinstance(results, dict):
        return results
    rendered = template.substitute(value, results)
    return rendered if isinstance(rendered, ExpressionError) else Value(json=rendered)


def evaluated(value: JSON, scope: Scope) -> dict[str, JSON] | ExpressionError | Pending:
    """What each `${...}` in the strings of a value yields, by its expression."""
    found = template.expressions(value)
    if isinstance(found, ExpressionError):
        return found
    results: dict[str, JSON] = {}
    needs: list[Need] = []
    for expression in found:
        match scope.evaluate(expression):
            case Value(json=json):
                results[expression] = json
            case Pending(wanted):
                needs += wanted
            case error:
                return error
    return Pending(tuple(needs)) if needs else results


def bare(expression: str) -> str:
    """A `when` is CEL already; one that was written as `${...}` all the same means what is inside."""
    return single(expression) or expression


def single(value: JSON) -> str | None:
    """The expression that a string is, where it is one and nothing else."""
    parsed = template.parse(value) if isinstance(value, str) else None
    return parsed.single if isinstance(parsed, template.Template) else None


def _within(where: str, value: JSON, roots: frozenset[str]) -> Iterator[Place]:
    found = template.expressions(value)
    if isinstance(found, ExpressionError):
        yield Place(where, found, roots)
        return
    for expression in found:
        yield Place(where, expression, roots)

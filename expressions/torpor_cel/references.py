"""The dependencies of an expression, from its syntax tree.

A reference to `tasks.x` is a dependency of the task with the expression, so it must be readable without evaluation: a
computed task name is rejected. Pure.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from torpor_cel import ast, errors, syntax
from torpor_cel.errors import ExpressionError
from torpor_cel.syntax import ROOTS, Use

TASKS = "tasks"
PARAMS = "params"
_BY_REFERENCE = frozenset({"result", "results"})


class TaskField(NamedTuple):
    """A task and its first field; None if the whole task or a computed field is used."""

    name: str
    field: str | None


class Plain(NamedTuple):
    """An expression that is only a task's `result` or `results`, so it can be passed by reference."""

    root: str
    name: str
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class References:
    """The names that an expression uses, without the variables of macros."""

    tasks: frozenset[str]
    params: frozenset[str]
    roots: frozenset[str]
    fields: frozenset[TaskField]
    parts: frozenset[tuple[str, str, str | None]]  # each root with two levels of fields


def of(expression: str, *, roots: frozenset[str] = ROOTS) -> References | ExpressionError:
    """Return the references of a valid expression, else the error of `syntax.check` or the name that cannot be read.

    `params` may be used as a whole or with a computed key, because all params are known; such a use names no param.
    """
    parsed = syntax.parse(expression, roots=roots)
    if isinstance(parsed, ExpressionError):
        return parsed
    of_tasks = [use for use in parsed.uses if use.root == TASKS]
    for use in of_tasks:
        if use.first is None:
            return _computed(expression, use)
    fields = frozenset(TaskField(name, use.second.field if use.second else None) for use, name in _named(of_tasks))
    return References(
        tasks=frozenset(field.name for field in fields),
        params=frozenset(name for use, name in _named(parsed.uses) if use.root == PARAMS),
        roots=parsed.roots,
        fields=fields,
        parts=frozenset(
            (use.root, name, use.second.field if use.second else None) for use, name in _named(parsed.uses)
        ),
    )


def is_plain(expression: str) -> Plain | None:
    """Return task and field if the expression is exactly `tasks.NAME.result` or `tasks.NAME.results`."""
    parsed = syntax.parse(expression)
    if isinstance(parsed, ExpressionError):
        return None
    match parsed.node:
        case ast.Field(
            operand=ast.Field(operand=ast.Name(name="tasks"), field=name, value=True), field=field, value=True
        ) if field in _BY_REFERENCE:
            return Plain(TASKS, name, field)
        case _:
            return None


def path(expression: str, *, roots: frozenset[str] = ROOTS) -> tuple[str, ...] | None:
    """Return the names of an expression that is a root with fields only, such as `mapping.value.city`."""
    parsed = syntax.parse(expression, roots=roots)
    node = None if isinstance(parsed, ExpressionError) else parsed.node
    names: list[str] = []
    while isinstance(node, ast.Field) and node.value:
        names.append(node.field)
        node = node.operand
    return (node.name, *reversed(names)) if isinstance(node, ast.Name) and node.name in roots else None


def _named(uses: Iterable[Use]) -> list[tuple[Use, str]]:
    return [(use, use.first.field) for use in uses if use.first is not None]


def _computed(expression: str, use: Use) -> ExpressionError:
    where = syntax.position(expression, use.name.at)
    return errors.invalid(
        f"'tasks' at {where} needs a literal task name, such as tasks.load or tasks['load']: "
        "dependencies are read before evaluation"
    )

"""The dependencies of an expression, from its syntax tree.

A reference to `tasks.x` is a dependency of the task with the expression, so it must be readable without evaluation: a
computed task name is rejected. Pure.
"""

from dataclasses import dataclass
from typing import NamedTuple

from torpor_expressions import errors, syntax
from torpor_expressions.errors import ExpressionError
from torpor_expressions.syntax import ROOTS, Use

TASKS = "tasks"
PARAMS = "params"
_BY_REFERENCE = frozenset({"result", "results"})


class TaskField(NamedTuple):
    """A task and its first field; None if the whole task or a computed field is used."""

    name: str
    field: str | None


class PlainReference(NamedTuple):
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


def find(expression: str, *, roots: frozenset[str] = ROOTS) -> References | ExpressionError:
    """Return the references of an expression, else the error of `syntax.read` or the name that cannot be read.

    `params` may be used as a whole or with a computed key, because all params are known; such a use names no param.
    """
    parsed = syntax.read(expression, roots=roots)
    if isinstance(parsed, ExpressionError):
        return parsed
    named = [(use.root, use.first, use.second) for use in parsed.uses if use.first is not None and use.root in roots]
    for use in parsed.uses:
        if use.root == TASKS and use.first is None:
            return _computed(expression, use)
    fields = frozenset(TaskField(name, field) for root, name, field in named if root == TASKS)
    return References(
        tasks=frozenset(field.name for field in fields),
        params=frozenset(name for root, name, _ in named if root == PARAMS),
        roots=parsed.roots(roots),
        fields=fields,
        parts=frozenset(named),
    )


def is_plain(expression: str) -> PlainReference | None:
    """Return task and field if the expression is exactly `tasks.NAME.result` or `tasks.NAME.results`."""
    match path(expression):
        case ("tasks", name, field) if field in _BY_REFERENCE:
            return PlainReference(TASKS, name, field)
        case _:
            return None


def path(expression: str, *, roots: frozenset[str] = ROOTS) -> tuple[str, ...] | None:
    """Return the names of an expression that is a root with fields only, such as `mapping.value.city`."""
    parsed = syntax.parse(expression)
    names = () if isinstance(parsed, ExpressionError) else parsed.path
    return names if names and names[0] in roots else None


def _computed(expression: str, use: Use) -> ExpressionError:
    where = syntax.position(expression, use.at)
    return errors.invalid(
        f"'tasks' at {where} needs a literal task name, such as tasks.load or tasks['load']: "
        "dependencies are read before evaluation"
    )

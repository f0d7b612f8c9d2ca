"""Evaluates expressions of a Workflow that need no earlier task: params, constant lists, items of groups. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torpor_expressions import evaluation, references, template
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import Value

_ROOTS = frozenset({"params", "tasks", "variables", "mapping", "groups", "run"})
Known = Mapping[str, Any]
"""The values of the roots that are known, such as `params`."""


@dataclass(frozen=True, slots=True)
class UnknownValue:
    """An expression that only a run can evaluate."""

    expression: str


class InvalidExpressionError(ValueError):
    """An expression that fails with the values that are known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownItem:
    """An item of a list: what `mapping` or `groups.NAME` shows, and the argument."""

    key: Any
    value: Any
    argument: Any


def evaluated(value: Any, known: Known) -> Any:
    """Return a value with every `${...}` in its strings replaced, or UnknownValue. Raises InvalidExpressionError."""
    parsed = template.expressions(value)
    if isinstance(parsed, ExpressionError):
        raise InvalidExpressionError(parsed.message)
    results: dict[str, Any] = {}
    for expression in parsed:
        result = _evaluated(expression, known)
        if isinstance(result, UnknownValue):
            return result
        results[expression] = result
    rendered = template.substitute(value, results)
    if isinstance(rendered, ExpressionError):
        raise InvalidExpressionError(rendered.message)
    return rendered


def _evaluated(expression: str, known: Known) -> Any:
    parsed = references.find(expression, roots=_ROOTS)
    if isinstance(parsed, ExpressionError):
        raise InvalidExpressionError(parsed.message)
    if not parsed.roots <= known.keys() or not _groups(parsed) <= (known.get("groups") or {}).keys():
        return UnknownValue(expression)
    match evaluation.evaluate(expression, known):
        case Value(json=value):
            return value
        case error:
            raise InvalidExpressionError(error.message)


def _groups(parsed: references.References) -> frozenset[str]:
    return frozenset(name for root, name, _ in parsed.parts if root == "groups")


def items(entries: list[Mapping[str, Any]], index: int, known: Known) -> Iterator[tuple[str, KnownItem | UnknownValue]]:
    """Yield the item of each entry of an `expand` at an index. The last entry changes fastest.

    Raises InvalidExpressionError for an index beyond the end.
    """
    left = index
    chosen: list[tuple[str, KnownItem | UnknownValue]] = []
    for entry in reversed(entries):
        over = evaluated(entry["over"], known)
        if isinstance(over, UnknownValue):
            chosen.append((entry["name"], over))
            continue
        listed = _listed(over)
        if not listed:
            raise InvalidExpressionError(f"the list of {entry['name']} is empty")
        left, place = divmod(left, len(listed))
        chosen.append((entry["name"], listed[place]))
    if left and not any(isinstance(item, UnknownValue) for _, item in chosen):
        raise InvalidExpressionError(f"there is no instance {index}")
    yield from reversed(chosen)


def _listed(over: Any) -> list[KnownItem]:
    match over:
        case list():
            return [KnownItem(key=place, value=value, argument=value) for place, value in enumerate(over)]
        case dict():
            return [KnownItem(key=key, value=value, argument=[key, value]) for key, value in over.items()]
        case _:
            raise InvalidExpressionError(f"it is mapped over {type(over).__name__}, not over a list or an object")


def scope_of(index: int, items_by_name: Mapping[str, KnownItem]) -> dict[str, Any]:
    """Return what expressions see of these items: `index`, `key` and `value`, by name if there are several."""
    if len(items_by_name) == 1:
        (item,) = items_by_name.values()
        return {"index": index, "key": item.key, "value": item.value}
    keys = {name: item.key for name, item in items_by_name.items()}
    return {"index": index, "key": keys, "value": {name: item.value for name, item in items_by_name.items()}}

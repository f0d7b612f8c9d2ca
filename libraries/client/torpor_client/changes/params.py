"""Values for `spec.params` from the command line. Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from torpor_client import errors


def parse(pairs: Iterable[str], declared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `NAME=VALUE` texts for the params that a Workflow declares. Raises UsageError.

    A param that is a string stays one. For all others the value is JSON.
    """
    values: dict[str, Any] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise errors.UsageError(f"-p {pair!r} has no value; write -p NAME=VALUE")
        check_names([name], declared)
        values[name] = _value(name, text, declared[name])
    return values


def check_names(names: Iterable[str], declared: Mapping[str, Any]) -> None:
    """Raise UsageError for a param that the Workflow does not declare."""
    for name in names:
        if name not in declared:
            hint = f"spec.params has {', '.join(declared) or 'none'}"
            raise errors.UsageError(str(errors.unknown("param", name, declared, hint)))


def _value(name: str, text: str, default: Any) -> Any:
    if isinstance(default, str):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        if default is None:
            return text
        raise errors.UsageError(
            f"-p {name}={text}: the default is {json.dumps(default)}; write JSON of this type"
        ) from None
    if default is not None and _kind(value) != _kind(default):
        raise errors.UsageError(f"-p {name}={text}: the default is {json.dumps(default)}; write JSON of this type")
    return value


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "boolean"
        case int() | float():
            return "number"
        case str():
            return "string"
        case list():
            return "list"
        case Mapping():
            return "object"
        case _:
            return "null"

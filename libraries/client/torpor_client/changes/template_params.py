"""Values for the params of a WorkflowTemplate from the command line, checked as the template declares them. Pure."""

import json
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from torpor_client import errors

Parameters = Mapping[str, Mapping[str, Any]]
"""The entries of a template's `spec.params` by name."""
_DESCRIBED = {
    "string": "a string",
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "array": "an array",
    "object": "an object",
}
"""Each type as the operator names it."""


def declared(template: Mapping[str, Any]) -> Parameters:
    """Return the params that a run of the template can set."""
    return {str(param["name"]): param for param in template["spec"].get("params") or ()}


def parse(pairs: Iterable[str], given: Mapping[str, Any], template: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of `NAME=VALUE` texts, and `given` for the other params. Raises UsageError.

    The value of a param of type string is the text, of any other type JSON.
    """
    known = declared(template)
    values = dict(given)
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not equals:
            raise errors.UsageError(f"-p {pair!r} has no value; write -p NAME=VALUE")
        _check_name(name, known, template)
        values[name] = _parsed(name, text, known[name])
    for name, value in values.items():
        _check_name(name, known, template)
        _check_value(name, value, known[name])
    return values


def check_required(values: Mapping[str, Any], template: Mapping[str, Any]) -> None:
    """Raise UsageError if a run with these values lacks a param that it must set."""
    for name in missing(values, template):
        title = template["metadata"]["name"]
        raise errors.UsageError(f"param {name} is missing: template {title} requires it; add -p {name}=...")


def missing(names: Collection[str], template: Mapping[str, Any]) -> list[str]:
    """Return the params that a run must set, and that are not among these."""
    return [
        name
        for name, param in declared(template).items()
        if param.get("required") and param.get("default") is None and name not in names
    ]


def check_name(name: str, template: Mapping[str, Any]) -> None:
    """Raise UsageError for a param that a run of the template cannot set."""
    _check_name(name, declared(template), template)


def _check_name(name: str, known: Parameters, template: Mapping[str, Any]) -> None:
    if name in known:
        return
    title = template["metadata"]["name"]
    if name in (template["spec"]["workflow"].get("params") or {}):
        raise errors.UsageError(f"param {name} cannot be set: it is a constant of template {title}")
    hint = f"template {title} has {', '.join(known) or 'none'}"
    raise errors.UsageError(str(errors.unknown("param", name, known, hint)))


def _parsed(name: str, text: str, parameter: Mapping[str, Any]) -> Any:
    kind = _kind(parameter)
    if kind == "string":
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise errors.UsageError(f"-p {name}={text}: the value must be {_DESCRIBED.get(kind, kind)}, as JSON") from None


def _check_value(name: str, value: Any, parameter: Mapping[str, Any]) -> None:
    kind = _kind(parameter)
    if not _fits(kind, value):
        wanted = _DESCRIBED.get(kind, kind)
        raise errors.UsageError(f"param {name} must be {wanted}, not {_shown(value)}")
    allowed = parameter.get("enum")
    if allowed is not None and value not in allowed:
        listed = ", ".join(map(_shown, allowed))
        raise errors.UsageError(f"param {name} must be one of {listed}, not {_shown(value)}")


def _shown(value: Any) -> str:
    match value:
        case list():
            return "a list"
        case dict():
            return "an object"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _kind(parameter: Mapping[str, Any]) -> str:
    return str(parameter.get("type") or "string")


def _fits(kind: str, value: Any) -> bool:
    match kind:
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "integer":
            return isinstance(value, int) and not isinstance(value, bool)
        case "number":
            return isinstance(value, int | float) and not isinstance(value, bool)
        case "array":
            return isinstance(value, list)
        case "object":
            return isinstance(value, dict)
        case _:  # a type of a newer version
            return True

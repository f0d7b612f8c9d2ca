"""The params of a DAG as those of a WorkflowTemplate. Airflow checks the whole JSON schema again in each task. Pure."""

from collections.abc import Mapping
from typing import Any

from torpor_airflow.conversion import names

CONF: Mapping[str, Any] = {
    "name": "conf",
    "type": "object",
    "default": {},
    "description": "dag_run.conf, as in a run with a configuration",
}
_TYPES = {"string", "integer", "number", "boolean", "array", "object"}
_PATTERN_MAX = 256
_ENUM_MAX = 100
_OF_VALUES = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)


def convert(params: Mapping[str, Any]) -> tuple[list[Mapping[str, Any]], list[str]]:
    """Return the params of the template, and the names of those that a run sets in `conf` instead.

    `params` are Airflow's, by name: objects with `value`, `schema` and `description`.
    """
    declared: list[Mapping[str, Any]] = []
    others: list[str] = []
    for name, param in params.items():
        found = _param(name, param.value, param.schema or {}, param.description)
        if found is None:
            others.append(name)
        else:
            declared.append(found)
    return [*declared, CONF], others


def _param(name: str, value: Any, schema: Mapping[str, Any], description: str | None) -> Mapping[str, Any] | None:
    """Return a param, None if Torpor has no type for it."""
    kind = _type(value, schema)
    default = list(value) if isinstance(value, tuple | set) else value
    if kind is None or not names.is_param_name(name) or not _is_plain(default):
        return None
    written: dict[str, Any] = {"name": name, "type": kind}
    if default is None and "null" not in _types(schema):
        written["required"] = True
    elif default is not None:
        written["default"] = default
    choices = schema.get("enum")
    if isinstance(choices, list) and len(choices) <= _ENUM_MAX and None not in choices and _is_plain(choices):
        written["enum"] = choices
    pattern = schema.get("pattern")
    if kind == "string" and isinstance(pattern, str) and 0 < len(pattern) <= _PATTERN_MAX and _is_anchored(pattern):
        written["pattern"] = pattern[1:-1]
    text = description or schema.get("description") or schema.get("title")
    return written | ({"description": str(text)[:1024]} if text else {})


def _types(schema: Mapping[str, Any]) -> list[str]:
    given = schema.get("type", [])
    return [given] if isinstance(given, str) else [str(each) for each in given]


def _type(value: Any, schema: Mapping[str, Any]) -> str | None:
    wanted = [each for each in _types(schema) if each != "null"]
    if len(wanted) == 1 and wanted[0] in _TYPES:
        return wanted[0]
    if wanted or schema.get("anyOf") or schema.get("oneOf"):
        return None
    return next((name for kind, name in _OF_VALUES if isinstance(value, kind)), None)


def _is_anchored(pattern: str) -> bool:
    """Whether a pattern of JSON schema, which finds a part of a text, means the whole text."""
    return pattern.startswith("^") and pattern.endswith("$") and "|" not in pattern and "(?" not in pattern


def _is_plain(value: Any) -> bool:
    match value:
        case None | bool() | int() | float() | str():
            return not isinstance(value, str) or "${" not in value
        case list():
            return all(map(_is_plain, value))
        case dict():
            return all(isinstance(key, str) and _is_plain(item) for key, item in value.items())
        case _:
            return False

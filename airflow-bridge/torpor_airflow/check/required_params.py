"""Values for the params of a DAG that have none: neither Airflow nor Torpor starts a run without them. Pure."""

from collections.abc import Mapping
from typing import Any

_OTHERS: Mapping[str, Any] = {"boolean": False, "array": [], "object": {}}


def samples(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for each param without a default. `params` are Airflow's, with `value` and `schema`."""
    return {
        name: _sample(param.schema or {}) for name, param in params.items() if type(param.value).__name__ == "ArgNotSet"
    }


def _sample(schema: Mapping[str, Any]) -> Any:
    given = schema.get("type", "string")
    kind = given if isinstance(given, str) else next((each for each in given if each != "null"), "null")
    if schema.get("enum"):
        return schema["enum"][0]
    if kind == "string":
        return "x" * max(1, int(schema.get("minLength", 1)))
    if kind in {"integer", "number"}:
        return schema.get("minimum", 0)
    return _OTHERS.get(kind)

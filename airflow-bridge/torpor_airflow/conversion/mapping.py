"""The lists that tasks and groups are mapped over. Each instance takes its own items from them by Airflow's code."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torpor_wire import canonical

from torpor_airflow.operators.call import MAPPED_PREFIX, RETURN_VALUE

_LITERAL_MAX = 100


class UnmappableError(Exception):
    """There is no form of this mapping in Torpor. The text says why."""


def expand(expand_input: Any, result_of: Callable[[Any], str]) -> Sequence[Mapping[str, Any]]:
    """Return the field `expand`. `result_of` is the expression of an operator's results. Raises UnmappableError."""
    if expand_input.EXPAND_INPUT_TYPE == "dict-of-lists":
        return [_entry(name, value, result_of) for name, value in expand_input.value.items()]
    return [_entry("kwargs", expand_input.value, result_of)]


def returned_value(result: str) -> str:
    """Return the expression of the value that a task returned, from that of a result that may have other XComs."""
    return f"(type({result}) == map && has({result}.__xcoms__) ? {_returned(result)} : {result})"


def returned_values(results: str) -> str:
    """Return the expression of the results of a mapped task without those whose instance returned None."""
    return f"{results}.filter(r, type(r) != map || !has(r.__xcoms__) || {_returned('r')} != null)"


def _returned(result: str) -> str:
    return f"{result}.__xcoms__.?{RETURN_VALUE}.orValue(null)"


def _entry(name: str, value: Any, result_of: Callable[[Any], str]) -> Mapping[str, Any]:
    argument = f"{MAPPED_PREFIX}{name}"[:40]
    if hasattr(value, "iter_references"):
        return {"name": argument, "over": f"${{{_list(value, result_of)}}}"}
    return {"name": argument, "over": _literal(value)}


def _literal(value: Any) -> Any:
    """Return a list of the file: itself if people can read it, otherwise the indexes of its items."""
    try:
        canonical.plain(value)
    except (canonical.NotJsonError, RecursionError):
        return [*range(len(value))]
    plain = len(value) <= _LITERAL_MAX and not any("${" in str(each) for each in value)
    return value if plain and isinstance(value, list | dict) else [*range(len(value))]


def _list(value: Any, result_of: Callable[[Any], str]) -> str:
    """Return the expression of a list that has as many items as Airflow maps over."""
    match type(value).__name__:
        case "PlainXComArg" if value.key == RETURN_VALUE:
            return result_of(value.operator)
        case "PlainXComArg":
            return f"{result_of(value.operator)}.__xcoms__['{value.key}']"
        case "MapXComArg":
            return _list(value.arg, result_of)
        case "ZipXComArg":
            name = "zip" if repr(value.fillvalue) == "NOTSET" or "ArgNotSet" in type(value.fillvalue).__name__ else ""
            parts = [_list(each, result_of) for each in value.args]
            return f"zip({', '.join(parts)})" if name else f"zipLongest({', '.join(parts)}, null)"
        case "ConcatXComArg":
            return f"concat({', '.join(_list(each, result_of) for each in value.args)})"
        case other:
            raise UnmappableError(f"a list of type {other}")

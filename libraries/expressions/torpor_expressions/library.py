"""Wraps the CEL library (cel-expr-python, based on Google's C++ implementation). Only this module imports it.

It translates exceptions and error texts to ExpressionError, and values to JSON. It also avoids defects of version
0.1.3: the library cuts strings at NUL, fails on unpaired surrogates, and loses a reference to None each time it returns
one, which crashes Python 3.11 eventually. So it checks the type of a value first and never takes a null from the
library.
"""

import base64
import datetime as dt
import json
import math
from collections.abc import Callable, Mapping
from functools import lru_cache

from cel_expr_python import cel  # type: ignore[import-untyped]
from cel_expr_python.ext import ext_encoders, ext_optional, ext_strings  # type: ignore[import-untyped]

from torpor_expressions import errors, functions, macros, map_order, messages
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value

_RAISED = (RuntimeError, TypeError, ValueError, MemoryError)
_KEYS = cel.Type.List(cel.Type.DYN)
_PLACES = cel.Type.List(cel.Type.INT)
_ANY = cel.Type.DYN
_INT64 = 2**63
_TEXT, _INT, _TIME = cel.Type.STRING, cel.Type.INT, cel.Type.TIMESTAMP
_OVERLOADS: dict[str, list[tuple[str, cel.Type, list[cel.Type], Callable[..., object]]]] = {
    "range": [
        ("range_to", _PLACES, [_INT], functions.range_to),
        ("range_between", _PLACES, [_INT, _INT], functions.range_between),
    ],
    "upper": [("upper", _TEXT, [_TEXT], functions.upper)],
    "lower": [("lower", _TEXT, [_TEXT], functions.lower)],
    "padStart": [("pad_start", _TEXT, [_TEXT, _INT, _TEXT], functions.padded)],
    "sha256": [
        ("sha256_bytes", _TEXT, [cel.Type.BYTES], functions.sha256),
        ("sha256_text", _TEXT, [_TEXT], functions.sha256_of_text),
    ],
    "date": [("date", _TIME, [_TEXT], functions.date)],
    "addMonths": [("add_months", _TIME, [_TIME, _INT], functions.add_months)],
    "strftime": [
        ("strftime", _TEXT, [_TIME, _TEXT], functions.format_time),
        ("strftime_in", _TEXT, [_TIME, _TEXT, _TEXT], functions.format_time_in),
    ],
}
_METHODS = frozenset({"upper", "lower", "padStart", "addMonths", "strftime"})
"""Those that are called as `text.upper()`."""


class CompiledExpression:
    """A compiled expression. It has no side effects, and no limit but 10,000 loop steps of the library."""

    __slots__ = ("_compiled",)

    def __init__(self, compiled: cel.Expression) -> None:
        self._compiled = compiled

    def run(self, variables: Mapping[str, JSON]) -> Value | ExpressionError:
        """Return the value over these variables, which must be exactly those it uses."""
        unfit = next((problem for name, value in variables.items() if (problem := _unfit(value, name))), None)
        if unfit is not None:
            return unfit
        try:
            return Value(json=_json(self._compiled.eval(data=dict(variables))))
        except _NotJSONError as error:
            return error.problem
        except _RAISED as error:
            return messages.raised(error)


def parse(expression: str) -> bytes | ExpressionError:
    """Return the syntax tree, serialized as cel.expr.ParsedExpr."""
    try:
        tree: bytes = _environment(frozenset()).compile(expression, disable_check=True).serialize()
    except _RAISED as error:
        return messages.raised(error)
    return tree


def compile_(expression: str, serialized: bytes, roots: frozenset[str]) -> CompiledExpression | ExpressionError:
    """Return the program of a parsed expression, or an error of the type checker. All roots are dynamic.

    A program with loops is compiled from the tree with ordered loops, others from the text.
    """
    environment = _environment(roots)
    try:
        compiled = environment.compile(expression)
        in_order = map_order.ordered(serialized)
        return CompiledExpression(compiled if in_order is None else environment.deserialize(in_order))
    except _RAISED as error:
        return messages.raised(error)


@lru_cache(maxsize=64)
def _environment(roots: frozenset[str]) -> cel.Env:
    return cel.NewEnv(
        variables=dict.fromkeys(roots, cel.Type.DYN),
        extensions=[ext_strings.ExtStrings(), ext_optional.ExtOptional(), ext_encoders.ExtEncoders()],
        functions=_functions(),
    )


def _functions() -> list[cel.FunctionDecl]:
    """Return our functions. Macros are declared for the type checker, and expanded before they would run."""
    ours = [
        _function(map_order.SORTED, _KEYS, [_KEYS], map_order.keys_in_order),
        _function(macros.PLACES_OF_SHORTEST, _PLACES, [_PLACES], macros.places_of_shortest),
        _function(macros.PLACES_OF_LONGEST, _PLACES, [_PLACES], macros.places_of_longest),
        _function("json", _ANY, [cel.Type.STRING], _parsed),
    ]
    for name, counts in macros.NAMES.items():
        overloads = [_overload(f"{name}_{count}", _KEYS, [_ANY] * count, _never) for count in counts]
        ours.append(cel.FunctionDecl(name, overloads))
    for name, overloads in _OVERLOADS.items():
        ours.append(cel.FunctionDecl(name, [_overload(*each, is_member=name in _METHODS) for each in overloads]))
    return ours


def _function(name: str, gives: cel.Type, takes: list[cel.Type], body: Callable[..., object]) -> cel.FunctionDecl:
    return cel.FunctionDecl(name, [_overload(name.removeprefix("@"), gives, takes, body)])


def _overload(
    name: str, gives: cel.Type, takes: list[cel.Type], body: Callable[..., object], *, is_member: bool = False
) -> cel.Overload:
    return cel.Overload(name, return_type=gives, parameters=takes, impl=body, is_member=is_member)


def _parsed(text: str) -> JSON:
    """Return the value of JSON text. Raises ValueError for text that is not JSON or that CEL cannot represent."""
    value: JSON = json.loads(text)
    unfit = _unfit(value, "json")
    if unfit is not None:
        raise ValueError(unfit.message)
    return value


def _never(*_: object) -> list[object]:
    raise AssertionError("a macro was not expanded")


class _NotJSONError(Exception):
    """Internal: ends the recursion over a result."""

    def __init__(self, problem: ExpressionError) -> None:
        super().__init__(problem.message)
        self.problem = problem


def _json(value: cel.Value) -> JSON:
    kind: str = value.type().name()
    match kind.partition("<")[0]:
        case "NULL":
            return None
        case "BOOL" | "INT" | "UINT" | "STRING":
            plain: bool | int | str = value.value()
            return plain
        case "DOUBLE":
            return _finite(value.value())
        case "LIST":
            return [_json(item) for item in value.value()]
        case "MAP":
            items: dict[object, cel.Value] = value.value()
            return {_key(key): _json(items[key]) for key in sorted(items, key=str)}
        case "BYTES":
            return base64.b64encode(value.value()).decode()
        case "TIMESTAMP":
            return _timestamp(value.value())
        case "DURATION":
            return _duration(value.value())
        case "ERROR":
            raise _NotJSONError(messages.at_run_time(value.plain_value()))
        case other:
            raise _NotJSONError(errors.failed(f"the result is of type {other.lower()}, which is not JSON"))


def _finite(number: float) -> float:
    if math.isfinite(number):
        return number
    raise _NotJSONError(errors.failed(f"the result contains {number}, which is not JSON"))


def _key(key: object) -> str:
    if isinstance(key, str):
        return key
    raise _NotJSONError(errors.failed(f"the result has the key {key!r}; JSON keys must be strings"))


def _timestamp(moment: dt.datetime) -> str:
    return moment.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")


def _duration(span: dt.timedelta) -> str:
    micros = span // dt.timedelta(microseconds=1)
    seconds, rest = divmod(abs(micros), 1_000_000)
    fraction = f".{rest:06}".rstrip("0") if rest else ""
    return f"{'-' if micros < 0 else ''}{seconds}{fraction}s"


def _unfit(value: JSON, path: str) -> ExpressionError | None:
    """Return what of a value the library does not accept."""
    match value:
        case bool() | float() | None:
            return None
        case int():
            if -_INT64 <= value < _INT64:
                return None
            return errors.failed(f"{path} is {errors.shorten(str(value), 40)}, which exceeds 64 bits")
        case str():
            return _unfit_text(value, path)
        case list():
            problems = (_unfit(item, f"{path}[{index}]") for index, item in enumerate(value))
        case dict():
            problems = (_unfit_text(key, path) or _unfit(item, f"{path}.{key}") for key, item in value.items())
    return next((problem for problem in problems if problem), None)


def _unfit_text(text: str, path: str) -> ExpressionError | None:
    if "\0" in text:
        return errors.failed(f"{path} contains a NUL character, which expressions do not support")
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        return errors.failed(f"{path} contains an unpaired surrogate")
    return None

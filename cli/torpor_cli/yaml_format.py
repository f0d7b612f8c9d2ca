"""Reads YAML scalars as kubectl does (YAML 1.1 in Go), and writes YAML that kubectl reads as the same value. Pure.

PyYAML differs: it reads 2026-11-20 as a date, 12:30 as a number and `y` as a string. It writes a text such as `n`,
`1e3` or `0o7` without quotes, because it reads it as text.
"""

import math
import re
from functools import cache
from typing import Any

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset(form for word in ("y", "yes", "on", "true") for form in (word, word.capitalize(), word.upper()))
_FALSE = frozenset(form for word in ("n", "no", "off", "false") for form in (word, word.capitalize(), word.upper()))
_BASED = re.compile(r"([-+]?)0([xob])([0-9a-fA-F_]+)")
_OCTAL = re.compile(r"[-+]?0[0-7_]+")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*)")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?")
_SPECIAL = {".inf": math.inf, "+.inf": math.inf, "-.inf": -math.inf, ".nan": math.nan}
_BASES = {"x": 16, "o": 8, "b": 2}
_DIGITS_MAX = 400

Scalar = str | int | float | bool | None


def resolve(text: str) -> Scalar:
    """Return the value of a plain scalar: null, a boolean, a number or a string."""
    if text in _NULLS:
        return None
    if text in _TRUE or text in _FALSE:
        return text in _TRUE
    return _number(text) if len(text) <= _DIGITS_MAX else text


def tagged(text: str, tag: str) -> Scalar:
    """Return the value of a scalar with an explicit tag, such as `!!str 1`; unknown tags are strings."""
    return resolve(text) if tag.rpartition(":")[2] in {"null", "bool", "int", "float"} else text


def key_text(value: Scalar) -> str:
    """Return the JSON key of a scalar: Go writes `true` for an unquoted `y`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "null" if value is None else str(value)


def _number(text: str) -> Scalar:
    try:
        if based := _BASED.fullmatch(text):
            sign, base, digits = based.groups()
            return int(sign + digits.replace("_", ""), _BASES[base])
        if _OCTAL.fullmatch(text):
            return int(text.replace("_", ""), 8)
        if _INTEGER.fullmatch(text):
            return int(text.replace("_", ""))
        if _FLOAT.fullmatch(text):
            return float(text.replace("_", ""))
    except ValueError:
        return text
    return _SPECIAL.get(text.lower(), text)


_WIDTH = 120


def dump(value: Any, *, readable: bool = False) -> str:
    """Return the YAML of a JSON value, with the keys in their order.

    `readable`: for people, with texts of several lines as blocks, and without escapes of letters.
    """
    import yaml  # noqa: PLC0415 - costs 50 ms

    dumper = _dumper(readable=readable)
    return str(
        yaml.dump(value, Dumper=dumper, sort_keys=False, default_flow_style=False, allow_unicode=readable, width=_WIDTH)
    )


@cache
def _dumper(*, readable: bool) -> Any:
    import yaml  # noqa: PLC0415 - see above

    class Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
        """Quotes what kubectl would not read as text."""

        def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - a given signature
            return True

    def text(dumper: Any, value: str) -> Any:
        style = None if isinstance(resolve(value), str) and value != "<<" else "'"
        if readable and "\n" in value:
            style = "|"
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    return Dumper

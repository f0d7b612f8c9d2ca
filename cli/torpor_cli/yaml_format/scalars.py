"""The value of a YAML scalar as kubectl reads it (YAML 1.1 in Go: booleans such as `yes`, no dates). Pure.

PyYAML differs: it reads 2026-11-20 as a date and 12:30 as a number, and `y` as a string.
"""

import math
import re

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

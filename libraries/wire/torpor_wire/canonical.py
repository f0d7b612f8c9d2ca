"""Canonical JSON text (RFC 8785), and hashes of it.

TaskRuns share a poke if their triggers are equal, and a shard is a hash: both need one text for a value on all
machines. Unlike RFC 8785, integers keep all their digits, because Kubernetes uses 64-bit integers.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

_FIXED_MIN, _FIXED_MAX = -6, 21
_TOO_DEEP = "the value contains itself or is nested too deeply"
_BITS_MAX = 4096  # well below 4,300 digits, the limit of Python


class NotJsonError(ValueError):
    """A value that is not JSON; the message names its path and type."""


def text(value: object, at: str = "$") -> str:
    """Return the canonical JSON text. Raises NotJsonError for NaN, bytes, other keys than strings, and so on."""
    try:
        return _text(_checked(value, at))
    except RecursionError as error:
        raise NotJsonError(_TOO_DEEP) from error


def plain(value: object, at: str = "$") -> str:
    """Return compact JSON text in the order of keys. `at` is the path in messages. Raises NotJsonError."""
    try:
        return json.dumps(_checked(value, at), ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        raise NotJsonError(_TOO_DEEP) from error


def entry(key: object, value: object) -> tuple[str, str]:
    """Return the JSON texts of a key and its value. Raises NotJsonError."""
    name = _key(key, "$")
    return plain(name), plain(value, f"$.{name}")


def digest(*parts: object) -> str:
    """Return the SHA-256 in hexadecimal of the canonical text of the parts."""
    import hashlib  # noqa: PLC0415 - 1 ms at the start of a task pod, which rarely needs it

    return hashlib.sha256(f"[{','.join(text(part) for part in parts)}]".encode()).hexdigest()


def _checked(value: object, path: str) -> Json:
    match value:
        case None | bool():
            return value
        case str():
            return _string(value, path)
        case int():
            if value.bit_length() > _BITS_MAX:
                raise NotJsonError(f"{path} is an integer of {value.bit_length()} bits; {_BITS_MAX} are allowed")
            return int(value)
        case float():
            if not math.isfinite(value):
                raise NotJsonError(f"{path} is {value}, which is not JSON")
            return float(value)
        case list() | tuple():
            return [_checked(item, f"{path}[{i}]") for i, item in enumerate(value)]
        case Mapping():
            return {_key(k, path): _checked(v, f"{path}.{k}") for k, v in value.items()}
        case Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return [_checked(item, f"{path}[{i}]") for i, item in enumerate(value)]
        case _:
            raise NotJsonError(f"{path} is of type {type(value).__name__}, which is not JSON")


def _key(key: object, path: str) -> str:
    if not isinstance(key, str):
        raise NotJsonError(f"{path} has the key {key!r}; JSON keys must be strings")
    return _string(key, path)


def _string(value: str, path: str) -> str:
    try:
        # Not str(value), which would return the name of a StrEnum member.
        return value.encode().decode()
    except UnicodeEncodeError as error:
        raise NotJsonError(f"{path} contains an unpaired surrogate, which UTF-8 cannot encode") from error


def _text(value: Json) -> str:
    match value:
        case None | bool() | str():
            return json.dumps(value, ensure_ascii=False)
        case int():
            return str(value)
        case float():
            return _number(value)
        case Mapping():
            pairs = sorted(value.items(), key=lambda pair: pair[0].encode("utf-16-be"))
            return "{" + ",".join(f"{_text(k)}:{_text(v)}" for k, v in pairs) + "}"
        case _:
            return "[" + ",".join(map(_text, value)) + "]"


def _number(value: float) -> str:
    """Return the number as ECMAScript's Number::toString does, per RFC 8785: the shortest digits of the same double."""
    if value == 0:
        return "0"
    mantissa, _, exponent = f"{value!r}e0".partition("e")
    whole, _, fraction = mantissa.lstrip("-").partition(".")
    point = len(whole) + int(exponent.removesuffix("e0"))
    digits = whole + ("" if fraction == "0" else fraction)
    point -= len(digits) - len(digits.lstrip("0"))
    digits = digits.lstrip("0").rstrip("0")
    return ("-" if value < 0 else "") + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """Return the digits with the decimal point after `point` of them, in ECMAScript's notation."""
    if len(digits) <= point <= _FIXED_MAX:
        return digits + "0" * (point - len(digits))
    if 0 < point <= _FIXED_MAX:
        return f"{digits[:point]}.{digits[point:]}"
    if _FIXED_MIN < point <= 0:
        return "0." + "0" * -point + digits
    fraction = f".{digits[1:]}" if len(digits) > 1 else ""
    return f"{digits[0]}{fraction}e{point - 1:+d}"

"""References: values that are known only when a run comes to them, such as a param or the result of a task.

A reference in an argument becomes `${...}`. Python's own operations would use it now, without its value, so each of
them raises a TypeError that names what to write instead.
"""

import json
import math
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_FIELD = re.compile(r"(?!(?:false|in|null|true)$)[A-Za-z][A-Za-z0-9_]*")
"""What CEL allows after a dot."""
_OPERAND = re.compile(r'[\w.]+(\[(\d+|"\w+")\][\w.]*)*')
"""An expression that needs no parentheses within another one."""
_PLACE = re.compile(r"(?<!\$)\{(\w+)\}")
_REFUSED = {
    'set the option when="..." of a task instead of `if`': "bool",
    "call .expand(name=...) for an instance of a task for each item": "iter reversed",
    'write text("... {x} ...", x=...) instead of an f-string': "str format fspath",
    'write expression("... {x} ...", x=...)': "call len contains int float index round abs neg pos eq ne lt le gt ge "
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow and rand or ror",
}


class ReferencedItem(NamedTuple):
    """A task or a group that a reference reads, and the groups in which it has one value. Outermost first."""

    name: str
    groups: tuple[str, ...]


class ValueReference:
    """A value of the run. Attributes and indexes are parts of it: `files[0].path`."""

    __slots__ = ("_cel", "_items")

    def __init__(self, cel: str, items: tuple[ReferencedItem, ...] = ()) -> None:
        self._cel = cel
        self._items = items

    def __getattr__(self, name: str) -> "ValueReference":
        if name.startswith("_"):  # a protocol of Python, such as copying
            raise AttributeError(f"{self!r} has no attribute {name}; write [{name!r}] for a field of the value")
        return self[name]

    def __getitem__(self, key: object) -> "ValueReference":
        if not isinstance(key, int | str | ValueReference) or (isinstance(key, int) and key < 0):
            raise TypeError(f"{self!r} has no part {key!r}; an index is a text, a reference, or a number from 0")
        return ValueReference(member(operand(self), key), (*self._items, *items_of(key)))

    def __repr__(self) -> str:
        return f"<reference {self._cel}>"


def _refuse(name: str, advice: str) -> Any:
    def operation(self: ValueReference, *_: object, **__: object) -> Any:
        raise TypeError(f"{self!r} has no value until the run comes to it, so {name} cannot use it here; {advice}")

    return operation


for _advice, _names in _REFUSED.items():
    for _name in _names.split():
        setattr(ValueReference, f"__{_name}__", _refuse(f"__{_name}__", _advice))


def cel_of(reference: ValueReference) -> str:
    """Return the expression of a reference, without `${` and `}`."""
    return reference._cel  # noqa: SLF001 - its public attributes are fields of the value


def items_of(value: object) -> tuple[ReferencedItem, ...]:
    """Return the tasks and groups that the references in a value read."""
    if isinstance(value, ValueReference):
        return value._items  # noqa: SLF001 - as above
    parts = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return tuple(item for part in parts for item in items_of(part))


def operand(value: object) -> str:
    """Return a reference or a constant as a part of a longer expression."""
    if not isinstance(value, ValueReference):
        return json.dumps(plain(value, "a constant"), ensure_ascii=False)
    cel = cel_of(value)
    return cel if _OPERAND.fullmatch(cel) else f"({cel})"


def member(cel: str, key: object) -> str:
    """Return the expression of a field or an item."""
    return f"{cel}.{key}" if isinstance(key, str) and _FIELD.fullmatch(key) else f"{cel}[{operand(key)}]"


def filled(function: str, template: str, parts: Mapping[str, str]) -> str:
    """Return the template with a part for each `{name}`. Raises TypeError if names and parts differ."""
    if wrong := sorted(parts.keys() ^ set(_PLACE.findall(template))):
        why = "does not contain" if wrong[0] in parts else "has no value for"
        raise TypeError(f"{function}({template!r}) {why} {{{wrong[0]}}}; write {function}('... {{x}} ...', x=...)")
    return _PLACE.sub(lambda match: parts[match[1]], template)


def expression(cel: str, /, **values: object) -> Any:
    """Return a reference to the value of a CEL expression: `expression("size({files}) > 1", files=files)`."""
    return ValueReference(filled("expression", cel, {key: operand(values[key]) for key in values}), items_of(values))


def plain(value: object, place: str) -> Any:
    """Return a value as JSON, with `${...}` for references. Raises TypeError with the place of what is no JSON."""
    match value:
        case ValueReference():
            return f"${{{cel_of(value)}}}"
        case None | bool() | int() | str():
            return value
        case float() if math.isfinite(value):
            return value
        case Mapping() if all(isinstance(key, str) for key in value):
            return {key: plain(each, f"{place}[{key!r}]") for key, each in value.items()}
        case list() | tuple():
            return [plain(each, f"{place}[{index}]") for index, each in enumerate(value)]
        case _ if callable(value):
            raise TypeError(f"{place} is {value!r}, which was not called; pass what a call returns")
        case _:
            raise TypeError(
                f"{place} is of type {type(value).__name__}; use JSON: text, numbers, lists, dicts with text keys"
            )

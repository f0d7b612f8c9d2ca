"""The syntax tree of a rule, with its constants, decoded from the tree of the CEL library (cel.expr.Expr). Pure."""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from torpor_expressions import library, protobuf
from torpor_expressions.errors import ExpressionError

_PARSED, _EXPR = 2, 2
_SIGN = 1 << 63


@dataclass(frozen=True, slots=True)
class Constant:
    """A literal."""

    value: bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class CelName:
    """An identifier."""

    name: str


@dataclass(frozen=True, slots=True)
class Select:
    """`operand.field`, or whether it is there: `has(operand.field)`."""

    operand: "Node"
    field: str
    test: bool


@dataclass(frozen=True, slots=True)
class CelCall:
    """A function or an operator; the receiver of a method is in `target`."""

    function: str
    target: "Node | None"
    arguments: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class CelList:
    """A list."""

    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class CelMap:
    """A map."""

    entries: "tuple[tuple[Node, Node], ...]"


@dataclass(frozen=True, slots=True)
class CelLoop:
    """An expanded macro: `all`, `exists`, `filter` or `map`."""

    variable: str
    over: "Node"
    result_name: str
    first: "Node"
    condition: "Node"
    step: "Node"
    result: "Node"


Node: TypeAlias = Constant | CelName | Select | CelCall | CelList | CelMap | CelLoop


class RuleError(ValueError):
    """A rule that the library cannot parse."""


@lru_cache(maxsize=512)
def parse(rule: str) -> Node:
    """Return the tree of a rule. Raises RuleError."""
    serialized = library.parse(rule)
    if isinstance(serialized, ExpressionError):
        raise RuleError(serialized.message)
    parsed = dict(protobuf.nested(serialized))[_PARSED]
    return _node(dict(protobuf.nested(parsed))[_EXPR])


def _node(expression: bytes) -> Node:
    kind, body = next((number, value) for number, value in protobuf.nested(expression))
    match kind:
        case 3:
            return _constant(body)
        case 4:
            return CelName(_text(body, 1))
        case 5:
            return Select(_child(body, 1), _text(body, 2), bool(_integer(body, 3)))
        case 6:
            target = _children(body, 1)
            return CelCall(_text(body, 2), target[0] if target else None, _children(body, 3))
        case 7:
            return CelList(_children(body, 1))
        case 8:
            entries = (value for number, value in protobuf.nested(body) if number == 2)  # noqa: PLR2004
            return CelMap(tuple((_child(entry, 3), _child(entry, 4)) for entry in entries))
        case _:
            return CelLoop(_text(body, 1), _child(body, 2), _text(body, 3), *(_child(body, n) for n in (4, 5, 6, 7)))


def _constant(body: bytes) -> Constant:
    number, value = next(protobuf.fields(body), (1, 0))
    match number, value:
        case 2, int():
            return Constant(bool(value))
        case ((3 | 4), int()):
            return Constant(value - 2 * _SIGN if value >= _SIGN else value)
        case 5, bytes():
            return Constant(struct.unpack("<d", value)[0])
        case ((6 | 7), bytes()):
            return Constant(value.decode())
        case _:
            return Constant(None)


def _children(body: bytes, wanted: int) -> tuple[Node, ...]:
    return tuple(_node(value) for number, value in protobuf.nested(body) if number == wanted)


def _child(body: bytes, wanted: int) -> Node:
    children: Sequence[Node] = _children(body, wanted)
    return children[0]


def _text(body: bytes, wanted: int) -> str:
    return next((value.decode() for number, value in protobuf.nested(body) if number == wanted), "")


def _integer(body: bytes, wanted: int) -> int:
    values = (value for number, value in protobuf.fields(body) if number == wanted and isinstance(value, int))
    return next(values, 0)

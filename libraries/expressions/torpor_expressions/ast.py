"""The syntax tree of an expression, as needed for names and costs.

It is decoded from the tree of the CEL library (cel.expr.ParsedExpr with macros expanded), so there is one grammar.
`a.b`, `a["b"]`, `a.?b` and `a[?"b"]` are all a Field. It makes no decisions.
"""

from dataclasses import dataclass
from enum import IntEnum

from torpor_expressions import protobuf


class _ExprKind(IntEnum):
    """Field numbers of `Expr.expr_kind` in the specification. Lists and all others are Groups."""

    CONSTANT = 3
    IDENT = 4
    SELECT = 5
    CALL = 6
    STRUCT = 8
    COMPREHENSION = 9


_STRING_VALUE = 6
_POSITIONS = 4
_ENTRIES = 2
_VARIABLES = (1, 8, 3)
_TEST_ONLY = 3
_INDEX = "_[_]"
_FIELD_CALLS = frozenset({_INDEX, "_?._", "_[?_]"})


@dataclass(frozen=True, slots=True, kw_only=True)
class NameNode:
    """An identifier. With a leading dot it skips the variables of macros."""

    at: int
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TextNode:
    """A string literal."""

    at: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNode:
    """A field by constant name. `value` is false if it only tests for presence or is optional."""

    at: int
    operand: "Node"
    field: str
    value: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CallNode:
    """A function or an operator; a receiver comes first."""

    at: int
    function: str
    operands: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupNode:
    """A list, a map, or a literal that is not a string."""

    at: int
    members: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopNode:
    """An expanded macro. Only `body` sees its variables. `optMap` binds a variable and does not repeat."""

    at: int
    variables: frozenset[str]
    outside: "tuple[Node, ...]"
    body: "tuple[Node, ...]"
    repeats: bool


Node = NameNode | TextNode | FieldNode | CallNode | GroupNode | LoopNode


def decode(serialized: bytes) -> Node:
    """Return the tree from `serialized`, an Any with a ParsedExpr."""
    parsed = dict(protobuf.nested(dict(protobuf.nested(serialized))[2]))
    return _node(parsed[2], _offsets(parsed.get(3, b"")))


def _offsets(source: bytes) -> dict[int, int]:
    """Return the position of each node in characters from 0, by node id."""
    entries = (dict(protobuf.fields(entry)) for number, entry in protobuf.nested(source) if number == _POSITIONS)
    return {_integer(entry.get(1, 0)): _integer(entry.get(2, 0)) for entry in entries}


def _integer(value: int | bytes) -> int:
    return value if isinstance(value, int) else 0


def _node(expression: bytes, offsets: dict[int, int]) -> Node:
    at, kind, body = 0, 0, b""
    for number, value in protobuf.fields(expression):
        if isinstance(value, bytes):
            kind, body = number, value
        else:
            at = offsets.get(value, 0)
    match kind:
        case _ExprKind.CONSTANT:
            text = dict(protobuf.fields(body)).get(_STRING_VALUE)
            return TextNode(at=at, text=text.decode()) if isinstance(text, bytes) else GroupNode(at=at, members=())
        case _ExprKind.IDENT:
            return NameNode(at=at, name=_string(body, 1))
        case _ExprKind.SELECT:
            tested = dict(protobuf.fields(body)).get(_TEST_ONLY, 0)
            return FieldNode(at=at, operand=_children(body, offsets, 1)[0], field=_string(body, 2), value=not tested)
        case _ExprKind.CALL:
            return _call(at, body, offsets)
        case _ExprKind.STRUCT:
            entries = [entry for number, entry in protobuf.nested(body) if number == _ENTRIES]
            return GroupNode(
                at=at, members=tuple(node for entry in entries for node in _children(entry, offsets, 3, 4))
            )
        case _ExprKind.COMPREHENSION:
            return _loop(at, body, offsets)
        case _:
            return GroupNode(at=at, members=_children(body, offsets, 1))


def _call(at: int, body: bytes, offsets: dict[int, int]) -> Node:
    function, operands = _string(body, 2), _children(body, offsets, 1, 3)
    match operands:
        case (operand, TextNode(text=text)) if function in _FIELD_CALLS:
            return FieldNode(at=at, operand=operand, field=text, value=function == _INDEX)
        case _:
            return CallNode(at=at, function=function, operands=operands)


def _loop(at: int, body: bytes, offsets: dict[int, int]) -> LoopNode:
    (over,) = _children(body, offsets, 2)
    return LoopNode(
        at=at,
        variables=frozenset(_string(body, number) for number in _VARIABLES),
        outside=(over, *_children(body, offsets, 4)),
        body=_children(body, offsets, 5, 6, 7),
        repeats=not (isinstance(over, GroupNode) and not over.members),
    )


def _children(body: bytes, offsets: dict[int, int], *numbers: int) -> tuple[Node, ...]:
    return tuple(_node(value, offsets) for number, value in protobuf.nested(body) if number in numbers)


def _string(body: bytes, wanted: int) -> str:
    return next((value.decode() for number, value in protobuf.nested(body) if number == wanted), "")

"""Makes macros run over a map in the order of its keys.

CEL leaves that order open and the library draws it anew in each process, so `params.m.map(k, k)` would be one list in
one replica of the operator and another in the next, and the third instance of a mapped task two different things. Each
range R of a loop is therefore replaced, in the serialized tree, by what would be written (were there such a function)

    cel.bind(range, R, type(range) == map ? sorted(range.map(key, key)) : range)

Only keys reach the Python function behind `sorted`: they are never null, which the library cannot hand out safely.
"""

from collections.abc import Iterable, Iterator
from itertools import count

from torpor_cel import protobuf
from torpor_cel.protobuf import field

SORTED = "@sorted"

_CONSTANT, _IDENT, _CALL, _LIST, _COMPREHENSION = 3, 4, 6, 7, 9
_ITER_RANGE, _ACCU_INIT = 2, 4
_EXPRESSION = "expression"
# Which fields of a message of the tree hold messages of the tree, by the numbers of cel.expr.Expr.
_FIELDS = {
    _EXPRESSION: {5: "select", _CALL: "call", _LIST: "list", 8: "struct", _COMPREHENSION: "comprehension"},
    "select": {1: _EXPRESSION},
    "call": {1: _EXPRESSION, 3: _EXPRESSION},
    "list": {1: _EXPRESSION},
    "struct": {2: "entry"},
    "entry": {3: _EXPRESSION, 4: _EXPRESSION},
    "comprehension": dict.fromkeys((_ITER_RANGE, _ACCU_INIT, 5, 6, 7), _EXPRESSION),
}
_FIRST_FREE_ID = 1_000_000
_RANGE, _KEY, _RESULT = "@range", "@key", "@result"
_FALSE, _TRUE = b"\x10\x00", b"\x10\x01"


def ordered(serialized: bytes) -> bytes | None:
    """The tree (an Any around a ParsedExpr) with its loops over maps in the order of keys; None if it has none.

    Positions are dropped. A range that is a list by its syntax is left alone, which keeps chains of macros flat.
    """
    parts = dict(protobuf.nested(serialized))
    expression = dict(protobuf.nested(parts[2]))[2]
    ids = count(_FIRST_FREE_ID)
    rewritten = _rewritten(expression, _EXPRESSION, ids)
    return field(1, parts[1]) + field(2, field(2, rewritten)) if next(ids) > _FIRST_FREE_ID else None


def keys_in_order(keys: list[object]) -> list[object]:
    """What SORTED does: keys of one type among themselves, since different types do not compare."""
    return sorted(keys, key=lambda key: (type(key).__name__, key))


def _rewritten(message: bytes, kind: str, ids: Iterator[int]) -> bytes:
    out = bytearray()
    for number, value in protobuf.fields(message):
        inner = _FIELDS[kind].get(number)
        if isinstance(value, int):
            out += protobuf.integer(number, value)
        elif inner is None:
            out += field(number, value)
        else:
            rewritten = _rewritten(value, inner, ids)
            looped = kind == "comprehension" and number == _ITER_RANGE and not _is_list(value)
            out += field(number, _in_order(rewritten, ids) if looped else rewritten)
    return bytes(out)


def _is_list(expression: bytes) -> bool:
    """A list written out, or what `map` or `filter` make: a loop whose accumulator begins as a list."""
    for number, body in protobuf.nested(expression):
        if number == _COMPREHENSION:
            return _is_list(dict(protobuf.nested(body))[_ACCU_INIT])
        if number == _LIST:
            return True
    return False


def _in_order(over: bytes, ids: Iterator[int]) -> bytes:
    def node(kind: int, body: bytes) -> bytes:
        return protobuf.integer(2, next(ids)) + field(kind, body)

    def name(text: str) -> bytes:
        return node(_IDENT, field(1, text.encode()))

    def call(function: str, operands: Iterable[bytes]) -> bytes:
        return node(_CALL, field(2, function.encode()) + b"".join(field(3, operand) for operand in operands))

    def items(*members: bytes) -> bytes:
        return node(_LIST, b"".join(field(1, member) for member in members))

    def loop(variables: tuple[str, str], *parts: bytes) -> bytes:
        variable, accumulator = (text.encode() for text in variables)
        bodies = b"".join(
            field(number, part) for number, part in zip((_ITER_RANGE, _ACCU_INIT, 5, 6, 7), parts, strict=True)
        )
        return node(_COMPREHENSION, field(1, variable) + field(3, accumulator) + bodies)

    appended = call("_+_", (name(_RESULT), items(name(_KEY))))
    keys = loop((_KEY, _RESULT), name(_RANGE), items(), node(_CONSTANT, _TRUE), appended, name(_RESULT))
    is_map = call("_==_", (call("type", (name(_RANGE),)), name("map")))
    chosen = call("_?_:_", (is_map, call(SORTED, (keys,)), name(_RANGE)))
    return loop(("#unused", _RANGE), items(), over, node(_CONSTANT, _FALSE), name(_RANGE), chosen)

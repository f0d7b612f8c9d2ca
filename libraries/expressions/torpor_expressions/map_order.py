"""Makes macros iterate over maps in the order of keys.

CEL leaves the order undefined and the library randomizes it in each process. Without this, `params.m.map(k, k)` would
differ between replicas of the operator, and so would the instances of a mapped task. Each range R of a loop is replaced
in the serialized tree by

    cel.bind(range, R, type(range) == map ? sorted(range.map(key, key)) : range)

Only keys reach the Python function behind `sorted`. They are never null, which the library cannot return safely.
"""

from itertools import count

from torpor_expressions import macros, protobuf
from torpor_expressions.ast_builder import ACCU_INIT, CALL, COMPREHENSION, ITER_RANGE, LIST, Nodes
from torpor_expressions.protobuf import field

SORTED = "@sorted"

_EXPRESSION = "expression"
# The fields that contain nodes, by the field numbers of cel.expr.Expr.
_FIELDS = {
    _EXPRESSION: {5: "select", CALL: "call", LIST: "list", 8: "struct", COMPREHENSION: "comprehension"},
    "select": {1: _EXPRESSION},
    "call": {1: _EXPRESSION, 3: _EXPRESSION},
    "list": {1: _EXPRESSION},
    "struct": {2: "entry"},
    "entry": {3: _EXPRESSION, 4: _EXPRESSION},
    "comprehension": dict.fromkeys((ITER_RANGE, ACCU_INIT, 5, 6, 7), _EXPRESSION),
}
_FIRST_FREE_ID = 1_000_000
_RANGE, _KEY, _RESULT = "@range", "@key", "@result"


def ordered(serialized: bytes) -> bytes | None:
    """Return the tree (an Any with a ParsedExpr) with ordered loops over maps; None if it has none.

    Our macros are expanded as well. Positions are dropped. A range that is a list by its syntax stays, so chains of
    macros stay flat.
    """
    parts = dict(protobuf.nested(serialized))
    expression = dict(protobuf.nested(parts[2]))[2]
    ids = count(_FIRST_FREE_ID)
    rewritten = _rewritten(expression, _EXPRESSION, Nodes(ids))
    return field(1, parts[1]) + field(2, field(2, rewritten)) if next(ids) > _FIRST_FREE_ID else None


def keys_in_order(keys: list[object]) -> list[object]:
    """Return sorted keys; keys of different types are sorted separately."""
    return sorted(keys, key=lambda key: (type(key).__name__, key))


def _rewritten(message: bytes, kind: str, nodes: Nodes) -> bytes:
    out = bytearray()
    for number, value in protobuf.fields(message):
        inner = _FIELDS[kind].get(number)
        if isinstance(value, int):
            out += protobuf.integer(number, value)
        elif inner is None:
            out += field(number, value)
        else:
            rewritten = _rewritten(value, inner, nodes)
            if (ours := _expanded(rewritten, nodes) if inner == "call" else None) is not None:
                return ours
            looped = kind == "comprehension" and number == ITER_RANGE and not _is_list(value)
            out += field(number, _in_order(rewritten, nodes) if looped else rewritten)
    return bytes(out)


def _expanded(call: bytes, nodes: Nodes) -> bytes | None:
    """Return the expansion of a call of our functions, whose arguments are already expanded."""
    parts = list(protobuf.nested(call))
    function = dict(parts).get(2, b"").decode()
    return macros.expanded(function, [body for number, body in parts if number == 3], nodes)  # noqa: PLR2004


def _is_list(expression: bytes) -> bool:
    """Return whether an expression is a list literal, or a `map` or `filter`: a loop whose accumulator is a list."""
    for number, body in protobuf.nested(expression):
        if number == COMPREHENSION:
            return _is_list(dict(protobuf.nested(body))[ACCU_INIT])
        if number == LIST:
            return True
    return False


def _in_order(over: bytes, nodes: Nodes) -> bytes:
    keys = nodes.each(_KEY, nodes.name(_RANGE), nodes.name(_KEY), _RESULT)
    is_map = nodes.call("_==_", nodes.call("type", nodes.name(_RANGE)), nodes.name("map"))
    chosen = nodes.call("_?_:_", is_map, nodes.call(SORTED, keys), nodes.name(_RANGE))
    return nodes.bind(_RANGE, over, chosen)

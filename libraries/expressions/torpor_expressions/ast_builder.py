"""Builds nodes of the serialized syntax tree (cel.expr.Expr), for our macros and ordered loops.

Each node gets a new id, as the specification requires. Positions are dropped.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from torpor_expressions import protobuf
from torpor_expressions.protobuf import field

CONSTANT, IDENT, CALL, LIST, COMPREHENSION = 3, 4, 6, 7, 9
ITER_RANGE, ACCU_INIT = 2, 4
_PARTS = (ITER_RANGE, ACCU_INIT, 5, 6, 7)
_UNUSED = "#unused"
_FALSE, _TRUE = b"\x10\x00", b"\x10\x01"


@dataclass(frozen=True, slots=True)
class Nodes:
    """Builds nodes with ids from `ids`."""

    ids: Iterator[int]

    def name(self, text: str) -> bytes:
        """Return a variable."""
        return self._node(IDENT, field(1, text.encode()))

    def call(self, function: str, *operands: bytes) -> bytes:
        """Return a function call. Operators have names such as `_+_`."""
        return self._node(CALL, field(2, function.encode()) + b"".join(field(3, operand) for operand in operands))

    def items(self, *members: bytes) -> bytes:
        """Return a list."""
        return self._node(LIST, b"".join(field(1, member) for member in members))

    def each(self, variable: str, over: bytes, item: bytes, result: str) -> bytes:
        """Return `over.map(variable, item)` for a list `over`. `result` is a name that nothing else uses."""
        appended = self.call("_+_", self.name(result), self.items(item))
        return self._loop((variable, result), (over, self.items(), self._flag(_TRUE), appended, self.name(result)))

    def bind(self, variable: str, value: bytes, body: bytes) -> bytes:
        """Return `cel.bind(variable, value, body)`."""
        return self._loop((_UNUSED, variable), (self.items(), value, self._flag(_FALSE), self.name(variable), body))

    def _flag(self, value: bytes) -> bytes:
        return self._node(CONSTANT, value)

    def _loop(self, variables: tuple[str, str], parts: Iterable[bytes]) -> bytes:
        variable, accumulator = (text.encode() for text in variables)
        bodies = b"".join(field(number, part) for number, part in zip(_PARTS, parts, strict=True))
        return self._node(COMPREHENSION, field(1, variable) + field(3, accumulator) + bodies)

    def _node(self, kind: int, body: bytes) -> bytes:
        return protobuf.integer(2, next(self.ids)) + field(kind, body)

"""Checks expressions: grammar, types, names and size. Pure.

The parser and checker of the CEL library run in this process, within the limit on length here and the library's own
limit on depth. Nothing is evaluated.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from torpor_cel import ast, errors, library
from torpor_cel.errors import ExpressionError

ROOTS = frozenset({"tasks", "params", "item", "index", "event", "workflow"})
MAX_LENGTH = 1024
MAX_MACRO_DEPTH = 2
MAX_OPTIONAL_MACROS = 3

# These macros duplicate their operand: a chain of 25 of them, in 350 characters, expands to gigabytes before the tree
# can be measured. So they are counted in the text.
_DOUBLING = re.compile(r"\bopt(?:Flat)?Map\b")

_TYPES = frozenset({"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"})
_NAMESPACES = frozenset({"google", "optional", "optional_type", "strings"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """A use of a root: its name, the field of it, and the field of that, if any."""

    name: ast.Name
    first: ast.Field | None
    second: ast.Field | None

    @property
    def root(self) -> str:
        """The name of the root, without a leading dot."""
        return self.name.name.removeprefix(".")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """A valid expression."""

    node: ast.Node
    uses: tuple[Use, ...]
    program: library.Program

    @property
    def roots(self) -> frozenset[str]:
        """The roots that it uses."""
        return frozenset(use.root for use in self.uses)


def check(expression: str, *, roots: frozenset[str] = ROOTS) -> ExpressionError | None:
    """Return what is wrong with an expression before any value is known, or None."""
    parsed = parse(expression, roots=roots)
    return parsed if isinstance(parsed, ExpressionError) else None


@lru_cache(maxsize=2048)
def parse(expression: str, *, roots: frozenset[str] = ROOTS) -> Parsed | ExpressionError:
    """Return tree and program of an expression. Cached, because each reconciliation parses the same ones."""
    if len(expression) > MAX_LENGTH:
        return errors.too_expensive(f"the expression has {len(expression):,} characters; {MAX_LENGTH:,} are allowed")
    if len(_DOUBLING.findall(expression)) > MAX_OPTIONAL_MACROS:
        return errors.too_expensive(
            f"optMap and optFlatMap may be used up to {MAX_OPTIONAL_MACROS} times in an expression"
        )
    serialized = library.parse(expression)
    if isinstance(serialized, ExpressionError):
        return serialized
    node = ast.decode(serialized)
    uses = tuple(_uses(node, frozenset()))
    problem = _unknown(expression, uses, roots) or _too_deep(expression, node)
    program = problem or library.compile_(expression, serialized, roots)
    if isinstance(program, ExpressionError):
        return program
    return Parsed(node=node, uses=tuple(use for use in uses if use.root in roots), program=program)


def position(expression: str, at: int) -> str:
    """Return `column 7`, or `line 2, column 7` if there are several lines."""
    before = expression[:at]
    column = f"column {at - (before.rfind(chr(10)) + 1) + 1}"
    return f"line {before.count(chr(10)) + 1}, {column}" if "\n" in expression else column


def _uses(node: ast.Node, bound: frozenset[str]) -> Iterator[Use]:
    match node:
        case ast.Name() if node.name not in bound:
            yield Use(name=node, first=None, second=None)
        case ast.Field(operand=ast.Field(operand=ast.Name(name=name) as root) as first) if name not in bound:
            yield Use(name=root, first=first, second=node)
        case ast.Field(operand=ast.Name(name=name) as root) if name not in bound:
            yield Use(name=root, first=node, second=None)
        case _:
            for child, inner in _scopes(node):
                yield from _uses(child, bound | inner)


def _scopes(node: ast.Node) -> Iterator[tuple[ast.Node, frozenset[str]]]:
    """Yield the children of a node with the variables that the node binds for each."""
    match node:
        case ast.Name() | ast.Text():
            return
        case ast.Field():
            yield node.operand, frozenset()
        case ast.Call(operands=children) | ast.Group(members=children):
            yield from ((child, frozenset()) for child in children)
        case ast.Loop():
            yield from ((child, frozenset()) for child in node.outside)
            yield from ((child, node.variables) for child in node.body)


def _unknown(expression: str, uses: tuple[Use, ...], roots: frozenset[str]) -> ExpressionError | None:
    known = roots | _TYPES | _NAMESPACES
    for use in uses:
        if use.root not in known:
            where = position(expression, use.name.at)
            names = ", ".join(sorted(roots)) or "no names at all"
            return errors.invalid(f"unknown name {use.root!r} at {where}; known names: {names}")
    return None


def _too_deep(expression: str, node: ast.Node) -> ExpressionError | None:
    depth, at = _depth(node)
    if depth <= MAX_MACRO_DEPTH:
        return None
    where = position(expression, at)
    return errors.too_expensive(
        f"macros (map, filter, all, exists) are nested {depth} deep at {where}; {MAX_MACRO_DEPTH} are allowed"
    )


def _depth(node: ast.Node) -> tuple[int, int]:
    """Return the nesting of loops, and the position of the outermost loop of the deepest nest."""
    match node:
        case ast.Loop():
            inside = max(_depth(child)[0] for child in node.body) + int(node.repeats)
            return max((inside, node.at), *(_depth(child) for child in node.outside))
        case ast.Field():
            return _depth(node.operand)
        case ast.Call(operands=children) | ast.Group(members=children):
            return max((_depth(child) for child in children), default=(0, 0))
        case ast.Name() | ast.Text():
            return 0, 0

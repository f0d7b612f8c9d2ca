"""Checks expressions: grammar, types, names and size. Pure.

The parser and checker of the CEL library run in this process, within the limit on length here and the library's own
limit on depth. Nothing is evaluated.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple
from weakref import WeakValueDictionary

from torpor_expressions import ast, errors, hints, library
from torpor_expressions.errors import ExpressionError, ExpressionReason

ROOTS = frozenset({"tasks", "params", "item", "index", "event", "workflow"})
MAX_LENGTH = 1024
MAX_MACRO_DEPTH = 2
MAX_OPTIONAL_MACROS = 3

# These macros duplicate their operand: a chain of 25 of them, in 350 characters, expands to gigabytes before the tree
# can be measured. So they are counted in the text.
_DOUBLING = re.compile(r"\bopt(?:Flat)?Map\b")

_TYPES = frozenset({"bool", "bytes", "double", "int", "list", "map", "null_type", "string", "type", "uint"})
_NAMESPACES = frozenset({"base64", "google", "optional", "optional_type", "strings"})


class Use(NamedTuple):
    """A use of a root: its name without a leading dot, its position, the field of it, and the field of that, if any."""

    root: str
    at: int
    first: str | None = None
    second: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True, weakref_slot=True)
class Parsed:
    """What is known of an expression by its grammar. It does not hold the tree, which may take 50 kB."""

    uses: tuple[Use, ...]  # each once, at its first position
    path: tuple[str, ...]  # the names of an expression that is a name with fields only, such as `params.a.b`
    macro_depth: int
    deepest: int  # the position of the outermost macro of the deepest nest

    def roots(self, known: frozenset[str]) -> frozenset[str]:
        """The known roots that it uses."""
        return frozenset(use.root for use in self.uses) & known


def check(expression: str, *, roots: frozenset[str] = ROOTS) -> ExpressionError | None:
    """Return what is wrong with an expression before any value is known, or None."""
    parsed = read(expression, roots=roots)
    return parsed if isinstance(parsed, ExpressionError) else _type_problem(expression, roots)


def read(expression: str, *, roots: frozenset[str] = ROOTS) -> Parsed | ExpressionError:
    """Return what an expression uses, or what is wrong with its grammar, names or size. Types are not checked."""
    parsed = parse(expression)
    if isinstance(parsed, ExpressionError):
        return parsed
    return _unknown(expression, parsed, roots) or _too_deep(expression, parsed) or parsed


_HELD: "WeakValueDictionary[str, Parsed]" = WeakValueDictionary()
"""What callers hold, such as the graph of a Workflow: they parse nothing again, however many expressions there are."""


def parse(expression: str) -> Parsed | ExpressionError:
    """Return what the grammar says about an expression: parsed once, as long as a caller holds the value."""
    held = _HELD.get(expression)
    if held is not None:
        return held
    parsed = _parse(expression)
    if isinstance(parsed, Parsed):
        _HELD[expression] = parsed
    return parsed


@lru_cache(maxsize=2048)
def compile_(expression: str, roots: frozenset[str]) -> library.CompiledExpression | ExpressionError:
    """Return the program of an expression that `read` accepts, or an error of the type checker."""
    return _compiled(expression, roots)


@lru_cache(maxsize=4096)
def _type_problem(expression: str, roots: frozenset[str]) -> ExpressionError | None:
    """Return the error of the type checker. The program is dropped: only a child process runs it."""
    program = _compiled(expression, roots)
    return program if isinstance(program, ExpressionError) else None


def _compiled(expression: str, roots: frozenset[str]) -> library.CompiledExpression | ExpressionError:
    serialized = library.parse(expression)
    return serialized if isinstance(serialized, ExpressionError) else library.compile_(expression, serialized, roots)


@lru_cache(maxsize=2048)
def _parse(expression: str) -> Parsed | ExpressionError:
    if len(expression) > MAX_LENGTH:
        return errors.too_expensive(f"the expression has {len(expression):,} characters; {MAX_LENGTH:,} are allowed")
    if len(_DOUBLING.findall(expression)) > MAX_OPTIONAL_MACROS:
        return errors.too_expensive(
            f"optMap and optFlatMap may be used up to {MAX_OPTIONAL_MACROS} times in an expression"
        )
    serialized = library.parse(expression)
    if isinstance(serialized, ExpressionError):
        return _with_hint(serialized, expression)
    node = ast.decode(serialized)
    depth, at = _depth(node)
    return Parsed(uses=_distinct(_uses(node, frozenset())), path=_path(node), macro_depth=depth, deepest=at)


def _with_hint(error: ExpressionError, expression: str) -> ExpressionError:
    """Return an error of the grammar with what to write instead, if that can be guessed."""
    hint = hints.of_syntax(expression) if error.reason is ExpressionReason.INVALID else ""
    return errors.invalid(error.message + hint) if hint else error


def position(expression: str, at: int) -> str:
    """Return `column 7`, or `line 2, column 7` if there are several lines."""
    before = expression[:at]
    column = f"column {at - (before.rfind(chr(10)) + 1) + 1}"
    return f"line {before.count(chr(10)) + 1}, {column}" if "\n" in expression else column


def _distinct(uses: Iterable[Use]) -> tuple[Use, ...]:
    first: dict[tuple[str | None, ...], Use] = {}
    for use in uses:
        first.setdefault((use.root, use.first, use.second), use)
    return tuple(first.values())


def _path(node: ast.Node) -> tuple[str, ...]:
    names: list[str] = []
    while isinstance(node, ast.FieldNode) and node.value:
        names.append(node.field)
        node = node.operand
    return (node.name, *reversed(names)) if isinstance(node, ast.NameNode) else ()


def _uses(node: ast.Node, bound: frozenset[str]) -> Iterator[Use]:
    match node:
        case ast.NameNode(name=name, at=at) if name not in bound:
            yield Use(_root(name), at)
        case ast.FieldNode(operand=ast.FieldNode(operand=ast.NameNode(name=name, at=at)) as first) if name not in bound:
            yield Use(_root(name), at, first.field, node.field)
        case ast.FieldNode(operand=ast.NameNode(name=name, at=at)) if name not in bound:
            yield Use(_root(name), at, node.field)
        case _:
            for child, inner in _scopes(node):
                yield from _uses(child, bound | inner)


def _root(name: str) -> str:
    return name.removeprefix(".")


def _scopes(node: ast.Node) -> Iterator[tuple[ast.Node, frozenset[str]]]:
    """Yield the children of a node with the variables that the node binds for each."""
    match node:
        case ast.NameNode() | ast.TextNode():
            return
        case ast.FieldNode():
            yield node.operand, frozenset()
        case ast.CallNode(operands=children) | ast.GroupNode(members=children):
            yield from ((child, frozenset()) for child in children)
        case ast.LoopNode():
            yield from ((child, frozenset()) for child in node.outside)
            yield from ((child, node.variables) for child in node.body)


def _unknown(expression: str, parsed: Parsed, roots: frozenset[str]) -> ExpressionError | None:
    known = roots | _TYPES | _NAMESPACES
    for use in parsed.uses:
        if use.root not in known:
            where = position(expression, use.at)
            names = ", ".join(sorted(roots)) or "no names at all"
            hint = hints.of_name(use.root, roots, alone=bool(parsed.path))
            return errors.invalid(f"unknown name {use.root!r} at {where}; known names: {names}{hint}")
    return None


def _too_deep(expression: str, parsed: Parsed) -> ExpressionError | None:
    if parsed.macro_depth <= MAX_MACRO_DEPTH:
        return None
    where = position(expression, parsed.deepest)
    return errors.too_expensive(
        f"macros (map, filter, all, exists) are nested {parsed.macro_depth} deep at {where}; "
        f"{MAX_MACRO_DEPTH} are allowed"
    )


def _depth(node: ast.Node) -> tuple[int, int]:
    """Return the nesting of loops, and the position of the outermost loop of the deepest nest."""
    match node:
        case ast.LoopNode():
            inside = max(_depth(child)[0] for child in node.body) + int(node.repeats)
            return max((inside, node.at), *(_depth(child) for child in node.outside))
        case ast.FieldNode():
            return _depth(node.operand)
        case ast.CallNode(operands=children) | ast.GroupNode(members=children):
            return max((_depth(child) for child in children), default=(0, 0))
        case ast.NameNode() | ast.TextNode():
            return 0, 0

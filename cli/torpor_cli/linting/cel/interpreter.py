"""Evaluates the tree of a rule over JSON values. Pure."""

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, assert_never

from torpor_cli.linting.cel import functions, tree
from torpor_cli.linting.cel.functions import CelError, Value
from torpor_cli.linting.cel.tree import Node


def evaluate(rule: str, names: Mapping[str, Value]) -> Value:
    """Return the value of a rule. Raises CelError, and tree.RuleError for a rule that does not parse."""
    return run(tree.parse(rule), ChainMap({}, dict(names)))


def run(node: Node, scope: ChainMap[str, Any]) -> Value:
    """Return the value of a tree with these names. Raises CelError."""
    match node:
        case tree.Constant():
            return node.value
        case tree.CelName():
            return _name(node.name, scope)
        case tree.Select():
            return _select(node, scope)
        case tree.CelList():
            return [run(item, scope) for item in node.items]
        case tree.CelMap():
            return {run(key, scope): run(value, scope) for key, value in node.entries}
        case tree.CelLoop():
            return _loop(node, scope)
        case tree.CelCall():
            return _call(node, scope)
        case _:
            assert_never(node)


def _name(name: str, scope: ChainMap[str, Any]) -> Value:
    if name in scope:
        value = scope[name]
        if isinstance(value, CelError):
            raise value
        return value
    if name in functions.TYPES:
        return functions.TYPES[name]
    raise CelError(f"unknown name {name}")


def _select(node: tree.Select, scope: ChainMap[str, Any]) -> Value:
    operand = run(node.operand, scope)
    if node.test:
        return functions.optional_field(operand, node.field).present
    return functions.field(operand, node.field)


def _loop(node: tree.CelLoop, scope: ChainMap[str, Any]) -> Value:
    inner = scope.new_child({node.result_name: run(node.first, scope)})
    for item in _iterated(run(node.over, scope)):
        inner[node.variable] = item
        if run(node.condition, inner) is False:
            break
        inner[node.result_name] = _step(node, inner)
    inner.pop(node.variable, None)
    return run(node.result, inner)


def _step(node: tree.CelLoop, inner: ChainMap[str, Any]) -> Value:
    """Return the next result, or the error in its place: a later item can still decide `exists`."""
    try:
        return run(node.step, inner)
    except CelError as error:
        return error


def _iterated(value: Value) -> list[Value]:
    if isinstance(value, list | Mapping):
        return list(value)
    raise CelError("a macro needs a list or a map")


def _call(node: tree.CelCall, scope: ChainMap[str, Any]) -> Value:
    match node:
        case tree.CelCall(function="_&&_", arguments=arguments):
            return _logical(arguments, scope, decisive=False)
        case tree.CelCall(function="_||_", arguments=arguments):
            return _logical(arguments, scope, decisive=True)
        case tree.CelCall(function="_?_:_", arguments=(condition, first, second)):
            return run(first if run(condition, scope) is True else second, scope)
        case tree.CelCall(function="@not_strictly_false", arguments=(condition,)):
            return _not_strictly_false(condition, scope)
        case tree.CelCall(target=target) if target is not None and node.function in _TWO_VARIABLES:
            return _TWO_VARIABLES[node.function](run(target, scope), node.arguments, scope)
        case _:
            operands = [*([] if node.target is None else [node.target]), *node.arguments]
            return _applied(node.function, [run(operand, scope) for operand in operands])


def _logical(operands: tuple[Node, ...], scope: ChainMap[str, Any], *, decisive: bool) -> bool:
    """Return `&&` or `||`: one operand that decides hides an error of the other."""
    failed: CelError | None = None
    for operand in operands:
        try:
            if run(operand, scope) is decisive:
                return bool(decisive)
        except CelError as error:
            failed = error
    if failed is not None:
        raise failed
    return not decisive


def _not_strictly_false(condition: Node, scope: ChainMap[str, Any]) -> bool:
    try:
        value: Value = run(condition, scope)
    except CelError:
        return True
    return value is not False


def _applied(function: str, operands: list[Value]) -> Value:
    if function not in functions.FUNCTIONS:
        raise CelError(f"unknown function {function}")
    try:
        return functions.FUNCTIONS[function](*operands)
    except (TypeError, AttributeError, ValueError, KeyError) as error:
        raise CelError(f"{function} is not defined for its operands: {error}") from error


def _pairs(
    value: Value, arguments: tuple[Node, ...], scope: ChainMap[str, Any]
) -> Iterator[tuple[Value, ChainMap[str, Any]]]:
    """Yield each key or index with the scope of the body; a filter before the body leaves pairs out."""
    first, second, *rest = arguments
    if not (isinstance(first, tree.CelName) and isinstance(second, tree.CelName)):
        raise CelError("a macro needs two names")
    for key, item in value.items() if isinstance(value, Mapping) else enumerate(_iterated(value)):
        inner = scope.new_child({first.name: key, second.name: item})
        if len(rest) == 1 or run(rest[0], inner) is True:
            yield key, inner


def _transform_list(value: Value, arguments: tuple[Node, ...], scope: ChainMap[str, Any]) -> Value:
    return [run(arguments[-1], inner) for _, inner in _pairs(value, arguments, scope)]


def _transform_map(value: Value, arguments: tuple[Node, ...], scope: ChainMap[str, Any]) -> Value:
    return {key: run(arguments[-1], inner) for key, inner in _pairs(value, arguments, scope)}


def _transform_map_entry(value: Value, arguments: tuple[Node, ...], scope: ChainMap[str, Any]) -> Value:
    entries: dict[str, Value] = {}
    for _, inner in _pairs(value, arguments, scope):
        added = run(arguments[-1], inner)
        if twice := entries.keys() & added.keys():
            raise CelError(f"insert failed: key {min(twice)} already exists")
        entries |= added
    return entries


_Macro = Callable[[Value, tuple[Node, ...], "ChainMap[str, Any]"], Value]
_TWO_VARIABLES: Mapping[str, _Macro] = {
    "transformList": _transform_list,
    "transformMap": _transform_map,
    "transformMapEntry": _transform_map_entry,
}

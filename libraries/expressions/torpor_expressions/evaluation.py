"""Evaluates an expression in this process.

Child processes, tests and simulations run this. It cannot be interrupted, so expressions of users go through
`evaluator.Evaluator`.
"""

from collections.abc import Mapping

from torpor_expressions import errors, syntax
from torpor_expressions.errors import ExpressionError
from torpor_expressions.value import JSON, Value


def evaluate(expression: str, variables: Mapping[str, JSON]) -> Value | ExpressionError:
    """Return the value of an expression. The keys of `variables` are its names; unused ones are not read."""
    names = frozenset(variables)
    parsed = syntax.read(expression, roots=names)
    if isinstance(parsed, ExpressionError):
        return parsed
    program = syntax.compile_(expression, names)
    if isinstance(program, ExpressionError):
        return program
    try:
        return program.run({name: variables[name] for name in parsed.roots(names)})
    except RecursionError:
        return errors.failed("the values are nested too deep")

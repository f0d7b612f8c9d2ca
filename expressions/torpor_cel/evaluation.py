"""Evaluating an expression in this process.

The one meaning of an expression: a child process runs this, and so do tests and simulations. Nothing here can be
stopped half way; who evaluates what a user wrote goes through `evaluator.Evaluator`.
"""

from collections.abc import Mapping

from torpor_cel import errors, syntax
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON, Value


def evaluate(expression: str, variables: Mapping[str, JSON]) -> Value | ExpressionError:
    """The expression's value. The keys of `variables` are the names it may use; only those it uses are looked at."""
    parsed = syntax.parse(expression, roots=frozenset(variables))
    if isinstance(parsed, ExpressionError):
        return parsed
    try:
        return parsed.program.run({name: variables[name] for name in parsed.roots})
    except RecursionError:
        return errors.failed("the values are nested too deep")

"""Evaluating an expression in this process.

The one meaning of an expression: a child process runs this, and so do tests and simulations. Nothing here can be
stopped half way; who evaluates what a user wrote goes through `evaluator.Evaluator`.
"""

from collections.abc import Mapping
from functools import lru_cache

from torpor_cel import errors, library, syntax
from torpor_cel.errors import ExpressionError
from torpor_cel.value import JSON, Value


def evaluate(expression: str, variables: Mapping[str, JSON]) -> Value | ExpressionError:
    """The expression's value. The keys of `variables` are the names it may use; only those it uses are looked at."""
    compiled = _compiled(expression, frozenset(variables))
    if isinstance(compiled, ExpressionError):
        return compiled
    program, used = compiled
    try:
        return program.run({name: variables[name] for name in used})
    except RecursionError:
        return errors.failed("the values are nested too deep")


@lru_cache(maxsize=1024)
def _compiled(expression: str, roots: frozenset[str]) -> tuple[library.Program, frozenset[str]] | ExpressionError:
    parsed = syntax.parse(expression, roots=roots)
    if isinstance(parsed, ExpressionError):
        return parsed
    program = library.compile_(expression, roots)
    return program if isinstance(program, ExpressionError) else (program, parsed.roots)

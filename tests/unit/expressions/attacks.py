"""Attacks on the evaluator, and the child processes that a test has made."""

import contextlib
from pathlib import Path

from torpor_expressions.errors import ExpressionError, ExpressionReason
from torpor_expressions.evaluator import Evaluator
from torpor_expressions.value import Value

# Each round doubles what the one before it made: 40 rounds of a string of 10 characters are 10 terabytes.
DOUBLING = "s" + ".map(x, x + x)" * 30
# Quadratic in native code and without a step that the library counts.
SLOW = "s.split('').map(x, s.replace(x, s)).size()"


_STRANGERS: set[int] = set()


def note_strangers() -> None:
    """Children that this process had before the test: servers of other tests in the same run."""
    _STRANGERS.clear()
    _STRANGERS.update(children())


def children() -> list[int]:
    """The direct children of this process that the test has made, zombies too."""
    numbers: list[int] = []
    for thread in Path("/proc/self/task").iterdir():
        # A thread of another test's may end meanwhile.
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            numbers += map(int, (thread / "children").read_text().split())
    return [pid for pid in numbers if pid not in _STRANGERS]


def reason(outcome: Value | ExpressionError) -> ExpressionReason | None:
    return outcome.reason if isinstance(outcome, ExpressionError) else None


async def good(pool: Evaluator) -> bool:
    return await pool.evaluate("params.x + 1", {"params": {"x": 1}}) == Value(json=2)

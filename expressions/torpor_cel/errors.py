"""What can be wrong with an expression, as a value.

An expression is written by a user, so its failing is an expected outcome: it is returned, never raised, and ends up
as reason and message of a condition.
"""

from dataclasses import dataclass
from enum import StrEnum

MESSAGE_MAX = 299
_EXPRESSION_SHOWN = 200
_IN = "; in "


class Reason(StrEnum):
    """Why; the words stand in conditions and Events, so they are part of the API."""

    INVALID = "ExpressionInvalid"
    FAILED = "ExpressionFailed"
    TOO_EXPENSIVE = "ExpressionTooExpensive"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionError:
    """A message that a person can act on, 299 characters at most."""

    reason: Reason
    message: str

    def under(self, path: str) -> "ExpressionError":
        """The same error, its message naming where the expression stands."""
        return ExpressionError(reason=self.reason, message=shorten(f"{path}: {self.message}")) if path else self

    def of(self, expression: str) -> "ExpressionError":
        """The same error, its message naming the expression, 200 characters of it at most."""
        shown = shorten(expression, _EXPRESSION_SHOWN)
        return ExpressionError(
            reason=self.reason, message=f"{shorten(self.message, MESSAGE_MAX - len(shown) - len(_IN))}{_IN}{shown}"
        )


def invalid(message: str) -> ExpressionError:
    """An expression that can never work as it is written."""
    return ExpressionError(reason=Reason.INVALID, message=shorten(message))


def failed(message: str) -> ExpressionError:
    """An expression that did not work on these values."""
    return ExpressionError(reason=Reason.FAILED, message=shorten(message))


def too_expensive(message: str) -> ExpressionError:
    """An expression that was refused or stopped for what it costs."""
    return ExpressionError(reason=Reason.TOO_EXPENSIVE, message=shorten(message))


def shorten(text: str, limit: int = MESSAGE_MAX) -> str:
    """One line of at most `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"

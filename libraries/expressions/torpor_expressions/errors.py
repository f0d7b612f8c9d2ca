"""Errors of expressions as values.

Users write expressions, so an error is an expected outcome: it is returned, never raised, and becomes reason and
message of a condition.
"""

from dataclasses import dataclass
from enum import StrEnum

MESSAGE_MAX = 299
_EXPRESSION_SHOWN = 200
_IN = "; in "


class ExpressionReason(StrEnum):
    """Reasons of conditions and Events, so part of the API."""

    INVALID = "ExpressionInvalid"
    FAILED = "ExpressionFailed"
    TOO_EXPENSIVE = "ExpressionTooExpensive"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionError:
    """An error with a message of up to 299 characters."""

    reason: ExpressionReason
    message: str

    def under(self, path: str) -> "ExpressionError":
        """Return the same error with the location of the expression in its message."""
        return ExpressionError(reason=self.reason, message=shorten(f"{path}: {self.message}")) if path else self

    def with_expression(self, expression: str) -> "ExpressionError":
        """Return the same error with up to 200 characters of the expression in its message."""
        shown = shorten(expression, _EXPRESSION_SHOWN)
        return ExpressionError(
            reason=self.reason, message=f"{shorten(self.message, MESSAGE_MAX - len(shown) - len(_IN))}{_IN}{shown}"
        )


def invalid(message: str) -> ExpressionError:
    """Return an error of an expression that can never work."""
    return ExpressionError(reason=ExpressionReason.INVALID, message=shorten(message))


def failed(message: str) -> ExpressionError:
    """Return an error of an expression that failed on these values."""
    return ExpressionError(reason=ExpressionReason.FAILED, message=shorten(message))


def too_expensive(message: str) -> ExpressionError:
    """Return an error of an expression that exceeds its limits."""
    return ExpressionError(reason=ExpressionReason.TOO_EXPENSIVE, message=shorten(message))


def shorten(text: str, limit: int = MESSAGE_MAX) -> str:
    """Return one line of up to `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"

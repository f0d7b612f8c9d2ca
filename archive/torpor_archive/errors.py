"""The error responses: a status code, a CamelCase reason for programs, and a message for people.

Decisions return a `Refusal`. Request handlers raise it as `RefusedError`, the base error of this package.
"""

from dataclasses import dataclass
from http import HTTPStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An error response."""

    status: int
    reason: str
    message: str


class RefusedError(Exception):
    """Ends a request with an error response."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def invalid(message: str) -> Refusal:
    """400: the request is malformed."""
    return Refusal(status=HTTPStatus.BAD_REQUEST, reason="Invalid", message=message)


def unauthenticated(message: str) -> Refusal:
    """401: the caller is not authenticated."""
    return Refusal(status=HTTPStatus.UNAUTHORIZED, reason="Unauthenticated", message=message)


def forbidden(message: str) -> Refusal:
    """403: the caller lacks permission."""
    return Refusal(status=HTTPStatus.FORBIDDEN, reason="Forbidden", message=message)


def not_found(message: str) -> Refusal:
    """404: the object does not exist."""
    return Refusal(status=HTTPStatus.NOT_FOUND, reason="NotFound", message=message)


def too_large(message: str) -> Refusal:
    """413: the body exceeds a fixed limit."""
    return Refusal(status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason="TooLarge", message=message)


def too_slow(message: str) -> Refusal:
    """408: the client sent the body too slowly."""
    return Refusal(status=HTTPStatus.REQUEST_TIMEOUT, reason="TooSlow", message=message)


def quota_exceeded(message: str) -> Refusal:
    """507: the namespace has used its quota."""
    return Refusal(status=HTTPStatus.INSUFFICIENT_STORAGE, reason="QuotaExceeded", message=message)


def out_of_range(message: str) -> Refusal:
    """416: the item does not exist."""
    return Refusal(status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, reason="OutOfRange", message=message)


def unavailable(reason: str, message: str) -> Refusal:
    """503: a retry may succeed."""
    return Refusal(status=HTTPStatus.SERVICE_UNAVAILABLE, reason=reason, message=message)

"""The error responses: a status code, a CamelCase reason for programs, and a message for people.

Decisions return a `ErrorResponse`. Request handlers raise it as `RefusedError`, the base error of this package.
"""

from dataclasses import dataclass
from http import HTTPStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorResponse:
    """An error response."""

    status: int
    reason: str
    message: str


class RefusedError(Exception):
    """Ends a request with an error response."""

    def __init__(self, refusal: ErrorResponse) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def invalid(message: str) -> ErrorResponse:
    """400: the request is malformed."""
    return ErrorResponse(status=HTTPStatus.BAD_REQUEST, reason="Invalid", message=message)


def unauthenticated(message: str) -> ErrorResponse:
    """401: the caller is not authenticated."""
    return ErrorResponse(status=HTTPStatus.UNAUTHORIZED, reason="Unauthenticated", message=message)


def forbidden(message: str) -> ErrorResponse:
    """403: the caller lacks permission."""
    return ErrorResponse(status=HTTPStatus.FORBIDDEN, reason="Forbidden", message=message)


def not_found(message: str) -> ErrorResponse:
    """404: the object does not exist."""
    return ErrorResponse(status=HTTPStatus.NOT_FOUND, reason="NotFound", message=message)


def too_large(message: str) -> ErrorResponse:
    """413: the body exceeds a fixed limit."""
    return ErrorResponse(status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason="TooLarge", message=message)


def too_slow(message: str) -> ErrorResponse:
    """408: the client sent the body too slowly."""
    return ErrorResponse(status=HTTPStatus.REQUEST_TIMEOUT, reason="TooSlow", message=message)


def quota_exceeded(message: str) -> ErrorResponse:
    """507: the namespace has used its quota."""
    return ErrorResponse(status=HTTPStatus.INSUFFICIENT_STORAGE, reason="QuotaExceeded", message=message)


def out_of_range(message: str) -> ErrorResponse:
    """416: the item does not exist."""
    return ErrorResponse(status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, reason="OutOfRange", message=message)


def unavailable(reason: str, message: str) -> ErrorResponse:
    """503: a retry may succeed."""
    return ErrorResponse(status=HTTPStatus.SERVICE_UNAVAILABLE, reason=reason, message=message)

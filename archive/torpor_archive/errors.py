"""Why a request is not served: a status code, one CamelCase word for programs, a sentence for people.

A decision gives a Refusal as its outcome; where a request is served, it is raised as `RefusedError`, the one base
error of this package.
"""

from dataclasses import dataclass
from http import HTTPStatus


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One answer that is no success."""

    status: int
    reason: str
    message: str


class RefusedError(Exception):
    """Ends a request with a refusal."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


def invalid(message: str) -> Refusal:
    """400: the request must be another."""
    return Refusal(status=HTTPStatus.BAD_REQUEST, reason="Invalid", message=message)


def unauthenticated(message: str) -> Refusal:
    """401: nobody knows who asks."""
    return Refusal(status=HTTPStatus.UNAUTHORIZED, reason="Unauthenticated", message=message)


def forbidden(message: str) -> Refusal:
    """403: who asks may not."""
    return Refusal(status=HTTPStatus.FORBIDDEN, reason="Forbidden", message=message)


def not_found(message: str) -> Refusal:
    """404: there is no such thing here."""
    return Refusal(status=HTTPStatus.NOT_FOUND, reason="NotFound", message=message)


def too_large(message: str) -> Refusal:
    """413: it will never fit."""
    return Refusal(status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE, reason="TooLarge", message=message)


def too_slow(message: str) -> Refusal:
    """408: the body did not come fast enough."""
    return Refusal(status=HTTPStatus.REQUEST_TIMEOUT, reason="TooSlow", message=message)


def quota_exceeded(message: str) -> Refusal:
    """507: there is no room for more of this namespace."""
    return Refusal(status=HTTPStatus.INSUFFICIENT_STORAGE, reason="QuotaExceeded", message=message)


def out_of_range(message: str) -> Refusal:
    """416: there is no such item."""
    return Refusal(status=HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, reason="OutOfRange", message=message)


def unavailable(reason: str, message: str) -> Refusal:
    """503: the same request may be served later."""
    return Refusal(status=HTTPStatus.SERVICE_UNAVAILABLE, reason=reason, message=message)

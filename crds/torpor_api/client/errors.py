"""What can go wrong with a request to the API server, as types that a caller can tell apart.

A lost race (`LostRace`, `Conflict`, `AlreadyExists`, `NotFound`) is an expected outcome; `Refused` and `Forbidden` are
for people to read; `Unavailable` may be tried again. Nothing here decides whether to.
"""
# ruff: noqa: N818 - the names are those of the API conventions' reasons, and most are outcomes, not errors

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from torpor_api.client.transport import Response


class ApiError(Exception):
    """The API server did not do what was asked. The base of all errors of this package."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


class NotFound(ApiError):
    """404: no such object, or no such kind."""


class AlreadyExists(ApiError):
    """409 on create: the name is taken."""


class Conflict(ApiError):
    """409 otherwise: the object has changed since it was read, or is not the one that was meant."""


class LostRace(ApiError):
    """422 without causes: a `test` of a JSON Patch did not hold, so another writer was first."""


class Refused(ApiError):
    """422 with causes: the object breaks its schema or a rule; the message says which."""


class Forbidden(ApiError):
    """401 or 403: not authenticated, or not allowed."""


class Gone(ApiError):
    """410: the resourceVersion is too old to go on from; list again."""


class Unavailable(ApiError):
    """429, 5xx or no answer: may be tried again, after `retry_after` seconds where the server says so."""


class Unreachable(Unavailable):
    """No answer at all: a write may have been carried out or not."""


class TooLarge(ApiError):
    """The answer is longer than the transport reads: ask for fewer objects at a time."""


class Unconfigured(ApiError):
    """Nobody said which cluster to talk to, or what was said cannot be used."""


def of(response: Response) -> ApiError:
    """The error that a response with a status code of 400 or more is."""
    status = response.body if isinstance(response.body, Mapping) else {"message": str(response.body or "")}
    return _build(response.status, status, response.retry_after)


def of_status(status: Mapping[str, Any]) -> ApiError:
    """The error that a `Status` object is, such as that of an ERROR event in a watch."""
    code = status.get("code")
    return _build(code if isinstance(code, int) else HTTPStatus.INTERNAL_SERVER_ERROR, status, None)


def _build(code: int, status: Mapping[str, Any], retry_after: float | None) -> ApiError:
    reason = str(status.get("reason") or "")
    message = str(status.get("message") or "") or f"the API server answered {code} {reason}".rstrip()
    details = status.get("details")
    details = details if isinstance(details, Mapping) else {}
    if retry_after is None and isinstance(details.get("retryAfterSeconds"), int):
        retry_after = float(details["retryAfterSeconds"])
    error = _class(code, reason, causes=bool(details.get("causes")))
    return error(message, status=code, reason=reason, retry_after=retry_after)


def _class(code: int, reason: str, *, causes: bool) -> type[ApiError]:
    if code == HTTPStatus.CONFLICT:
        return AlreadyExists if reason == "AlreadyExists" else Conflict
    if code == HTTPStatus.UNPROCESSABLE_ENTITY:
        return Refused if causes else LostRace
    return _BY_CODE.get(code, Unavailable if code >= HTTPStatus.INTERNAL_SERVER_ERROR else ApiError)


_BY_CODE: dict[int, type[ApiError]] = {
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.UNAUTHORIZED: Forbidden,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.GONE: Gone,
    HTTPStatus.TOO_MANY_REQUESTS: Unavailable,
}

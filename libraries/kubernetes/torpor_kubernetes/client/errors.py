"""The errors of requests to the API server, as types.

A lost race (`LostRace`, `Conflict`, `AlreadyExists`, `NotFound`) is an expected outcome. `Refused` and `Forbidden` need
a person. `ApiUnavailable` may be retried; the caller decides.
"""
# ruff: noqa: N818 - the names are the reasons of the API conventions, and most are outcomes, not errors

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from torpor_kubernetes.client.transport import Response


class ApiError(Exception):
    """A failed request. The base of all errors of this package."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.reason = reason
        self.retry_after = retry_after

    @property
    def exceeds_quota(self) -> bool:
        """Whether a ResourceQuota caused the rejection."""
        return "exceeded quota" in self.message


class NotFound(ApiError):
    """404: no such object or kind."""


class AlreadyExists(ApiError):
    """409 on create: the name is taken."""


class Conflict(ApiError):
    """409 otherwise: the object has changed since it was read, or is another one."""


class LostRace(ApiError):
    """422 without causes: a `test` of a JSON Patch failed, because another client wrote first."""


class Refused(ApiError):
    """422 with causes: the object violates its schema or a rule; the message says which."""


class Forbidden(ApiError):
    """401 or 403: not authenticated or not allowed."""

    @property
    def lacks_role(self) -> bool:
        """Whether the caller lacks a role. Otherwise a policy, a quota or an unknown token caused the rejection."""
        return "cannot " in self.message and " resource " in self.message


class Gone(ApiError):
    """410: the resourceVersion is too old to continue from; list again."""


class ApiUnavailable(ApiError):
    """429, 5xx or no response: retry, after `retry_after` seconds if the server gave them."""


class Unreachable(ApiUnavailable):
    """No response: a write may or may not have happened."""


class TooLarge(ApiError):
    """The response exceeds the transport's limit: request fewer objects at a time."""


class Unconfigured(ApiError):
    """No cluster is configured, or its configuration is unusable."""


def from_response(response: Response) -> ApiError:
    """Build the error for a response with a status code of 400 or more."""
    status = response.body if isinstance(response.body, Mapping) else {"message": str(response.body or "")}
    return _build(response.status, status, response.retry_after)


def from_status(status: Mapping[str, Any]) -> ApiError:
    """Build the error for a `Status` object, for example from an ERROR event of a watch."""
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
    return _BY_CODE.get(code, ApiUnavailable if code >= HTTPStatus.INTERNAL_SERVER_ERROR else ApiError)


_BY_CODE: dict[int, type[ApiError]] = {
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.UNAUTHORIZED: Forbidden,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.GONE: Gone,
    HTTPStatus.TOO_MANY_REQUESTS: ApiUnavailable,
}

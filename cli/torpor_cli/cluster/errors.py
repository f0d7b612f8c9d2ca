"""Translates responses and failures of the network to errors of one line that says what to do."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from torpor_cli.errors import CliError

_INSTALL = "docs/install.md"
_NO_RESOURCE = ("the server could not find the requested resource", "404 page not found")
"""What the API server says of a kind, and of an API group, that it does not serve."""


class ClusterError(CliError):
    """A request failed. `status` is the HTTP status, 0 without a response."""

    def __init__(self, message: str, *, status: int = 0, reason: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


class NotFoundError(ClusterError):
    """404 for an object."""


class ConflictError(ClusterError):
    """409, or 422 for a failed `test` of a JSON Patch: the object exists, or has changed."""


class ForbiddenError(ClusterError):
    """401 or 403."""


class InvalidObjectError(ClusterError):
    """400 or 422 for the content of an object, or 403 from an admission policy: the object has to change."""


class GoneError(ClusterError):
    """410: list again."""


class UnavailableError(ClusterError):
    """429, 5xx or no response."""


def from_response(code: int, body: Any, *, place: str, retry_after: float | None = None) -> ClusterError:
    """Build the error for an HTTP status of 400 or more. `body` is the Status object, `place` the context."""
    status = body if isinstance(body, Mapping) else {}
    reason = str(status.get("reason") or "")
    text = " ".join(str(status.get("message") or body or HTTPStatus(code).phrase).split())
    details = status.get("details")
    details = details if isinstance(details, Mapping) else {}
    if retry_after is None and isinstance(details.get("retryAfterSeconds"), int):
        retry_after = float(details["retryAfterSeconds"])
    kind, message = _kind(code, reason, details, text), _message(code, text, details, place)
    return kind(message, status=code, reason=reason, retry_after=retry_after)


def unreachable(place: str, url: str, cause: str) -> UnavailableError:
    """Build the error for a request without a response."""
    if "CERTIFICATE_VERIFY_FAILED" in cause:
        return UnavailableError(f"the certificate of {url} is not trusted ({place}); correct the CA in the kubeconfig")
    return UnavailableError(f"no response from {url} ({place}): {cause}; check the network, or choose --context")


def _kind(code: int, reason: str, details: Mapping[str, Any], text: str) -> type[ClusterError]:
    if code == HTTPStatus.UNPROCESSABLE_ENTITY:
        return InvalidObjectError if details.get("causes") or reason == "AlreadyExists" else ConflictError
    if code == HTTPStatus.FORBIDDEN and _by_admission(text):
        return InvalidObjectError
    if code >= HTTPStatus.INTERNAL_SERVER_ERROR or code == HTTPStatus.TOO_MANY_REQUESTS:
        return UnavailableError
    return _KINDS.get(code, ClusterError)


_KINDS: dict[int, type[ClusterError]] = {
    HTTPStatus.BAD_REQUEST: InvalidObjectError,
    HTTPStatus.NOT_FOUND: NotFoundError,
    HTTPStatus.CONFLICT: ConflictError,
    HTTPStatus.UNAUTHORIZED: ForbiddenError,
    HTTPStatus.FORBIDDEN: ForbiddenError,
    HTTPStatus.GONE: GoneError,
}


def _by_admission(text: str) -> bool:
    return "admission" in text.lower() or "denied request" in text


def _message(code: int, text: str, details: Mapping[str, Any], place: str) -> str:
    match code:
        case HTTPStatus.UNAUTHORIZED:
            return f"the API server does not accept your credentials ({place}); log in again, or choose --context"
        case HTTPStatus.FORBIDDEN if _by_admission(text):
            return text
        case HTTPStatus.FORBIDDEN:
            return f"{text}; ask for ClusterRole view to read, edit to change, torpor-approve to approve"
        case HTTPStatus.NOT_FOUND if not details.get("name") and any(words in text for words in _NO_RESOURCE):
            return f"Torpor is not installed in this cluster ({place}); see {_INSTALL}, or choose --context"
        case HTTPStatus.TOO_MANY_REQUESTS:
            return f"the API server is overloaded: {text}; try again"
        case _:
            return text

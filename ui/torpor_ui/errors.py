"""The errors of the page's server: a status, a CamelCase reason for programs, a message and a remedy for people."""

from dataclasses import asdict, dataclass
from http import HTTPStatus
from typing import Any

from torpor_kubernetes.client import errors as api_errors


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """An error response, and the event `problem` of a stream. `remedy` says what the reader can do; may be empty.

    `field` names the field of a form that the error is about.
    """

    status: int
    reason: str
    message: str
    remedy: str = ""
    field: str = ""

    def as_json(self) -> dict[str, Any]:
        """Return what the page gets."""
        return {name: value for name, value in asdict(self).items() if value or name != "field"}


class ProblemError(Exception):
    """Ends a request or a stream with a problem. The base error of this package."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def invalid(message: str, remedy: str = "") -> ProblemError:
    """400: the request is malformed."""
    return _error(HTTPStatus.BAD_REQUEST, "Invalid", message, remedy)


def not_logged_in(message: str = "you are not logged in", remedy: str = "Log in again.") -> ProblemError:
    """401: there is no session, or its token is not accepted any more."""
    return _error(HTTPStatus.UNAUTHORIZED, "NotLoggedIn", message, remedy)


def refused(reason: str, message: str, remedy: str = "") -> ProblemError:
    """403: the request itself is refused, before any right is checked."""
    return _error(HTTPStatus.FORBIDDEN, reason, message, remedy)


def not_found(message: str, remedy: str = "") -> ProblemError:
    """404: there is no such object."""
    return _error(HTTPStatus.NOT_FOUND, "NotFound", message, remedy)


def too_many(message: str, remedy: str = "Close some pages and try again.") -> ProblemError:
    """429: a limit is reached."""
    return _error(HTTPStatus.TOO_MANY_REQUESTS, "TooMany", message, remedy)


def too_large(message: str, remedy: str = "") -> ProblemError:
    """413: there is more than the server holds or shows."""
    return _error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "TooLarge", message, remedy)


def cannot(message: str, remedy: str = "") -> ProblemError:
    """422: the request is well-formed, and what it names is not in a state for it."""
    return _error(HTTPStatus.UNPROCESSABLE_ENTITY, "Refused", message, remedy)


def of_field(message: str, field: str) -> ProblemError:
    """422: a value of a form does not fit."""
    problem = Problem(status=int(HTTPStatus.UNPROCESSABLE_ENTITY), reason="Refused", message=message, field=field)
    return ProblemError(problem)


def unavailable(message: str, remedy: str = "Try again.") -> ProblemError:
    """503: the API server or the archive cannot be read now."""
    return _error(HTTPStatus.SERVICE_UNAVAILABLE, "Unavailable", message, remedy)


def from_api(error: api_errors.ApiError) -> ProblemError:
    """Translate an error of the API server."""
    match error:
        case api_errors.Forbidden(status=HTTPStatus.UNAUTHORIZED):
            return not_logged_in("the API server does not accept your credentials any more")
        case api_errors.Forbidden():
            remedy = "Ask for ClusterRole view to read, edit to change, torpor-approve to approve."
            return _error(HTTPStatus.FORBIDDEN, "Forbidden", error.message, remedy)
        case api_errors.NotFound():
            return not_found(error.message)
        case api_errors.Refused() | api_errors.LostRace() | api_errors.Conflict() | api_errors.AlreadyExists():
            return _error(HTTPStatus.CONFLICT, error.reason or "Conflict", error.message, "")
        case api_errors.TooLarge():
            return too_large(error.message)
        case api_errors.ApiUnavailable():
            return unavailable(f"the API server cannot be reached: {error.message}")
        case _:
            status = error.status if error.status >= HTTPStatus.BAD_REQUEST else HTTPStatus.BAD_GATEWAY
            return _error(status, error.reason or "ApiError", error.message, "")


def _error(status: int, reason: str, message: str, remedy: str) -> ProblemError:
    return ProblemError(Problem(status=int(status), reason=reason, message=message, remedy=remedy))

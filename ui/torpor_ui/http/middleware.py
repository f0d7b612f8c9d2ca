"""What all requests share: the checks of host, site, session and CSRF token; headers; problems as JSON.

A handler for a path below `/api/` runs with a caller, or not at all. The response to an internal error contains no
details; the log does.
"""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from torpor_kubernetes.client.errors import ApiError
from torpor_kubernetes.log_setup import log_fields

from torpor_ui import errors
from torpor_ui.cluster.caller import Callers
from torpor_ui.errors import Problem, ProblemError
from torpor_ui.http import security
from torpor_ui.http.context import CALLER, SESSION, json_response, set_cookies
from torpor_ui.http.security import Origins
from torpor_ui.sessions.secret import ServerSecret
from torpor_ui.sessions.session import Login, Session

API = "/api/"
OPEN_PATHS = frozenset({("GET", "/api/session"), ("POST", "/api/session")})
"""Requests for the API that need no session."""
LOGGED_OUT = "logged out"
"""The id from which the CSRF token of a page without a session is derived."""

_LOGGED_MAX = 253

log = logging.getLogger(__name__)


def _log_fields(path: Mapping[str, str]) -> dict[str, str]:
    """What the JSON log says of each line of a request: the namespace and the name in its path."""
    return {name: path[name][:_LOGGED_MAX] for name in ("namespace", "name") if name in path}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestGuard:
    """Lets a request through to its handler, or not. `base` is before all paths. `read_only`: the page may not act."""

    login: Login
    callers: Callers
    secret: ServerSecret
    origins: Origins
    base: str = ""
    read_only: bool = False

    def middleware(self) -> Middleware:
        """Return the middleware of all paths."""

        @web.middleware
        async def handle(request: web.Request, handler: Handler) -> web.StreamResponse:
            try:
                await self._admit(request)
                with log_fields(**_log_fields(request.match_info)):
                    response = await handler(request)
            except (ConnectionError, asyncio.CancelledError):
                raise
            except Exception as error:  # noqa: BLE001 - the boundary of a request
                response = problem_response(_problem(request, error))
            if not response.prepared:
                set_cookies(request, response)
            return response

        return handle

    async def _admit(self, request: web.Request) -> None:
        """Identify the caller of a request. Raises ProblemError."""
        security.check_host(request.host, self.origins)
        security.check_site(request.headers, request.method, self.origins)
        path = request.path.removeprefix(self.base)
        if not path.startswith(API):
            return
        session = await self.login.session(request)
        security.check_csrf(request.headers, request.method, self.csrf(session))
        if session is not None:
            request[SESSION] = session
            request[CALLER] = await self.callers.get(session.credential)
        elif (request.method, path) not in OPEN_PATHS:
            raise errors.not_logged_in()
        if self.read_only and request.method not in security.SAFE_METHODS and path != "/api/session":
            raise errors.refused("ReadOnly", "this page is read-only", "Use the command torpor.")

    def csrf(self, session: Session | None) -> str:
        """Return the CSRF token of a session, or of a page without one."""
        return self.secret.csrf(LOGGED_OUT if session is None else session.id)


async def add_headers(_request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers that protect every response, unless the handler has set its own."""
    response.headers["Server"] = "torpor"
    for name, value in security.HEADERS.items():
        response.headers.setdefault(name, value)


def problem_response(problem: Problem) -> web.Response:
    """Return a problem as a response."""
    return json_response(problem.as_json(), problem.status)


def _problem(request: web.Request, error: Exception) -> Problem:
    match error:
        case ProblemError():
            return error.problem
        case ApiError():
            return errors.from_api(error).problem
        case web.HTTPException():
            reason = _reason(error.status)
            return Problem(
                status=error.status, reason=reason, message=f"{request.method} {request.path[:200]}: {reason}"
            )
        case _:
            log.error("%s %s", request.method, request.path, exc_info=error)
            fault = "internal error; see the log of the page's server"
            return Problem(status=HTTPStatus.INTERNAL_SERVER_ERROR, reason="Internal", message=fault)


def _reason(status: int) -> str:
    return "".join(word.capitalize() for word in HTTPStatus(status).phrase.split())

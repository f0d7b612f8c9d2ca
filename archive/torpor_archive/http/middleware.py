"""What all requests share: tokens, path and query parsing, metrics and error responses.

The response to an internal error contains no details; the log does.
"""

import asyncio
import logging
import re
import time
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware
from torpor_kubernetes.log_setup import log_fields

from torpor_archive import errors
from torpor_archive.auth.policy import Caller
from torpor_archive.auth.reviews import AccessReviews
from torpor_archive.errors import ErrorResponse, RefusedError
from torpor_archive.http.listener import CONNECTION
from torpor_archive.limits.review_rates import RequestOrigin
from torpor_archive.metrics import ArchiveMetrics

T = TypeVar("T")

RETRY_AFTER = "2"
READER_HEADER = "Torpor-Authorization"
"""Takes the token of a request through the API server's proxy, which removes the header Authorization."""
_LOGGED_MAX = 253
_IDENTIFIER = re.compile(r"[A-Za-z0-9.-]{1,253}")
_FILE_NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")

log = logging.getLogger(__name__)


def middleware(metrics: ArchiveMetrics) -> Middleware:
    """Return the middleware that counts requests and turns errors into responses."""

    @web.middleware
    async def handle(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.perf_counter()
        route = request.match_info.route.name or "other"
        with log_fields(**_log_fields(request.match_info)):
            reason, response = await _respond(request, handler)
        metrics.requests.labels(route, reason).inc()
        metrics.seconds.labels(route).observe(time.perf_counter() - began)
        return response

    return handle


def _log_fields(path: Mapping[str, str]) -> dict[str, str]:
    """What the JSON log says of each line of a request. A `uid` in a path is mostly that of a run."""
    names = {"namespace": "namespace", "name": "taskrun", "uid": "run"}
    return {field: path[part][:_LOGGED_MAX] for part, field in names.items() if part in path}


def token(headers: Mapping[str, str]) -> str:
    """Return the bearer token of `Torpor-Authorization`, else of `Authorization`. Raises RefusedError (401)."""
    scheme, _, value = (headers.get(READER_HEADER) or headers.get("Authorization", "")).partition(" ")
    if scheme.lower() != "bearer" or not value.strip():
        raise RefusedError(
            errors.unauthenticated(
                f"send the header `Authorization: Bearer` with a token, or `{READER_HEADER}: Bearer` through a proxy"
            )
        )
    return value.strip()


async def authenticate(request: web.Request, reviews: AccessReviews) -> Caller:
    """Identify the caller, whose share the request counts for from now on. Raises RefusedError (401, 503)."""
    caller = await reviews.authenticate(token(request.headers), client(request))
    connection = request.get(CONNECTION)
    if connection is not None and not connection.assign(caller.share):
        message = f"{caller.share} has too many requests in progress; try again later"
        raise RefusedError(errors.unavailable("Busy", message))
    return caller


def client(request: web.Request) -> RequestOrigin:
    """Return where a request comes from; the API server's proxy appends the address of its client."""
    forwarded = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
    return RequestOrigin(request.remote or "", forwarded[:64])


def check_parameters(query: Iterable[str], known: Iterable[str]) -> None:
    """Raise RefusedError (400) for an unknown query parameter: a filter must not be ignored."""
    names = tuple(known)
    for name in query:
        if name not in names:
            raise RefusedError(errors.invalid(f"unknown query parameter {name[:40]!r}; use {', '.join(names)}"))


def identifier(request: web.Request, name: str) -> str:
    """Return a part of the path: a name, a uid or a digest. Raises RefusedError (400)."""
    text = request.match_info[name]
    if not _IDENTIFIER.fullmatch(text):
        raise RefusedError(errors.invalid(f"{name} is {text[:40]!r}; use up to 253 letters, digits, '-' and '.'"))
    return text


def file_name(request: web.Request) -> str:
    """Return the name of a task's file, a part of the path. Raises RefusedError (400)."""
    text = request.match_info["file"]
    if not _FILE_NAME.fullmatch(text):
        raise RefusedError(errors.invalid(f"file is {text[:40]!r}; use up to 40 lower-case letters, digits and '_'"))
    return text


def unwrap(outcome: T | ErrorResponse) -> T:
    """Return the outcome of a decision. Raises RefusedError if it is an ErrorResponse."""
    if isinstance(outcome, ErrorResponse):
        raise RefusedError(outcome)
    return outcome


def number(query: Mapping[str, str], name: str, default: int, most: int) -> int:
    """Return a number of the query, capped at `most`. Raises RefusedError (400) if it is not a whole number from 0."""
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(2**63))):
        raise RefusedError(errors.invalid(f"{name} is {text[:40]!r}; use a whole number from 0"))
    return min(int(text), most)


async def _respond(request: web.Request, handler: Handler) -> tuple[str, web.StreamResponse]:
    try:
        return "OK", await handler(request)
    except RefusedError as error:
        return error.refusal.reason, _to_response(error.refusal)
    except web.HTTPException as error:
        return _reason(error.status), _to_response(
            ErrorResponse(
                status=error.status,
                reason=_reason(error.status),
                message=f"{request.method} {request.path}: {error.reason}",
            )
        )
    except (ConnectionError, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("%s %s", request.method, request.path)
        fault = "internal error; see the archive's log"
        return "Internal", _to_response(
            ErrorResponse(status=HTTPStatus.INTERNAL_SERVER_ERROR, reason="Internal", message=fault)
        )


def _to_response(refusal: ErrorResponse) -> web.Response:
    headers = {"Retry-After": RETRY_AFTER} if refusal.status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return web.json_response(
        {"reason": refusal.reason, "message": refusal.message}, status=refusal.status, headers=headers
    )


def _reason(status: int) -> str:
    """The reason for a status code of aiohttp, as one word: 404 is NotFound."""
    return "".join(part.capitalize() for part in HTTPStatus(status).phrase.split())

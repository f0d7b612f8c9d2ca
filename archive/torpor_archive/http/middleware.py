"""What is common to all requests: who sends it, how it is counted, and how a refusal is said.

What a client gets of a fault of ours is that there was one; the log has the rest.
"""

import asyncio
import logging
import re
import time
from collections.abc import Mapping
from http import HTTPStatus
from typing import TypeVar

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

from torpor_archive import errors
from torpor_archive.errors import Refusal, RefusedError
from torpor_archive.metrics import Metrics

T = TypeVar("T")

RETRY_AFTER = "2"
_IDENTIFIER = re.compile(r"[A-Za-z0-9.-]{1,253}")

log = logging.getLogger(__name__)


def middleware(metrics: Metrics) -> Middleware:
    """Around every request."""

    @web.middleware
    async def answered(request: web.Request, handler: Handler) -> web.StreamResponse:
        began = time.perf_counter()
        route = request.match_info.route.name or "other"
        reason, answer = await _answer(request, handler)
        metrics.requests.labels(route, reason).inc()
        metrics.seconds.labels(route).observe(time.perf_counter() - began)
        return answer

    return answered


def token(headers: Mapping[str, str]) -> str:
    """The bearer token of a request. Raises RefusedError (401)."""
    scheme, _, given = headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not given.strip():
        raise RefusedError(errors.unauthenticated("send a header `Authorization: Bearer` with a token"))
    return given.strip()


def identifier(request: web.Request, name: str) -> str:
    """A part of the path: a name, a uid or a digest. Raises RefusedError (400)."""
    text = request.match_info[name]
    if not _IDENTIFIER.fullmatch(text):
        raise RefusedError(errors.invalid(f"{name} is {text[:40]!r}; it has letters, digits, '-' and '.', 253 at most"))
    return text


def accepted(found: T | Refusal) -> T:
    """What was decided, where it is no refusal."""
    if isinstance(found, Refusal):
        raise RefusedError(found)
    return found


def number(query: Mapping[str, str], name: str, default: int, most: int) -> int:
    """A number of the query, from 0 on; one that is too large counts as the largest. Raises RefusedError (400)."""
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(2**63))):
        raise RefusedError(errors.invalid(f"{name} is {text[:40]!r}; it is a number from 0 on"))
    return min(int(text), most)


async def _answer(request: web.Request, handler: Handler) -> tuple[str, web.StreamResponse]:
    try:
        return "OK", await handler(request)
    except RefusedError as error:
        return error.refusal.reason, _said(error.refusal)
    except web.HTTPException as error:
        return _word(error.status), _said(
            Refusal(
                status=error.status,
                reason=_word(error.status),
                message=f"{request.method} {request.path}: {error.reason}",
            )
        )
    except (ConnectionError, asyncio.CancelledError):
        raise
    except Exception:
        log.exception("%s %s", request.method, request.path)
        fault = "a fault of the archive's own; its log says more"
        return "Internal", _said(Refusal(status=HTTPStatus.INTERNAL_SERVER_ERROR, reason="Internal", message=fault))


def _said(said: Refusal) -> web.Response:
    headers = {"Retry-After": RETRY_AFTER} if said.status == HTTPStatus.SERVICE_UNAVAILABLE else {}
    return web.json_response({"reason": said.reason, "message": said.message}, status=said.status, headers=headers)


def _word(status: int) -> str:
    """The reason of a status code of aiohttp's own, as one word: 404 is NotFound."""
    return "".join(part.capitalize() for part in HTTPStatus(status).phrase.split())

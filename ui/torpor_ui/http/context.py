"""What the middleware finds out about a request, for the handlers."""

import json
from typing import Any

from aiohttp import web

from torpor_ui import errors
from torpor_ui.cluster.caller import Caller
from torpor_ui.encoding import encode
from torpor_ui.sessions.session import Session

SESSION = web.RequestKey("session", Session)
CALLER = web.RequestKey("caller", Caller)
_BODY_MAX = 2**20
_COMPRESSED_AT_ONCE = 64 * 1024
"""Bytes above which a response is compressed in a thread."""


def caller_of(request: web.Request) -> Caller:
    """Return the caller of a request. The middleware lets no request for the API through without one."""
    return request[CALLER]


def set_cookies(request: web.Request, response: web.StreamResponse) -> None:
    """Set the cookies of the session on a response that is not sent yet, unless the handler has set them."""
    session = request.get(SESSION)
    for cookie in session.cookies if session else ():
        if cookie.name not in response.cookies:
            cookie.set_on(response)


def json_response(value: Any, status: int = 200) -> web.Response:
    """Return a response with a value, or with JSON that is encoded already, compressed if the client takes that."""
    response = web.Response(
        body=value if isinstance(value, bytes) else encode(value),
        status=status,
        content_type="application/json",
        charset="utf-8",
        zlib_executor_size=_COMPRESSED_AT_ONCE,
    )
    response.enable_compression()
    return response


async def json_body(request: web.Request) -> dict[str, Any]:
    """Return the JSON object that a request sent. Raises ProblemError (400, 413)."""
    if request.content_type != "application/json":
        raise errors.invalid("send the body as application/json")
    content = await request.content.read(_BODY_MAX + 1)
    while len(content) <= _BODY_MAX and (more := await request.content.read(_BODY_MAX)):
        content += more
    if len(content) > _BODY_MAX:
        raise errors.too_large(f"the body has more than {_BODY_MAX} bytes")
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise errors.invalid("the body is not JSON") from error
    if not isinstance(body, dict):
        raise errors.invalid("the body is not a JSON object")
    return body


def name_in(request: web.Request, part: str) -> str:
    """Return a name of the path. Raises ProblemError (400) for text that no object is called."""
    text = request.match_info[part]
    if not text or len(text) > 253 or not all(c.isascii() and (c.isalnum() or c in "-.") for c in text):  # noqa: PLR2004
        raise errors.invalid(f"{text[:60]!r} is not a name")
    return text

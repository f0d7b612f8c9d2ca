"""The HTTP session that kopf uses: kopf's own credentials, with answers that are decoded as the client decodes them.

kopf parses each line of a watch with the standard decoder, and one object that is nested too deeply would end the
operator. A custom session is kopf's documented way to change that. Must not decide anything about an object.
"""

from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Any

import aiohttp
import kopf
from torpor_api.client import decoding, http


def bounded(found: kopf.ConnectionInfo) -> kopf.AiohttpSession:
    """A session with the credentials that kopf found, whose answers are bounded in depth."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=found.as_ssl_context()),
        headers=found.as_http_headers(),
        proxy=found.proxy_url,
        trust_env=found.trust_env,
        response_class=_Response,
    )
    return kopf.AiohttpSession(
        aiohttp_session=session,
        server=found.server,
        default_namespace=found.default_namespace,
        priority=found.priority,
        expiration=found.expiration,
    )


class _Response(aiohttp.ClientResponse):
    """`json()` for lists and errors, `content.iter_chunked()` for watches: the two ways in which kopf reads."""

    async def start(self, connection: Any) -> "aiohttp.ClientResponse":
        await super().start(connection)
        if self._is_watch():
            self.content = _Lines(self.content)  # type: ignore[assignment]  # kopf reads it by iter_chunked alone
        return self

    async def json(
        self,
        *,
        encoding: str | None = None,
        loads: Callable[[str], Any] | None = None,
        content_type: str | None = "application/json",
    ) -> Any:
        decode = loads or (lambda text: decoding.decode(text.encode()))
        return await super().json(encoding=encoding, loads=decode, content_type=content_type)

    def _is_watch(self) -> bool:
        return self.status == HTTPStatus.OK and self.url.query.get("watch") == "true"


class _Lines:
    """The content of a watch, whose events are decoded and encoded anew; all else is aiohttp's stream."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Whole lines, each with its end."""
        async for line in http.lines(self._content.iter_chunked(size)):
            yield decoding.bounded_event(line)

    def __getattr__(self, name: str) -> Any:
        # aiohttp asks the content of a response for its state when it releases the connection.
        return getattr(self._content, name)

"""The HTTP session of kopf: kopf's own credentials, with responses that are decoded by Torpor's bounded decoder.

kopf decodes each line of a watch with the standard decoder. One object that is nested too deeply would end the
operator. kopf documents custom sessions as the way to change that. Must not decide anything about an object.
"""

from collections.abc import AsyncIterator, Callable
from http import HTTPStatus
from typing import Any

import aiohttp
import kopf
from torpor_kubernetes.client import decoding, http


def create(credentials: kopf.ConnectionInfo) -> kopf.AiohttpSession:
    """A session with kopf's credentials whose responses are bounded in depth."""
    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, ssl=credentials.as_ssl_context()),
        headers=credentials.as_http_headers(),
        proxy=credentials.proxy_url,
        trust_env=credentials.trust_env,
        response_class=_BoundedResponse,
    )
    return kopf.AiohttpSession(
        aiohttp_session=session,
        server=credentials.server,
        default_namespace=credentials.default_namespace,
        priority=credentials.priority,
        expiration=credentials.expiration,
    )


class _BoundedResponse(aiohttp.ClientResponse):
    """Bounds both ways in which kopf reads: `json()` for lists and errors, `content.iter_chunked()` for watches."""

    async def start(self, connection: Any) -> "aiohttp.ClientResponse":
        await super().start(connection)
        if self._is_watch():
            self.content = _BoundedLines(self.content)  # type: ignore[assignment]  # kopf calls iter_chunked alone
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


class _BoundedLines:
    """The content of a watch with each event decoded and encoded again. All else is aiohttp's stream."""

    def __init__(self, content: aiohttp.StreamReader) -> None:
        self._content = content

    async def iter_chunked(self, size: int) -> AsyncIterator[bytes]:
        """Whole lines, each with its line end."""
        async for line in http.lines(self._content.iter_chunked(size)):
            yield decoding.bounded_event(line)

    def __getattr__(self, name: str) -> Any:
        # aiohttp reads the state of a response's content when it releases the connection.
        return getattr(self._content, name)

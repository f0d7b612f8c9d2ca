"""HTTP on behalf of triggers: one session for all, nothing kept from one wait to another.

A poke reads 1 MB at most and follows redirects itself: only to http and https, never from https to http, and without
the headers of the caller once the host is another.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from torpor.triggers.services import Answer, Request
from yarl import URL

BODY_MAX = 1024**2
CONNECTIONS = 256
CONNECTIONS_PER_HOST = 32
REDIRECTS = 5
_REDIRECTED = frozenset({301, 302, 303, 307, 308})
_CHANGES_TO_GET = frozenset({301, 302, 303})
_CHUNK = 64 * 1024


class Web:
    """Sends requests."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def request(self, asked: Request) -> Answer:
        """The answer at the end of the redirects. Raises OSError where a hop has none in time."""
        at = URL(asked.url)
        try:
            for _ in range(REDIRECTS + 1):
                answer = await self._hop(at, asked)
                to = _redirect(at, answer) if asked.follow else None
                if to is None:
                    return answer
                asked = _moved(asked, answer.status, keeps_headers=_same_place(at, to))
                at = to
        except TimeoutError as error:
            raise OSError(f"no answer within {asked.seconds:g} s") from error
        except (aiohttp.ClientError, ValueError) as error:
            raise OSError(f"{type(error).__name__}: {error}") from error
        raise OSError(f"more than {REDIRECTS} redirects")

    async def _hop(self, at: URL, asked: Request) -> Answer:
        async with self._session.request(
            asked.method,
            at,
            headers=asked.headers,
            data=asked.body,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=asked.seconds),
        ) as response:
            body, truncated = await _body(response)
            found = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status, found, body, truncated)


@asynccontextmanager
async def connect() -> AsyncIterator[Web]:
    """A session that keeps no cookies."""
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, limit_per_host=CONNECTIONS_PER_HOST)
    async with aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), headers={"User-Agent": "torpor-triggerer"}
    ) as session:
        yield Web(session)


def _same_place(at: URL, to: URL) -> bool:
    """Whether what was meant for one is meant for the other: the same origin, or its upgrade to https."""
    upgraded = (at.scheme, to.scheme) == ("http", "https") and at.is_default_port() and to.is_default_port()
    return at.host == to.host and (at.origin() == to.origin() or upgraded)


def _moved(asked: Request, status: int, *, keeps_headers: bool) -> Request:
    """What is asked at the place that an answer names."""
    asked = asked if keeps_headers else asked._replace(headers={})
    if status in _CHANGES_TO_GET and asked.method != "HEAD":
        return asked._replace(method="GET", body=None)
    return asked


def _redirect(at: URL, answer: Answer) -> URL | None:
    """Where an answer sends the caller; None where it is an answer. Raises OSError for where we do not go."""
    location = answer.headers.get("location")
    if answer.status not in _REDIRECTED or not location:
        return None
    to = at.join(URL(location))
    if to.scheme not in {"http", "https"} or (at.scheme == "https" and to.scheme == "http") or not to.host:
        raise OSError(f"{at.origin()} redirects to {to}, and only https, or http from http, is followed")
    return to


async def _body(response: aiohttp.ClientResponse) -> tuple[bytes, bool]:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > BODY_MAX:
            return bytes(body[:BODY_MAX]), True
    return bytes(body), False

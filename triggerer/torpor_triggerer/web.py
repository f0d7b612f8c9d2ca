"""HTTP on behalf of triggers: a session for each namespace and service account, so that no connection is shared.

A request that leaves its connection in another state than the client believes spoils the next one on it. Headers that
could are refused, and were one to slip through, the next request would be the same account's.

A poke reads 1 MB at most and follows redirects itself: only to http and https, never from https to http, and without
the headers of the caller once the host is another.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from torpor.triggers import header_rules
from torpor.triggers.services import Answer, Request
from yarl import URL

from torpor_triggerer.sessions import Owner, Sessions

BODY_MAX = 1024**2
CONNECTIONS = 256
CONNECTIONS_PER_HOST = 32
REDIRECTS = 5
_REDIRECTED = frozenset({301, 302, 303, 307, 308})
_CHANGES_TO_GET = frozenset({301, 302, 303})
_CHUNK = 64 * 1024


class Web:
    """Sends requests."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def request(self, asked: Request, owner: Owner) -> Answer:
        """The answer at the end of the redirects.

        Raises OSError where a hop has none in time, ValueError for headers that are not the caller's to set.
        """
        header_rules.check(asked.headers)
        async with self._sessions.hold(owner) as session:
            return await self._follow(session, asked)

    async def _follow(self, session: aiohttp.ClientSession, asked: Request) -> Answer:
        try:
            at = URL(asked.url)
            for _ in range(REDIRECTS + 1):
                answer = await self._hop(session, at, asked)
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

    async def _hop(self, session: aiohttp.ClientSession, at: URL, asked: Request) -> Answer:
        async with session.request(
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
    """What sends requests until the block ends."""
    async with Sessions(_session) as sessions:
        yield Web(sessions)


def _session(*, reuse: bool) -> aiohttp.ClientSession:
    """A session that keeps no cookies, and only where it may `reuse` them its connections."""
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, limit_per_host=CONNECTIONS_PER_HOST, force_close=not reuse)
    return aiohttp.ClientSession(
        connector=connector, cookie_jar=aiohttp.DummyCookieJar(), headers={"User-Agent": "torpor-triggerer"}
    )


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

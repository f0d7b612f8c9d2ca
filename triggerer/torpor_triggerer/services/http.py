"""HTTP on behalf of triggers: a session for each namespace and service account, so that no connection is shared.

A request that leaves its connection in another state than the client believes spoils the next one on it. Headers that
could are refused, and were one to slip through, the next request would be the same account's.

A poke reads 1 MB at most and follows redirects itself: only to http and https, never from https to http, and without
the headers of the caller once the host is another. Each hop is connected to as `network` has it.
"""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from torpor.triggers.services import Answer, Request
from torpor.triggers.support import header_rules
from torpor.triggers.support.metering import AddressDeniedError, Meter
from yarl import URL

from torpor_triggerer.network.connections import Network, current_owner
from torpor_triggerer.network.sessions import Owner, Sessions

BODY_MAX = 1024**2
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
            denied = getattr(error, "os_error", None)
            if isinstance(denied, AddressDeniedError):
                raise denied from error
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
            body, truncated = await _body(response, min(asked.most, BODY_MAX))
            found = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status, found, body, truncated)


@asynccontextmanager
async def connect(network: Network | None = None) -> AsyncIterator[Web]:
    """What sends requests until the block ends."""
    reached = network or Network()

    def session(*, reuse: bool) -> aiohttp.ClientSession:
        """A session that keeps no cookies, and only where it may `reuse` them its connections."""
        return aiohttp.ClientSession(
            connector=connector(reached, reuse=reuse),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "torpor-triggerer"},
        )

    async with Sessions(session) as sessions:
        yield Web(sessions)


def connector(network: Network, *, reuse: bool = True) -> aiohttp.TCPConnector:
    """Connections of one session; how many requests are under way in all is the network's to say."""
    return aiohttp.TCPConnector(
        limit=0,
        limit_per_host=CONNECTIONS_PER_HOST,
        resolver=_Resolver(network),
        socket_factory=lambda found: _socket(network, found),
        force_close=not reuse,
    )


class _Resolver(AbstractResolver):
    """Names as all waits have them resolved; addresses in URLs do not come here."""

    def __init__(self, network: Network) -> None:
        self._network = network

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host. Raises OSError."""
        found = await self._network.resolve(current_owner(), host)
        return [
            ResolveResult(
                hostname=host, host=one.address, port=port, family=one.family, proto=0, flags=socket.AI_NUMERICHOST
            )
            for one in found
            if family in {socket.AF_UNSPEC, one.family}
        ]

    async def close(self) -> None:
        """Nothing is left open."""


def _socket(network: Network, found: tuple[Any, ...]) -> socket.socket:
    """For an address that is about to be connected to, wherever it comes from. Raises AddressDeniedError."""
    family, kind, proto, _, at = found
    if network.addresses.refusal(str(at[0])):
        raise AddressDeniedError(network.denial(str(at[0]), str(at[0])))
    return socket.socket(family, kind, proto)


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


async def _body(response: aiohttp.ClientResponse, most: int) -> tuple[bytes, bool]:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > most:
            return bytes(body[:most]), True
    return bytes(body), False


async def reach(network: Network, owner: str, host: str, port: int, seconds: float) -> str:
    """The address at which a connection was accepted. Raises OSError where none is within `seconds`.

    Of these AddressDeniedError where waits may not be connected there.
    """
    seconds = min(seconds, network.request_seconds)
    connected = await network.connect(owner, host, port, seconds=seconds, meter=Meter(0))
    try:
        return str(connected.getpeername()[0])
    finally:
        connected.close()

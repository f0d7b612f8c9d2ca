"""HTTP for triggers: one session for each namespace and service account, so that no connection is shared.

A request that leaves its connection in an unexpected state corrupts the next one on it. Headers that could do so are
rejected; if one slips through, the next request is the same account's.

A request reads 1 MB at most and follows redirects itself: only to http and https, never from https to http, and without
the caller's headers to another host. `network` connects each hop.
"""

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from torpor.triggers.services import HttpResponse, Request
from torpor.triggers.support import header_rules
from torpor.triggers.support.metering import AddressDeniedError, ByteMeter
from yarl import URL

from torpor_triggerer.network.connections import OutboundNetwork, current_owner
from torpor_triggerer.network.sessions import Owner, Sessions

BODY_MAX = 1024**2
CONNECTIONS_PER_HOST = 32
REDIRECTS = 5
_REDIRECTED = frozenset({301, 302, 303, 307, 308})
_CHANGES_TO_GET = frozenset({301, 302, 303})
_CHUNK = 64 * 1024


class OutboundHttpClient:
    """Sends requests."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions

    async def request(self, request: Request, owner: Owner) -> HttpResponse:
        """Return the response at the end of the redirects.

        Raises OSError if a hop has none in time, ValueError for headers that the caller may not set.
        """
        header_rules.check(request.headers)
        async with self._sessions.hold(owner) as session:
            return await self._follow(session, request)

    async def _follow(self, session: aiohttp.ClientSession, request: Request) -> HttpResponse:
        try:
            at = URL(request.url)
            for _ in range(REDIRECTS + 1):
                answer = await self._hop(session, at, request)
                to = _redirect(at, answer) if request.follow else None
                if to is None:
                    return answer
                request = _redirected(request, answer.status, keeps_headers=_same_origin(at, to))
                at = to
        except TimeoutError as error:
            raise OSError(f"no answer within {request.seconds:g} s") from error
        except (aiohttp.ClientError, ValueError) as error:
            denied = getattr(error, "os_error", None)
            if isinstance(denied, AddressDeniedError):
                raise denied from error
            raise OSError(f"{type(error).__name__}: {error}") from error
        raise OSError(f"more than {REDIRECTS} redirects")

    async def _hop(self, session: aiohttp.ClientSession, at: URL, request: Request) -> HttpResponse:
        async with session.request(
            request.method,
            at,
            headers=request.headers,
            data=request.body,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=request.seconds),
        ) as response:
            body, truncated = await _body(response, min(request.most, BODY_MAX))
            headers = {name.lower(): value for name, value in response.headers.items()}
            return HttpResponse(response.status, headers, body, truncated)


@asynccontextmanager
async def connect(network: OutboundNetwork | None = None) -> AsyncIterator[OutboundHttpClient]:
    """Create the client; it is closed at the end of the block."""
    reached = network or OutboundNetwork()

    def session(*, reuse: bool) -> aiohttp.ClientSession:
        """A session that keeps no cookies, and only where it may `reuse` them its connections."""
        return aiohttp.ClientSession(
            connector=connector(reached, reuse=reuse),
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={"User-Agent": "torpor-triggerer"},
        )

    async with Sessions(session) as sessions:
        yield OutboundHttpClient(sessions)


def connector(network: OutboundNetwork, *, reuse: bool = True) -> aiohttp.TCPConnector:
    """Create the connector of one session; the network limits the requests in flight."""
    return aiohttp.TCPConnector(
        limit=0,
        limit_per_host=CONNECTIONS_PER_HOST,
        resolver=_Resolver(network),
        socket_factory=lambda address_info: _socket(network, address_info),
        force_close=not reuse,
    )


class _Resolver(AbstractResolver):
    """Resolves names by the network's rules; addresses in URLs do not come here."""

    def __init__(self, network: OutboundNetwork) -> None:
        self._network = network

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a host. Raises OSError."""
        resolved = await self._network.resolve(current_owner(), host)
        return [
            ResolveResult(
                hostname=host,
                host=address.address,
                port=port,
                family=address.family,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for address in resolved
            if family in {socket.AF_UNSPEC, address.family}
        ]

    async def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _socket(network: OutboundNetwork, address_info: tuple[Any, ...]) -> socket.socket:
    """Create the socket for an address. Raises AddressDeniedError."""
    family, kind, proto, _, at = address_info
    if network.addresses.refusal(str(at[0])):
        raise AddressDeniedError(network.denial(str(at[0]), str(at[0])))
    return socket.socket(family, kind, proto)


def _same_origin(at: URL, to: URL) -> bool:
    """Whether headers for one URL may go to the other: the same origin, or its upgrade to https."""
    upgraded = (at.scheme, to.scheme) == ("http", "https") and at.is_default_port() and to.is_default_port()
    return at.host == to.host and (at.origin() == to.origin() or upgraded)


def _redirected(request: Request, status: int, *, keeps_headers: bool) -> Request:
    """Return the request for the new location."""
    request = request if keeps_headers else request._replace(headers={})
    if status in _CHANGES_TO_GET and request.method != "HEAD":
        return request._replace(method="GET", body=None)
    return request


def _redirect(at: URL, answer: HttpResponse) -> URL | None:
    """Return the location of a redirect; None for any other response. Raises OSError for a forbidden location."""
    location = answer.headers.get("location")
    if answer.status not in _REDIRECTED or not location:
        return None
    to = at.join(URL(location))
    if to.scheme not in {"http", "https"} or (at.scheme == "https" and to.scheme == "http") or not to.host:
        raise OSError(f"{at.origin()} redirects to {to}, and only https, or http from http, is followed")
    return to


async def _body(response: aiohttp.ClientResponse, limit: int) -> tuple[bytes, bool]:
    body = bytearray()
    async for chunk in response.content.iter_chunked(_CHUNK):
        body += chunk
        if len(body) > limit:
            return bytes(body[:limit]), True
    return bytes(body), False


async def reach(network: OutboundNetwork, owner: str, host: str, port: int, seconds: float) -> str:
    """Return the address that accepted a connection. Raises OSError if none does within `seconds`.

    Raises AddressDeniedError if waits may not connect there.
    """
    seconds = min(seconds, network.request_seconds)
    connected = await network.connect(owner, host, port, seconds=seconds, meter=ByteMeter(0))
    try:
        return str(connected.getpeername()[0])
    finally:
        connected.close()

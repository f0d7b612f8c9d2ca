"""The HTTPS transport: the only module of this package that does network I/O.

Every request has a timeout. A watch has the timeout that it requests plus a margin, and TCP keepalive detects a dead
peer within a minute.
"""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from http import HTTPStatus
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import aiohttp
from yarl import URL

from torpor_kubernetes.client import decoding, errors
from torpor_kubernetes.client.endpoint import ClusterEndpoint, find_cluster
from torpor_kubernetes.client.transport import JSON, Response

REQUEST_SECONDS = 30.0
CONNECT_SECONDS = 10.0
WATCH_MARGIN_SECONDS = 15.0
CLOSE_SECONDS = 0.02
BODY_BYTES = 8 * 2**20
"""The maximum response: decoding needs up to twenty times its size. An object in etcd has 1.5 MB at most."""
KEEPALIVE = (
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 30),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 10),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 3),
)


class HttpTransport:
    """Sends requests to one API server with aiohttp."""

    def __init__(
        self, cluster: ClusterEndpoint, requests: aiohttp.ClientSession, watches: aiohttp.ClientSession
    ) -> None:
        self._cluster = cluster
        self._requests = requests
        self._watches = watches

    def as_caller(self, authorization: Callable[[], Awaitable[str | None]]) -> "HttpTransport":
        """Return a transport with other credentials over the same connections."""
        return HttpTransport(
            replace(self._cluster, authorization=authorization, renew=None), self._requests, self._watches
        )

    @property
    def has_certificate(self) -> bool:
        """Whether it has a client certificate, which identifies the client beside the token of a request."""
        return self._cluster.has_certificate

    async def request(  # noqa: PLR0913 - the parts of an HTTP request
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> Response:
        """Send one request, after a 401 once more with new credentials.

        Raises `errors.Unreachable` without a response within `REQUEST_SECONDS`.
        """
        data = None if body is None else json.dumps(body).encode()
        fields = {"Accept": JSON} | ({} if data is None else {"Content-Type": content_type}) | dict(headers or {})
        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS, sock_connect=CONNECT_SECONDS)
        url = self._url(path, query)

        async def send() -> Response:
            options = await self._options(fields)
            async with self._requests.request(method, url, data=data, timeout=timeout, **options) as response:
                return await _parse_response(response)

        try:
            response = await send()
            return await send() if response.status == HTTPStatus.UNAUTHORIZED and await self._renewed() else response
        except (aiohttp.ClientError, TimeoutError, OSError) as exc:
            raise self._unreachable(f"{method} {path}", exc) from exc

    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield watch events. Raises `errors.Unreachable` if the connection breaks or exceeds its timeout."""
        seconds = float(query.get("timeoutSeconds", "0")) + WATCH_MARGIN_SECONDS
        try:
            async with aclosing(self.chunks(path, query=query, seconds=seconds)) as received:
                async for line in lines(received):
                    yield decoding.decode_event(line)
        except ValueError as exc:
            raise self._unreachable(f"watch of {path}", exc) from exc

    async def chunks(
        self, path: str, *, query: Mapping[str, str], seconds: float, headers: Mapping[str, str] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """Yield a response as it arrives, for up to `seconds`. Raises as `stream` does."""
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        options = await self._options({"Accept": f"{JSON}, */*"} | dict(headers or {}))
        try:
            async with self._watches.get(self._url(path, query), timeout=timeout, **options) as response:
                if response.status != HTTPStatus.OK:
                    if response.status == HTTPStatus.UNAUTHORIZED:
                        await self._renewed()  # for the next try of the caller
                    raise errors.from_response(await _parse_response(response))
                try:
                    async for chunk in response.content.iter_any():
                        yield chunk
                finally:
                    _abort(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as exc:
            raise self._unreachable(f"GET {path}", exc) from exc

    def _url(self, path: str, query: Mapping[str, str] | None) -> URL:
        return URL(self._cluster.host + path, encoded=True).with_query(query)

    async def _renewed(self) -> bool:
        return self._cluster.renew is not None and await self._cluster.renew()

    async def _options(self, headers: Mapping[str, str]) -> dict[str, Any]:
        authorization = await self._cluster.authorization()
        own = {"Authorization": authorization} if authorization else {}
        return {
            "headers": [*headers.items(), *own.items(), *self._cluster.fields],
            "allow_redirects": False,
            "proxy": self._cluster.proxy,
            "server_hostname": self._cluster.server_name,
        }

    def _unreachable(self, what: str, exc: Exception) -> errors.Unreachable:
        return errors.Unreachable(f"{what} at {self._cluster.host}: {type(exc).__name__}: {exc}".rstrip(": "))


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Split chunks into lines, because aiohttp limits lines to 128 kB. An unterminated last line is dropped.

    Raises ValueError for a line of more than `BODY_BYTES`.
    """
    rest = bytearray()
    async for chunk in chunks:
        if len(rest) > BODY_BYTES:
            raise ValueError(f"a line of more than {BODY_BYTES} bytes")
        head, newline, tail = chunk.rpartition(b"\n")
        rest += head if newline else tail
        if newline:
            for line in rest.split(b"\n"):
                if line.strip():
                    yield bytes(line)
            rest = bytearray(tail)


def _abort(response: aiohttp.ClientResponse) -> None:
    """Abort an unfinished stream: TLS would wait for the server's close message, beyond the session's end."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


async def _parse_response(response: aiohttp.ClientResponse) -> Response:
    text = await _read(response)
    try:
        body = decoding.decode(text) if response.content_type == JSON else text.decode(errors="replace")
    except ValueError as exc:
        raise errors.Unreachable(f"{response.status} with an unreadable body ({exc}): {text[:200]!r}") from exc
    retry_after = response.headers.get("Retry-After", "")
    return Response(response.status, body, float(retry_after) if retry_after.isdecimal() else None)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    text = bytearray()
    async for chunk in response.content.iter_any():
        text += chunk
        if len(text) > BODY_BYTES:
            _abort(response)
            raise errors.TooLarge(f"a response of more than {BODY_BYTES} bytes", status=response.status)
    return bytes(text)


@asynccontextmanager
async def connect(
    kubeconfig: str | None = None, *, program: str = "torpor", connections: int = 100
) -> AsyncIterator[HttpTransport]:
    """Open a transport to the cluster of `kubeconfig`, or of the environment.

    `connections` limits concurrent requests; watches have separate, unlimited connections. Raises `errors.Unconfigured`
    if no cluster is configured or its configuration is unusable.
    """
    cluster = await find_cluster(kubeconfig)
    async with open_transport(cluster, program=program, connections=connections) as transport:
        yield transport


@asynccontextmanager
async def open_transport(
    cluster: ClusterEndpoint, *, program: str = "torpor", connections: int = 100
) -> AsyncIterator[HttpTransport]:
    """Open a transport to a cluster. `connections` is as in `connect`."""
    headers = {"User-Agent": f"{program}/{_version()}"}
    # No cookies: a proxy before the API server may set one for a caller, and callers share the connections.
    requests = aiohttp.ClientSession(
        connector=_connector(cluster, connections), headers=headers, cookie_jar=aiohttp.DummyCookieJar()
    )
    watches = aiohttp.ClientSession(
        connector=_connector(cluster, 0), headers=headers, cookie_jar=aiohttp.DummyCookieJar()
    )
    try:
        async with requests, watches:
            yield HttpTransport(cluster, requests, watches)
    finally:
        # The event loop closes a connection that was abandoned while it opened, a few iterations later.
        await asyncio.sleep(CLOSE_SECONDS)


def _version() -> str:
    """The version of this package, or of the command torpor, whose wheel contains it."""
    try:
        return version("torpor-kubernetes")
    except PackageNotFoundError:
        return version("kubectl-torpor")


def _connector(cluster: ClusterEndpoint, limit: int) -> aiohttp.TCPConnector:
    return aiohttp.TCPConnector(limit=limit, ssl=cluster.tls or True, socket_factory=_socket)


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = address
    created = socket.socket(family, kind, protocol)
    for level, option, value in KEEPALIVE:
        if hasattr(socket, option):
            created.setsockopt(level, getattr(socket, option), value)
    return created

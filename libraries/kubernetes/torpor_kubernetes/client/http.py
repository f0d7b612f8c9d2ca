"""The HTTPS transport: the only module of this package that does network I/O.

The configuration is found as in client-go: a named kubeconfig, else $KUBECONFIG, else the pod's service account, else
~/.kube/config. A service account token is read again when the kubelet may have renewed it; an exec plugin runs again
before its token expires. Every request has a timeout. A watch has the timeout that it requests plus a margin, and TCP
keepalive detects a dead peer within a minute.
"""

import asyncio
import json
import os
import socket
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any

import aiohttp
from yarl import URL

from torpor_kubernetes.client import decoding, errors
from torpor_kubernetes.client.transport import JSON, Response

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_SECONDS = 60.0
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterEndpoint:
    """The API server and the credentials. `authorization` returns the Authorization header, or None."""

    host: str
    tls: ssl.SSLContext | None
    authorization: Callable[[], Awaitable[str | None]]
    server_name: str | None = None
    proxy: str | None = None


class HttpTransport:
    """Sends requests to one API server with aiohttp."""

    def __init__(
        self, cluster: ClusterEndpoint, requests: aiohttp.ClientSession, watches: aiohttp.ClientSession
    ) -> None:
        self._cluster = cluster
        self._requests = requests
        self._watches = watches

    async def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: object = None,
        content_type: str = JSON,
    ) -> Response:
        """Send one request. Raises `errors.Unreachable` without a response within `REQUEST_SECONDS`."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": JSON} | ({} if data is None else {"Content-Type": content_type})
        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS, sock_connect=CONNECT_SECONDS)
        try:
            async with self._requests.request(
                method, self._url(path, query), data=data, timeout=timeout, **await self._options(headers)
            ) as response:
                return await _parse_response(response)
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

    async def chunks(self, path: str, *, query: Mapping[str, str], seconds: float) -> AsyncGenerator[bytes, None]:
        """Yield a response as it arrives, for up to `seconds`. Raises as `stream` does."""
        timeout = aiohttp.ClientTimeout(total=seconds, sock_connect=CONNECT_SECONDS)
        try:
            async with self._watches.get(
                self._url(path, query), timeout=timeout, **await self._options({"Accept": f"{JSON}, */*"})
            ) as response:
                if response.status != HTTPStatus.OK:
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

    async def _options(self, headers: dict[str, str]) -> dict[str, Any]:
        authorization = await self._cluster.authorization()
        if authorization:
            headers["Authorization"] = authorization
        return {
            "headers": headers,
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
    cluster = await _find_cluster(kubeconfig)
    headers = {"User-Agent": f"{program}/{version('torpor-kubernetes')}"}
    try:
        async with (
            aiohttp.ClientSession(connector=_connector(cluster, connections), headers=headers) as requests,
            aiohttp.ClientSession(connector=_connector(cluster, 0), headers=headers) as watches,
        ):
            yield HttpTransport(cluster, requests, watches)
    finally:
        # The event loop closes a connection that was abandoned while it opened, a few iterations later.
        await asyncio.sleep(CLOSE_SECONDS)


def _connector(cluster: ClusterEndpoint, limit: int) -> aiohttp.TCPConnector:
    return aiohttp.TCPConnector(limit=limit, ssl=cluster.tls or True, socket_factory=_socket)


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = address
    created = socket.socket(family, kind, protocol)
    for level, option, value in KEEPALIVE:
        if hasattr(socket, option):
            created.setsockopt(level, getattr(socket, option), value)
    return created


async def _find_cluster(kubeconfig: str | None) -> ClusterEndpoint:
    path = kubeconfig or os.environ.get("KUBECONFIG")
    if not path and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return _in_cluster(SERVICE_ACCOUNT, os.environ)
    return await _from_kubeconfig(path or str(Path.home() / ".kube" / "config"))


def _in_cluster(folder: Path, environ: Mapping[str, str]) -> ClusterEndpoint:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        tls = _tls(str(folder / "ca.crt"))
        token = _TokenFile(folder / "token")
    except (OSError, ValueError) as exc:
        raise errors.Unconfigured(f"cannot use the pod's service account in {folder}: {exc}") from exc
    return ClusterEndpoint(
        host=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        tls=tls,
        authorization=token.authorization,
    )


class _TokenFile:
    """A token file that the kubelet renews."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._read()

    def _read(self) -> None:
        self._token = self._path.read_text().strip()
        self._read_at = time.monotonic()

    async def authorization(self) -> str:
        if time.monotonic() - self._read_at >= TOKEN_SECONDS:
            self._read()
        return f"Bearer {self._token}"


async def _from_kubeconfig(path: str) -> ClusterEndpoint:
    # Imported here because it takes 1.5 s and 50 MB, and pods do not need it.
    from kubernetes_asyncio.client import Configuration  # noqa: PLC0415
    from kubernetes_asyncio.config import ConfigException, load_kube_config  # noqa: PLC0415

    if not _exists(path):
        raise errors.Unconfigured(f"there is no kubeconfig at {path}; name one, or set KUBECONFIG")
    configuration = Configuration()
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            loader = await load_kube_config(config_file=path, client_configuration=configuration, persist_config=False)
        tls = _tls(
            configuration.ssl_ca_cert, configuration.cert_file, configuration.key_file, verify=configuration.verify_ssl
        )
    except Exception as exc:  # the loader validates little, so a broken file raises any exception
        raise errors.Unconfigured(f"cannot use the kubeconfig {path}: {type(exc).__name__}: {exc}") from exc

    async def authorization() -> str | None:
        if hasattr(loader, "exec_plugin_expiry"):
            try:
                async with asyncio.timeout(REQUEST_SECONDS):
                    await loader.load_from_exec_plugin()
            except (ConfigException, OSError, ValueError, TimeoutError) as exc:
                raise errors.Unreachable(f"the exec plugin of {path} returned no token: {exc}") from exc
        return getattr(loader, "token", None)

    return ClusterEndpoint(
        host=str(configuration.host),
        tls=tls if str(configuration.host).startswith("https") else None,
        authorization=authorization,
        server_name=configuration.tls_server_name,
        proxy=configuration.proxy,
    )


def _exists(path: str) -> bool:
    return any(Path(part).expanduser().exists() for part in path.split(os.pathsep) if part)


def _tls(
    ca: str | None, certificate: str | None = None, key: str | None = None, *, verify: bool = True
) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca)
    # Python 3.13 enables this flag; the CAs of many clusters lack the key identifier that it requires.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate, key)
    return context

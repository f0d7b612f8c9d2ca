"""The transport over HTTPS: the only module of this package that does I/O.

Where to connect is found as client-go does: a kubeconfig that was named, else $KUBECONFIG, else the pod's service
account, else ~/.kube/config. The token of a service account is read again as the kubelet renews it, and an exec
plugin is run again before its token expires. Every request has a limit; a watch has the one it asks the server for and
some more, and a peer that died without a word is noticed by TCP keepalive within a minute.
"""

import asyncio
import json
import os
import socket
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Any

import aiohttp
from yarl import URL

from torpor_api.client import decoding, errors
from torpor_api.client.transport import JSON, Response

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
TOKEN_SECONDS = 60.0
REQUEST_SECONDS = 30.0
CONNECT_SECONDS = 10.0
WATCH_MARGIN_SECONDS = 15.0
CLOSE_SECONDS = 0.02
BODY_BYTES = 8 * 2**20
"""The longest answer: Python takes up to twenty times as much memory for it. An object is 1.5 MB at most in etcd."""
KEEPALIVE = (
    (socket.SOL_SOCKET, "SO_KEEPALIVE", 1),
    (socket.IPPROTO_TCP, "TCP_KEEPIDLE", 30),
    (socket.IPPROTO_TCP, "TCP_KEEPINTVL", 10),
    (socket.IPPROTO_TCP, "TCP_KEEPCNT", 3),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Which API server, and as whom: `authorization` yields the header of that name, or nothing."""

    host: str
    tls: ssl.SSLContext | None
    authorization: Callable[[], Awaitable[str | None]]
    server_name: str | None = None
    proxy: str | None = None


class HttpTransport:
    """Requests to one API server over aiohttp."""

    def __init__(self, cluster: Cluster, requests: aiohttp.ClientSession, watches: aiohttp.ClientSession) -> None:
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
        """Send one request; raises `errors.Unreachable` where there is no answer within `REQUEST_SECONDS`."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": JSON} | ({} if data is None else {"Content-Type": content_type})
        timeout = aiohttp.ClientTimeout(total=REQUEST_SECONDS, sock_connect=CONNECT_SECONDS)
        try:
            async with self._requests.request(
                method, self._url(path, query), data=data, timeout=timeout, **await self._options(headers)
            ) as response:
                return await _answer(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as exc:
            raise self._unreachable(f"{method} {path}", exc) from exc

    async def stream(self, path: str, *, query: Mapping[str, str]) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield watch events; raises `errors.Unreachable` where the connection breaks or outlives what it asked for."""
        limit = float(query.get("timeoutSeconds", "0")) + WATCH_MARGIN_SECONDS
        timeout = aiohttp.ClientTimeout(total=limit, sock_connect=CONNECT_SECONDS)
        try:
            async with self._watches.get(
                self._url(path, query), timeout=timeout, **await self._options({"Accept": JSON})
            ) as response:
                if response.status != HTTPStatus.OK:
                    raise errors.of(await _answer(response))
                try:
                    async for line in lines(response.content.iter_any()):
                        yield decoding.decode_event(line)
                finally:
                    _hang_up(response)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as exc:
            raise self._unreachable(f"watch of {path}", exc) from exc

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
    """Lines out of chunks; aiohttp's own reader gives up beyond 128 kB. A last line without an end is dropped.

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


def _hang_up(response: aiohttp.ClientResponse) -> None:
    """Cut a stream that is left in the middle: TLS would wait for the server's goodbye, and outlive the session."""
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


async def _answer(response: aiohttp.ClientResponse) -> Response:
    text = await _read(response)
    try:
        body = decoding.decode(text) if response.content_type == JSON else text.decode(errors="replace")
    except ValueError as exc:
        raise errors.Unreachable(f"{response.status} with a body that cannot be read ({exc}): {text[:200]!r}") from exc
    retry_after = response.headers.get("Retry-After", "")
    return Response(response.status, body, float(retry_after) if retry_after.isdecimal() else None)


async def _read(response: aiohttp.ClientResponse) -> bytes:
    text = bytearray()
    async for chunk in response.content.iter_any():
        text += chunk
        if len(text) > BODY_BYTES:
            _hang_up(response)
            raise errors.TooLarge(f"an answer of more than {BODY_BYTES} bytes", status=response.status)
    return bytes(text)


@asynccontextmanager
async def connect(
    kubeconfig: str | None = None, *, program: str = "torpor", connections: int = 100
) -> AsyncIterator[HttpTransport]:
    """A transport to the cluster that `kubeconfig`, or the surroundings, name.

    `connections` bounds the requests under way at a time; watches have connections of their own, unbounded.
    Raises `errors.Unconfigured` where nothing names a cluster or what does cannot be used.
    """
    cluster = await _find(kubeconfig)
    headers = {"User-Agent": f"{program}/{version('torpor-api')}"}
    try:
        async with (
            aiohttp.ClientSession(connector=_connector(cluster, connections), headers=headers) as requests,
            aiohttp.ClientSession(connector=_connector(cluster, 0), headers=headers) as watches,
        ):
            yield HttpTransport(cluster, requests, watches)
    finally:
        # A connection that was given up while it was made is closed by the loop alone, a few turns later.
        await asyncio.sleep(CLOSE_SECONDS)


def _connector(cluster: Cluster, limit: int) -> aiohttp.TCPConnector:
    return aiohttp.TCPConnector(limit=limit, ssl=cluster.tls or True, socket_factory=_socket)


def _socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = address
    made = socket.socket(family, kind, protocol)
    for level, option, value in KEEPALIVE:
        if hasattr(socket, option):
            made.setsockopt(level, getattr(socket, option), value)
    return made


async def _find(kubeconfig: str | None) -> Cluster:
    named = kubeconfig or os.environ.get("KUBECONFIG")
    if not named and os.environ.get("KUBERNETES_SERVICE_HOST"):
        return _in_cluster(SERVICE_ACCOUNT, os.environ)
    return await _from_kubeconfig(named or str(Path.home() / ".kube" / "config"))


def _in_cluster(folder: Path, environ: Mapping[str, str]) -> Cluster:
    host, port = environ["KUBERNETES_SERVICE_HOST"], environ.get("KUBERNETES_SERVICE_PORT", "443")
    try:
        tls = _tls(str(folder / "ca.crt"))
        token = _TokenFile(folder / "token")
    except (OSError, ValueError) as exc:
        raise errors.Unconfigured(f"the pod's service account in {folder} cannot be used: {exc}") from exc
    return Cluster(
        host=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        tls=tls,
        authorization=token.authorization,
    )


class _TokenFile:
    """A token that somebody else renews in place."""

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


async def _from_kubeconfig(path: str) -> Cluster:
    # Imported here since it takes 1.5 s and 50 MB, and pods do not need it.
    from kubernetes_asyncio.client import Configuration  # noqa: PLC0415
    from kubernetes_asyncio.config import ConfigException, load_kube_config  # noqa: PLC0415

    if not _exists(path):
        raise errors.Unconfigured(f"there is no kubeconfig at {path}: name one, or set KUBECONFIG")
    found = Configuration()
    try:
        async with asyncio.timeout(REQUEST_SECONDS):
            loader = await load_kube_config(config_file=path, client_configuration=found, persist_config=False)
        tls = _tls(found.ssl_ca_cert, found.cert_file, found.key_file, verify=found.verify_ssl)
    except Exception as exc:  # a border: the loader checks little, so a broken file surfaces as any exception
        raise errors.Unconfigured(f"the kubeconfig {path} cannot be used: {type(exc).__name__}: {exc}") from exc

    async def authorization() -> str | None:
        if hasattr(loader, "exec_plugin_expiry"):
            try:
                async with asyncio.timeout(REQUEST_SECONDS):
                    await loader.load_from_exec_plugin()
            except (ConfigException, OSError, ValueError, TimeoutError) as exc:
                raise errors.Unreachable(f"no token from the exec plugin of {path}: {exc}") from exc
        return getattr(loader, "token", None)

    return Cluster(
        host=str(found.host),
        tls=tls if str(found.host).startswith("https") else None,
        authorization=authorization,
        server_name=found.tls_server_name,
        proxy=found.proxy,
    )


def _exists(path: str) -> bool:
    return any(Path(part).expanduser().exists() for part in path.split(os.pathsep) if part)


def _tls(
    ca: str | None, certificate: str | None = None, key: str | None = None, *, verify: bool = True
) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca)
    # Python 3.13 made this the default; the CAs of many clusters lack the key identifier that it asks for.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if certificate:
        context.load_cert_chain(certificate, key)
    return context

"""Requests to the archive: bodies of any size, streamed over one connection (ADR 0012).

Only tasks with large values import it. The callers retry.
"""

import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import BinaryIO, NamedTuple
from urllib.parse import urlsplit

from torpor_wire import constants

from torpor.errors import UnreadableError
from torpor.runtime import http, status_patch
from torpor.runtime.environment import Launch
from torpor.runtime.http import ApiResponse, KeptConnection, WorkerTransport
from torpor.runtime.status_patch import RetryPolicy

_PIECE = 64 * 1024
_LIMIT_S = 60.0
_OK = 200
_LOCAL = "unix:"
"""Before the path of the socket of a local run."""


class ArchiveAddress(NamedTuple):
    """The address of the archive, and the TaskRun that uses it."""

    host: str
    connect: Callable[[], socket.socket]
    token: Callable[[], str]
    namespace: str
    taskrun: str


class ArchiveConnection:
    """The archive, over a connection that stays open until it fails."""

    def __init__(self, where: ArchiveAddress) -> None:
        self._where = where
        self._connection = KeptConnection(where.connect)

    def put(self, headers: Mapping[str, str], body: Iterable[bytes], *, target: str = "result") -> ApiResponse:
        """Upload the result of the TaskRun, or a file. Raises UnclearError without a response, and those of `body`."""
        path = f"/v1/namespaces/{self._where.namespace}/taskruns/{self._where.taskrun}/{target}"
        with self._connection.exchange(f"PUT {path}") as (link, reader):
            link.sendall(self._head("PUT", path, {**headers, "Transfer-Encoding": "chunked"}))
            for piece in body:
                if not _sent(link, b"%x\r\n%b\r\n" % (len(piece), piece)):
                    break  # it responded before the end, for example because the body is too large
            else:
                _sent(link, b"0\r\n\r\n")
            return self._answer(reader)

    @contextmanager
    def get(
        self, uid: str, digest: str, query: str = "", *, file: str | None = None
    ) -> Iterator[ApiResponse | Iterator[bytes]]:
        """Yield the body of a result, or of a file, in pieces, or return the error response.

        Raises UnclearError, also between pieces.
        """
        what = f"results/{uid}" if file is None else f"files/{uid}/{file}"
        path = f"/v1/namespaces/{self._where.namespace}/{what}/{digest}{query}"
        with self._connection.exchange(f"GET {path}") as (link, reader):
            link.sendall(self._head("GET", path, {"Torpor-TaskRun": self._where.taskrun}))
            status, headers = http.read_head(reader)
            if status == _OK:
                pieces = _pieces(reader, headers)
                yield pieces
                if next(pieces, None) is not None or headers.get(b"connection") == b"close":
                    self.close()
            else:
                yield self._ended(http.read_rest(reader, status, headers))

    def close(self) -> None:
        """Close the connection. The next request opens a new one."""
        self._connection.close()

    def _answer(self, reader: BinaryIO) -> ApiResponse:
        status, headers = http.read_head(reader)
        while status < _OK:
            status, headers = http.read_head(reader)
        return self._ended(http.read_rest(reader, status, headers))

    def _ended(self, read: tuple[ApiResponse, bool]) -> ApiResponse:
        answer, keep = read
        if not keep or answer.status >= _OK + 100:
            self.close()  # a rejection may arrive before everything is sent
        return answer

    def _head(self, method: str, path: str, headers: Mapping[str, str]) -> bytes:
        sent = {
            "Host": self._where.host,
            "User-Agent": "torpor-worker",
            "Authorization": f"Bearer {self._where.token()}",
            **headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        return f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode()


def archive_at(transport: http.WorkerTransport, launched: Launch, retry_policy: RetryPolicy) -> ArchiveConnection:
    """Return the archive, trusting its own certificate. A local run has neither TLS nor tokens.

    Raises ValueError for an invalid URL, UnreadableError if the certificate cannot be read.
    """
    url, namespace, taskrun = launched.archive_url or "", launched.namespace, launched.taskrun
    if url.startswith(_LOCAL):
        pod = f"{namespace}/{launched.pod_uid}"
        local = http.over_unix(url.removeprefix(_LOCAL), limit=_LIMIT_S)
        return ArchiveConnection(ArchiveAddress("localhost", local, lambda: pod, namespace, taskrun))
    parts = urlsplit(url)
    if parts.scheme != "https" or parts.hostname is None:
        raise ValueError(f"the URL of the archive is {url!r}, not https://host:port")
    ca = read(transport, launched.archive_namespace, retry_policy)
    connect = http.over_tls(parts.hostname, parts.port or 443, None, ca_text=ca, limit=_LIMIT_S)
    token = http.token_in(constants.CREDENTIALS, constants.ARCHIVE_TOKEN)
    return ArchiveConnection(ArchiveAddress(parts.netloc, connect, token, namespace, taskrun))


def _sent(link: socket.socket, data: bytes) -> bool:
    """Send data; return False if the server has closed the connection, because its response may be readable."""
    try:
        link.sendall(data)
    except TimeoutError:
        raise
    except OSError:
        return False
    return True


def _pieces(reader: BinaryIO, headers: Mapping[bytes, bytes]) -> Iterator[bytes]:
    """Yield the content of a response. Raises ValueError if it is truncated."""
    if headers.get(b"transfer-encoding") != b"chunked":
        yield from _exactly(reader, int(headers.get(b"content-length", b"")))
        return
    while size := int(http.read_line(reader).partition(b";")[0], 16):
        yield from _exactly(reader, size)
        http.read_line(reader)
    while http.read_line(reader):
        pass


def _exactly(reader: BinaryIO, size: int) -> Iterator[bytes]:
    while size:
        piece = reader.read(min(size, _PIECE))
        if not piece:
            raise ValueError(f"the response ended {size} bytes early")
        size -= len(piece)
        yield piece


def read(transport: WorkerTransport, namespace: str, retry_policy: status_patch.RetryPolicy) -> str:
    """Return the certificate in PEM. `namespace` is that of the ConfigMap. Raises UnreadableError."""
    name = f"ConfigMap {namespace}/{constants.ARCHIVE_CONFIG}"
    path = f"/api/v1/namespaces/{namespace}/configmaps/{constants.ARCHIVE_CONFIG}"
    match status_patch.read(transport, path, retry_policy):
        case status_patch.WriteStored(body):
            certificate = (body.get("data") or {}).get(constants.ARCHIVE_CERTIFICATE)
            if certificate:
                return str(certificate)
            message = f"it has no {constants.ARCHIVE_CERTIFICATE}"
        case problem:
            message = problem.message
    raise UnreadableError(f"the certificate of the archive cannot be read from {name}: {message}")

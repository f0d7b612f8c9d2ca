"""Requests to the API server: HTTP/1.1 over TLS, one at a time.

It uses sockets, because `http.client` imports the e-mail package: 9 ms of CPU in each task pod, compared with 25 ms for
everything else. It supports what the API server sends: a status line, headers, and a body by length, in chunks, or
until the end.
"""

import _thread
import json
import os
import select
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple, Protocol

from torpor_wire import canonical, constants

_LIMIT_S = 10.0
_CONNECT_S = 5.0
_IDLE_S = 30.0
"""An API server closes a connection that is unused for 90 s. A load balancer may drop it earlier without a notice."""
_BODY_MAX = 16 * 1024 * 1024
_TYPES = {"PATCH": "application/json-patch+json"}
_QUERIES = {"PATCH": f"?fieldManager={constants.FIELD_MANAGER}"}


class UnclearError(Exception):
    """There was no response; the server may or may not have processed the request."""


class ApiResponse(NamedTuple):
    """An HTTP status and the JSON of the body, None if there is none."""

    status: int
    body: Any


class WorkerTransport(Protocol):
    """Sends one request. Raises UnclearError without a response."""

    def __call__(self, method: str, path: str, body: canonical.Json = None) -> ApiResponse:
        """Send a request and return the response."""


class KeptConnection:
    """A connection that stays open until it fails or is closed. One thread at a time uses it.

    It also stays open while user code runs: the report of a short task then needs no second TLS handshake (ADR 0095).
    """

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._socket: socket.socket | None = None
        self._reader: BinaryIO | None = None
        self._file: tuple[int, int] | None = None
        self._used = 0.0
        self._process = os.getpid()
        self._turn = _thread.allocate_lock()

    @contextmanager
    def exchange(self, request: str) -> Iterator[tuple[socket.socket, BinaryIO]]:
        """Hold the connection for one request. Any error closes it. Raises UnclearError, which names the request."""
        if self._process != os.getpid():
            # A process that user code forked must not use the connection and the lock of its parent.
            self.close()
            self._process, self._turn = os.getpid(), _thread.allocate_lock()
        with self._turn:  # threads of the user may read results, even during the report
            try:
                yield self._opened()
                self._used = time.monotonic()
            except (OSError, ValueError) as error:
                self.close()
                raise UnclearError(f"{request}: {type(error).__name__}: {error}") from error
            except BaseException:  # a signal while user code reads results: the rest of the response is unread
                self.close()
                raise

    def _opened(self) -> tuple[socket.socket, BinaryIO]:
        """Return the connection, a new one if the former cannot be used again."""
        if self._socket is not None and (
            self._is_foreign() or time.monotonic() - self._used > _IDLE_S or _is_readable(self._socket)
        ):
            self.close()
        if self._socket is None or self._reader is None:
            self._socket = self._connect()
            self._file = _file_of(self._socket)
            self._reader = self._socket.makefile("rb")
        return self._socket, self._reader

    def close(self) -> None:
        """Close the connection. The next request opens a new one."""
        if self._socket is not None and self._is_foreign():
            self._socket.detach()
        for end in (self._reader, self._socket):
            if end is not None:
                end.close()
        self._socket = self._reader = None

    def _is_foreign(self) -> bool:
        """Whether user code closed the descriptor, as daemons close all: the number may be that of another file now."""
        return self._socket is not None and self._file != _file_of(self._socket)


def _file_of(link: socket.socket) -> tuple[int, int] | None:
    """Return the file of a descriptor; None if it is closed."""
    try:
        about = os.fstat(link.fileno())
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _is_readable(link: socket.socket) -> bool:
    """Whether there is something to read. Between two requests, that is the end of the connection."""
    poll = select.poll()
    poll.register(link, select.POLLIN)
    return bool(poll.poll(0))


class ConnectionTransport:
    """Sends requests over one connection."""

    def __init__(self, host: str, connect: Callable[[], socket.socket], token: Callable[[], str]) -> None:
        self._host = f"[{host}]" if ":" in host else host
        self._token = token
        self._connection = KeptConnection(connect)

    def __call__(self, method: str, path: str, body: canonical.Json = None) -> ApiResponse:
        """Send a request and return the response. Any error closes the connection."""
        with self._connection.exchange(f"{method} {path}") as (link, reader):
            link.sendall(self._request(method, path, body))
            answer, keep = read_rest(reader, *read_head(reader))
            if not keep:
                self.close()
            return answer

    def close(self) -> None:
        """Close the connection. The next request opens a new one."""
        self._connection.close()

    def _request(self, method: str, path: str, body: canonical.Json) -> bytes:
        content = b"" if body is None else canonical.plain(body).encode()
        head = (
            f"{method} {path}{_QUERIES.get(method, '')} HTTP/1.1\r\nHost: {self._host}\r\nUser-Agent: torpor-worker\r\n"
            f"Authorization: Bearer {self._token()}\r\nAccept: application/json\r\n"
            f"Content-Type: {_TYPES.get(method, 'application/json')}\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        return head.encode() + content


def over_tls(
    host: str, port: int, ca_file: str | None, *, ca_text: str | None = None, limit: float = _LIMIT_S
) -> Callable[[], socket.socket]:
    """Return a function that opens connections which trust one CA, given as a file or as PEM. `limit` is in seconds.

    Connecting has a shorter limit: a Service may still route to a pod that is gone, and a retry finds the new one.
    """

    def connect() -> socket.socket:
        trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trust.load_verify_locations(ca_file, cadata=ca_text)
        plain = socket.create_connection((host, port), timeout=min(limit, _CONNECT_S))
        plain.settimeout(limit)
        try:
            return trust.wrap_socket(plain, server_hostname=host)
        except BaseException:
            plain.close()
            raise

    return connect


def over_unix(path: str, *, limit: float = _LIMIT_S) -> Callable[[], socket.socket]:
    """Return a function that opens connections to a Unix domain socket. `limit` is in seconds."""

    def connect() -> socket.socket:
        plain = socket.socket(socket.AF_UNIX)
        plain.settimeout(limit)
        try:
            plain.connect(path)
        except BaseException:
            plain.close()
            raise
        return plain

    return connect


def token_in(folder: str, name: str = "token") -> Callable[[], str]:
    """Return a function that reads the token for each request, because the kubelet renews the file."""

    def read() -> str:
        with open(os.path.join(folder, name), encoding="ascii") as file:  # noqa: PTH118, PTH123 - pathlib costs 5 ms
            return file.read().strip()

    return read


def read_head(reader: BinaryIO) -> tuple[int, dict[bytes, bytes]]:
    """Return status and lower-case headers. Raises ValueError for an invalid response."""
    version, _, rest = read_line(reader).partition(b" ")
    if not version.startswith(b"HTTP/1."):
        raise ValueError(f"not an HTTP response: {version[:40]!r}")
    headers = {}
    while line := read_line(reader):
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip().lower()
    return int(rest[:3]), headers


def read_rest(reader: BinaryIO, status: int, headers: dict[bytes, bytes]) -> tuple[ApiResponse, bool]:
    """Return the response, and whether the connection can be reused. Raises ValueError if it is truncated."""
    content, keep = _content(reader, headers)
    is_json = b"json" in headers.get(b"content-type", b"")
    answer = ApiResponse(status, json.loads(content) if is_json and content else None)
    return answer, keep and headers.get(b"connection") != b"close"


def _content(reader: BinaryIO, headers: dict[bytes, bytes]) -> tuple[bytes, bool]:
    if headers.get(b"transfer-encoding") == b"chunked":
        return _chunks(reader), True
    if b"content-length" in headers:
        return _exactly(reader, int(headers[b"content-length"])), True
    return reader.read(_BODY_MAX), False


def _chunks(reader: BinaryIO) -> bytes:
    content = b""
    while size := int(read_line(reader).partition(b";")[0], 16):
        content += _exactly(reader, size)
        read_line(reader)
    while read_line(reader):
        pass
    return content


def _exactly(reader: BinaryIO, size: int) -> bytes:
    if size > _BODY_MAX:
        raise ValueError(f"a response of {size} bytes")
    content = reader.read(size)
    if len(content) < size:
        raise ValueError(f"the response ended after {len(content)} of {size} bytes")
    return content


def read_line(reader: BinaryIO) -> bytes:
    """Return a line without its end. Raises ValueError if it is truncated."""
    line = reader.readline(65_536)
    if not line.endswith(b"\n"):
        raise ValueError("the response ended early")
    return line.rstrip(b"\r\n")

"""An archive on loopback, on real sockets: bodies in memory, the requests, and the faults of the next ones.

It counts and describes bodies as ADR 0012 says; who may ask is the real one's to judge.
"""

from __future__ import annotations

import hashlib
import json
import socket
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, unquote, urlsplit

from torpor.runtime.archive.client import ArchiveAddress, ArchiveConnection

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.message import Message

_LINES = {"list", "object"}


class FakeArchive:
    """Bodies by digest. `faults` are statuses that the next requests get; 0 cuts the answer short."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {}
        self.requests: list[str] = []
        self.headers: list[Message] = []
        self.faults: list[int] = []
        self.message = "try again"
        self.largest = 2**62
        self.connections = 0
        self._server = _Server(("127.0.0.1", 0), type("Handler", (_Handler,), {"archive": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def port(self) -> int:
        return self._server.server_port

    def client(self, taskrun: str = "ingest-load-abcde") -> ArchiveConnection:
        """What a pod of this TaskRun asks through."""
        return ArchiveConnection(ArchiveAddress("archive", self._connect, lambda: "t0ken", "default", taskrun))

    def keep(self, kind: str, body: bytes, name: str | None = None) -> dict[str, Any]:
        """Keeps a body, and says of it what a TaskRun would."""
        about: dict[str, Any] = {"size": len(body), "digest": hashlib.sha256(body).hexdigest(), "type": kind}
        self.bodies[about["digest"]] = body
        if kind in _LINES:
            about["length"] = body.count(b"\n")
        if kind == "object":
            about["keys"] = json.dumps([json.loads(line)[0] for line in body.splitlines()])
        return about if name is None else {**about, "name": name}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _connect(self) -> socket.socket:
        self.connections += 1
        return socket.create_connection(("127.0.0.1", self.port), timeout=5)


class _Server(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is what is tested here."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    archive: FakeArchive
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        pass

    def do_PUT(self) -> None:
        self._noted()
        try:
            self._put()
        except ConnectionResetError:
            self.close_connection = True

    def _put(self) -> None:
        body = bytearray()
        for chunk in self._chunks():
            body += chunk
            if len(body) > self.archive.largest:
                error = {"reason": "TooLarge", "message": f"{len(body)} bytes came and {self.archive.largest} fit"}
                self.close_connection = True
                return self._answer(413, json.dumps(error).encode())
        if self.archive.faults and (status := self.archive.faults.pop(0)) >= 400:
            return self._answer(status, json.dumps({"message": self.archive.message}).encode())
        name = self.headers["Torpor-Name"]
        about = self.archive.keep(self.headers["Torpor-Type"], bytes(body), None if name is None else unquote(name))
        return self._answer(201, json.dumps(about).encode())

    def do_GET(self) -> None:
        self._noted()
        url = urlsplit(self.path)
        fault = self.archive.faults.pop(0) if self.archive.faults else 200
        body = self.archive.bodies.get(url.path.rpartition("/")[2])
        if fault >= 400 or body is None:
            return self._answer(fault if body else 404, json.dumps({"message": self.archive.message}).encode())
        if url.query:
            query = {name: int(values[0]) for name, values in parse_qs(url.query).items()}
            lines = body.splitlines(keepends=True)
            if query["item"] >= len(lines):
                return self._answer(416, b'{"message": "outside"}')
            body = b"".join(lines[query["item"] :][: query.get("count", 1)])
        return self._answer(200, body, cut=fault == 0)

    def _answer(self, status: int, body: bytes, *, cut: bool = False) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream" if status == 200 else "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if cut else body)
        self.close_connection = self.close_connection or cut

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline() or b"-1", 16):
            if size < 0:
                raise ConnectionResetError("the body broke off")
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def _noted(self) -> None:
        self.archive.requests.append(f"{self.command} {self.path}")
        self.archive.headers.append(self.headers)

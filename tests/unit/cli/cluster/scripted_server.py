"""An HTTP server on loopback whose answers a test scripts, for failures that no real API server produces on demand."""

import json
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRequest:
    """What the server received."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    groups: tuple[str, ...] = ()
    body: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptedResponse:
    """What the server sends. `lines` is a stream that ends the connection."""

    status: int = 200
    body: Any = None
    lines: tuple[Any, ...] | None = None
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Callable[[RecordedRequest], ScriptedResponse]


@dataclass(slots=True)
class ScriptedServer:
    """The server, and the requests so far."""

    url: str
    requests: list[RecordedRequest] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    """Records each request, and answers with what the script returns."""

    protocol_version = "HTTP/1.1"
    script: ClassVar[Script]
    recorded: ClassVar[list[RecordedRequest]]

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
        pass

    def handle_any(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        request = RecordedRequest(
            method=self.command,
            path=parts.path,
            query=parse_qs(parts.query),
            headers=dict(self.headers.items()),
            groups=tuple(self.headers.get_all("Impersonate-Group") or ()),
            body=json.loads(content) if content else None,
        )
        self.recorded.append(request)
        self.answer(type(self).script(request))

    do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815 - the names are the base class's

    def answer(self, answer: ScriptedResponse) -> None:
        if answer.lines is None:
            content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        else:
            content = "".join(f"{json.dumps(line)}\n" for line in answer.lines).encode()
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def scripted_server(
    script: Script, *, tls: ssl.SSLContext | None = None, address: str = "127.0.0.1"
) -> Iterator[ScriptedServer]:
    """Serve the answers of a function."""
    requests: list[RecordedRequest] = []
    handler = type("ScriptedHandler", (_Handler,), {"script": staticmethod(script), "recorded": requests})
    http = ThreadingHTTPServer((address, 0), handler)
    http.daemon_threads = True
    if tls is not None:
        http.socket = tls.wrap_socket(http.socket, server_side=True)
    url = f"{'http' if tls is None else 'https'}://{address}:{http.server_port}"
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield ScriptedServer(url=url, requests=requests)
    finally:
        http.shutdown()
        http.server_close()
        thread.join()

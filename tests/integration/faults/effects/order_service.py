"""A service that tasks with `http` call. It rejects the first attempt of each task, and notes the keys that it gets."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from torpor.triggers.http_call import KEY


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderService:
    """`keys` has the Idempotency-Key of each request in the order of their arrival."""

    url: str
    keys: list[str] = field(default_factory=list)

    def answer(self, key: str) -> tuple[int, object]:
        """Return status and body. The answers to one key are the same."""
        self.keys.append(key)
        attempt = key.rsplit("-", 2)[1]
        return (503, {"error": "busy"}) if attempt == "1" else (200, {"accepted": True})


@contextmanager
def started() -> Iterator[OrderService]:
    """Serve on a free port of loopback."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            status, body = service.answer(self.headers[KEY])
            content = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = OrderService(url=f"http://127.0.0.1:{server.server_port}/orders")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

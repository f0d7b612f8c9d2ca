"""`python -m sensors.store --after 300`: a store whose keys appear all at once after so many seconds."""

import argparse
import time
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Store(ThreadingHTTPServer):
    """Serves on all addresses. `opens` is a time of the monotonic clock."""

    request_queue_size = 256

    def __init__(self, port: int, opens: float) -> None:
        super().__init__(("", port), KeyHandler)
        self.opens = opens


class KeyHandler(BaseHTTPRequestHandler):
    """Any path is a key."""

    server: Store

    def do_GET(self) -> None:
        """Respond with 200 once the store is open, 404 before."""
        there = time.monotonic() >= self.server.opens
        self.send_response(HTTPStatus.OK if there else HTTPStatus.NOT_FOUND)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
        """Log nothing, because hundreds of sensors poll."""


def main() -> None:
    """Serve forever."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--after", type=float, default=60)
    given = parser.parse_args()
    Store(given.port, time.monotonic() + given.after).serve_forever()


if __name__ == "__main__":
    main()

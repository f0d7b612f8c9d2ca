"""A site on port 8000 that answers with what it was sent, as httpbin does, and a gate that a file opens."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

GATE = Path("/tmp/open")


class EchoHandler(BaseHTTPRequestHandler):
    """Answers each method."""

    def answer(self) -> None:
        """Send back the body if it is JSON. `/gate` is missing until the file exists."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path.startswith("/gate") and not GATE.exists():
            self.send_error(404)
            return
        try:
            sent = json.loads(body or b"null")
        except ValueError:
            sent = None
        given = dict(parse_qsl(urlsplit(self.path).query))
        text = json.dumps({"site": "httpbin", "path": self.path, "args": given, "json": sent})
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text.encode())

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = answer  # noqa: N815 - the names that the standard library calls


ThreadingHTTPServer(("0.0.0.0", 8000), EchoHandler).serve_forever()

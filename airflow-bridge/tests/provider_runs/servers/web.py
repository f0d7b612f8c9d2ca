"""An HTTP service on loopback that answers as the rows say, one server for each row."""

import json
import ssl
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from provider_runs.servers.answers import AnswersOfRow


class WebServer:
    """Answers `METHOD /path` by the row. An answer is an object for JSON, or a status with one; others are 404.

    `certificate`: a context of TLS, for a client that only knows https.
    """

    def __init__(self, answers: Mapping[str, Any], certificate: ssl.SSLContext | None = None) -> None:
        self.answers = given = AnswersOfRow(answers)

        class Handler(_AnswerHandler):
            """Serves the answers of this server."""

            answers = given

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if certificate is not None:
            self._server.socket = certificate.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.port = int(self._server.server_address[1])
        self.url = f"{'http' if certificate is None else 'https'}://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()


def _type_of(answer: Any) -> str:
    if isinstance(answer, str):
        return "application/xml" if answer.startswith("<") else "text/plain"
    return "application/json"


class _AnswerHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers: AnswersOfRow

    def handle_one(self) -> None:
        """Answer a request."""
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        name = f"{self.command} {urlsplit(self.path).path}"
        answer = self.answers.next(name)
        status = 200
        if answer is None:
            status, answer = 404, {"message": f"the row has no answer to {name}"}
        elif isinstance(answer, tuple):
            status, answer = answer
        content = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", _type_of(answer))
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = handle_one  # noqa: N815 - names of the base class

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the base class
        """Write no line for each request."""

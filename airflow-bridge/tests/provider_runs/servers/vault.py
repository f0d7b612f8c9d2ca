"""The part of Vault's HTTP API that clients of a KV store of version 2 use, as Vault's documentation describes it."""

import json
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

TOKEN = "hvs.of-a-test"
MOUNT = "airflow"


class VaultServer:
    """A store with secrets by path, such as `connections/web`."""

    def __init__(self, secrets: Mapping[str, Mapping[str, str]]) -> None:
        found = {f"/v1/{MOUNT}/data/{path}": dict(data) for path, data in secrets.items()}

        class Handler(_Handler):
            """Serves the secrets of this server."""

            secrets = found

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    secrets: Mapping[str, Mapping[str, str]] = {}

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        if self.headers.get("X-Vault-Token") != TOKEN:
            self._send(403, {"errors": ["permission denied"]})
        elif path == "/v1/auth/token/lookup-self":
            self._send(200, {"data": {"id": TOKEN, "policies": ["airflow"], "ttl": 3600}})
        elif path in self.secrets:
            metadata = {"created_time": "2026-11-26T06:00:00Z", "deletion_time": "", "destroyed": False, "version": 1}
            self._send(200, {"data": {"data": self.secrets[path], "metadata": metadata}})
        else:
            self._send(404, {"errors": []})

    def _send(self, status: int, body: Any) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:  # noqa: A002 - the library's name
        pass

"""A node of the real API server that serves only the logs of pods, on loopback.

The API server passes requests for logs on to the address in the node's status. Tests set what each pod wrote, and end
the pods themselves.
"""

import ssl
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from torpor_archive import tls


@dataclass(slots=True, kw_only=True)
class PodLog:
    """The log of one pod. It is followed until `ended` is set."""

    text: bytes = b""
    status: int = 200
    ended: threading.Event = field(default_factory=threading.Event)
    requests: list[Mapping[str, str]] = field(default_factory=list)


class KubeletLogs:
    """The logs by name of the pod, and the port that serves them."""

    def __init__(self) -> None:
        self.logs: dict[str, PodLog] = {}
        self.port = 0

    def node(self, name: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The Node object, and its status."""
        status = {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": self.port}},
        }
        return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}, status

    def wait_for_request(self, pod: str, seconds: float = 180.0) -> None:
        """Return when the log of a pod has been requested."""
        end = time.monotonic() + seconds
        while not self.logs[pod].requests:
            assert time.monotonic() < end, f"nothing reads the log of {pod}"
            time.sleep(0.05)


class _LogHandler(BaseHTTPRequestHandler):
    kubelet: KubeletLogs
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(url.query).items()}
        log = self.kubelet.logs.get(url.path.split("/")[3])
        if log is None:
            self._send(404, b"no such pod")
            return
        log.requests.append(query)
        if log.status != 200:
            self._send(log.status, log.text)
        elif "follow" in query:
            self._follow(log)
        else:
            self._send(200, log.text)

    def log_message(self, *_: object) -> None:
        """Write nothing."""

    def _send(self, status: int, text: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(text)

    def _follow(self, log: PodLog) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        sent = 0
        while True:
            ended = log.ended.wait(0.05)
            if len(log.text) > sent:
                part = log.text[sent:]
                sent += len(part)
                self.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
            if ended:
                break
        self.wfile.write(b"0\r\n\r\n")


class _LogServer(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


@contextmanager
def started() -> Iterator[KubeletLogs]:
    """Serve until the block ends."""
    kubelet = KubeletLogs()

    server = _LogServer(("127.0.0.1", 0), type("Handler", (_LogHandler,), {"kubelet": kubelet}))
    # The handshake belongs to the thread of the connection: a client that is slow must not stop `accept`.
    server.socket = _tls().wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    kubelet.port = int(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield kubelet
    finally:
        server.shutdown()
        server.server_close()


def _tls() -> ssl.SSLContext:
    pair = tls.create_key_pair("127.0.0.1", datetime.now(UTC))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pair.pem"
        path.write_text(pair.key + pair.certificate)
        context.load_cert_chain(path)
    return context

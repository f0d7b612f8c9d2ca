"""The fake cluster says nothing on standard error, which tests compare."""

import socket
import struct
import threading
from pathlib import Path

import pytest

from tests.support.fake_cluster import fake_cluster

_RESET = struct.pack("ii", 1, 0)
"""Close with a reset."""


def handlers() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if "process_request_thread" in one.name]


def test_a_client_that_resets_its_connection_is_not_reported(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with fake_cluster() as cluster:
        address = cluster.kubeconfig(tmp_path).read_text(encoding="utf-8").partition("http://")[2].partition('"')[0]
        host, _, port = address.partition(":")
        former = set(handlers())
        with socket.create_connection((host, int(port))) as client:
            client.sendall(b"GET /api/v1/namespaces HTTP/1.1\r\nHost: x\r\n\r\n")
            client.recv(1)
            (handler,) = set(handlers()) - former
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        handler.join(60)
    assert capfd.readouterr().err == ""

"""Requests on a socket: what is sent, which forms of answer are read, and which are no answer."""

from __future__ import annotations

import os
import socket
import threading
from typing import TYPE_CHECKING

import pytest
from torpor.runtime.http import ApiResponse, ConnectionTransport, UnclearError, token_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JSON = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
TEXT = b"HTTP/1.1 503 Busy\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n\r\nbusy"


class ScriptedByteServer:
    """Answers each request on a connection with the next of the given bytes; ends it where they run out."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.requests: list[bytes] = []
        self.connections = 0
        self.last_descriptor = -1
        self._threads: list[threading.Thread] = []

    def connect(self) -> socket.socket:
        self.connections += 1
        ours, theirs = socket.socketpair()
        ours.settimeout(5)
        self.last_descriptor = ours.fileno()
        thread = threading.Thread(target=self._serve, args=(theirs,))
        thread.start()
        self._threads.append(thread)
        return ours

    def _serve(self, end: socket.socket) -> None:
        with end:
            while self.answers and (request := end.recv(65_536)):
                self.requests.append(request)
                answer = self.answers.pop(0)
                end.sendall(answer)
                if b"Connection: close" in answer or b"Content-" not in answer:
                    return

    def join(self) -> None:
        for thread in self._threads:
            thread.join(5)


@pytest.fixture
def server() -> Iterator[ScriptedByteServer]:
    byte_server = ScriptedByteServer()
    yield byte_server
    byte_server.join()


@pytest.fixture
def api(server: ScriptedByteServer) -> Iterator[ConnectionTransport]:
    transport = ConnectionTransport("fd00::1", server.connect, lambda: "t0ken")
    yield transport
    transport.close()


@pytest.mark.parametrize(
    "answer",
    [
        JSON + b'Content-Length: 9\r\n\r\n{"a":[1]}',
        JSON + b'Transfer-Encoding: chunked\r\n\r\n4\r\n{"a"\r\n5;x=y\r\n:[1]}\r\n0\r\nTrailer: z\r\n\r\n',
        JSON + b'Connection: close\r\n\r\n{"a":[1]}',
    ],
    ids=["by length", "in chunks", "to the end"],
)
def test_an_answer_is_read_in_each_form(server: ScriptedByteServer, api: ConnectionTransport, answer: bytes) -> None:
    server.answers = [answer]

    assert api("GET", "/apis") == ApiResponse(200, {"a": [1]})


def test_a_patch_has_the_token_and_its_content_type(server: ScriptedByteServer, api: ConnectionTransport) -> None:
    server.answers = [TEXT]

    api("PATCH", "/apis/x/status", [{"op": "test", "path": "/é", "value": None}])

    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    assert lines[0] == b"PATCH /apis/x/status?fieldManager=torpor HTTP/1.1"
    assert b"Host: [fd00::1]" in lines
    assert b"Authorization: Bearer t0ken" in lines
    assert b"Content-Type: application/json-patch+json" in lines
    assert f"Content-Length: {len(body)}".encode() in lines
    assert body == '[{"op":"test","path":"/é","value":null}]'.encode()


def test_a_connection_serves_many_requests(server: ScriptedByteServer, api: ConnectionTransport) -> None:
    server.answers = [JSON + b"Content-Length: 2\r\n\r\n{}"] * 3

    assert [api("GET", "/a").status for _ in range(3)] == [200, 200, 200]
    assert server.connections == 1


def test_a_connection_that_the_server_closes_is_reopened(server: ScriptedByteServer, api: ConnectionTransport) -> None:
    server.answers = [JSON + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}"] * 2

    assert [api("GET", "/a").status for _ in range(2)] == [200, 200]
    assert server.connections == 2


def test_a_connection_that_ended_between_two_requests_is_reopened(
    server: ScriptedByteServer, api: ConnectionTransport
) -> None:
    server.answers = [JSON + b"Content-Length: 2\r\n\r\n{}"]
    api("GET", "/a")
    server.join()  # it has closed the connection, which its answer did not announce
    server.answers = [JSON + b"Content-Length: 2\r\n\r\n{}"]

    assert api("GET", "/b") == ApiResponse(200, {})
    assert server.connections == 2


def test_a_connection_that_was_unused_for_long_is_reopened(
    server: ScriptedByteServer, api: ConnectionTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [JSON + b"Content-Length: 2\r\n\r\n{}"] * 2
    api("GET", "/a")
    monkeypatch.setattr("torpor.runtime.http._IDLE_S", -1.0)
    api("GET", "/b")

    assert server.connections == 2


def test_a_descriptor_that_user_code_replaced_is_neither_written_nor_closed(
    server: ScriptedByteServer, api: ConnectionTransport, tmp_path: Path
) -> None:
    server.answers = [JSON + b"Content-Length: 2\r\n\r\n{}"] * 2
    api("GET", "/a")
    replaced = server.last_descriptor
    with (tmp_path / "own").open("wb") as own:
        os.dup2(own.fileno(), replaced)
    try:
        assert api("GET", "/b") == ApiResponse(200, {})
        assert os.fstat(replaced).st_size == 0
        assert server.connections == 2
    finally:
        os.close(replaced)


def test_a_process_that_user_code_forked_closes_no_descriptor_of_its_own(
    server: ScriptedByteServer, api: ConnectionTransport, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [JSON + b"Content-Length: 2\r\n\r\n{}"] * 2
    api("GET", "/a")
    replaced = server.last_descriptor
    with (tmp_path / "own").open("wb") as own:
        os.dup2(own.fileno(), replaced)
    monkeypatch.setattr("os.getpid", lambda: -1)
    try:
        assert api("GET", "/b") == ApiResponse(200, {})
        assert os.fstat(replaced).st_ino == (tmp_path / "own").stat().st_ino
    finally:
        os.close(replaced)


def test_an_answer_that_is_not_json_has_its_status_alone(server: ScriptedByteServer, api: ConnectionTransport) -> None:
    server.answers = [TEXT]

    assert api("GET", "/a") == ApiResponse(503, None)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 200 OK\r\nContent-",
        JSON + b'Content-Length: 90\r\nConnection: close\r\n\r\n{"a":',
        JSON + b'Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n40\r\n{"a":',
        JSON + b'Connection: close\r\n\r\n{"a":',
        JSON + b"Content-Length: 90\r\nConnection: close\r\n\r\n{}",
        JSON + b"Content-Length: 999999999999999\r\nConnection: close\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n",
    ],
)
def test_a_truncated_answer_is_indeterminate_and_the_request_is_repeated(
    server: ScriptedByteServer, api: ConnectionTransport, answer: bytes
) -> None:
    server.answers = [answer]
    with pytest.raises(UnclearError):
        api("GET", "/a")

    server.join()
    server.answers = [JSON + b"Content-Length: 2\r\n\r\n{}"]
    assert api("GET", "/a") == ApiResponse(200, {})


def test_a_server_that_is_not_there_is_unclear() -> None:
    def refused() -> socket.socket:
        raise ConnectionRefusedError("refused")

    with pytest.raises(UnclearError, match="refused"):
        ConnectionTransport("10.0.0.1", refused, lambda: "t")("GET", "/a")


def test_the_token_is_read_at_each_request_since_it_is_renewed_in_place(tmp_path: Path) -> None:
    read: Callable[[], str] = token_in(str(tmp_path))
    (tmp_path / "token").write_text("first\n")
    assert read() == "first"
    (tmp_path / "token").write_text("second\n")
    assert read() == "second"


def test_a_child_of_the_process_has_a_connection_of_its_own(
    server: ScriptedByteServer, api: ConnectionTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [TEXT, TEXT]
    api("GET", "/a")
    monkeypatch.setattr("os.getpid", lambda: -1)
    api("GET", "/b")

    assert server.connections == 2


def test_an_answer_that_a_signal_cut_short_is_not_read_by_the_next_request(
    server: ScriptedByteServer, api: ConnectionTransport, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers = [TEXT, TEXT]
    with monkeypatch.context() as interrupted:
        interrupted.setattr("torpor.runtime.http.read_rest", _interrupt)
        with pytest.raises(KeyboardInterrupt):
            api("GET", "/a")

    assert api("GET", "/b") == ApiResponse(503, None)
    assert server.connections == 2


def _interrupt(*_read: object) -> None:
    raise KeyboardInterrupt

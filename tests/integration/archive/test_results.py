"""Uploads and downloads of results of every type, whole and by item, with each kind of database."""

import hashlib
import json
import socket
import ssl
from collections.abc import Callable

import pytest

from tests.integration.archive.conftest import OCTETS, ArchiveTask
from tests.integration.archive.databases import UNFINISHED
from tests.integration.archive.process import ArchiveProcess
from tests.integration.conftest import Server

_LIST = b'{"a":1}\n"b"\nnull\n[1,2.0]\n'
_OBJECT = '["a",1]\n["ä",{"b":null}]\n'.encode()
KINDS: dict[str, bytes] = {
    "list": _LIST,
    "object": _OBJECT,
    "string": b'"text"',
    "number": b"1.5",
    "boolean": b"true",
    "null": b"null",
    "bytes": bytes(range(256)),
    "file": b"",
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_downloaded_as_uploaded(archive: ArchiveProcess, task: ArchiveTask, kind: str) -> None:
    body = KINDS[kind]
    named = {"Torpor_Name": "caf%C3%A9.txt"} if kind == "file" else {}
    stored = task.put(archive, kind, body, **named).expect(201).json
    assert stored == {
        "size": len(body),
        "digest": hashlib.sha256(body).hexdigest(),
        "type": kind,
        "length": {"list": 4, "object": 2}.get(kind),
        "keys": '["a","ä"]' if kind == "object" else None,
        "name": "café.txt" if kind == "file" else None,
    }
    answer = task.get(archive, task.address(stored["digest"])).expect(200)
    assert answer.body == body
    assert answer.headers["Torpor-Type"] == kind
    assert answer.headers.get("Torpor-Name") == named.get("Torpor_Name")


def test_a_single_item_and_several_are_read(archive: ArchiveProcess, task: ArchiveTask) -> None:
    at = task.address(task.put(archive, "list", _LIST).expect(201).json["digest"])
    lines = _LIST.splitlines(keepends=True)
    assert [task.get(archive, f"{at}?item={n}").expect(200).body for n in range(4)] == lines
    assert task.get(archive, f"{at}?item=1&count=2").expect(200).body == b"".join(lines[1:3])
    assert task.get(archive, f"{at}?item=2&count=100").expect(200).body == b"".join(lines[2:])
    assert task.get(archive, f"{at}?item=4").expect(416).reason == "OutOfRange"
    assert "-1" in task.get(archive, f"{at}?item=-1").expect(400).json["message"]


def test_items_are_found_across_chunks(archive: ArchiveProcess, task: ArchiveTask) -> None:
    lines = [json.dumps([n, "x" * (n * 37 % 4000)]).encode() + b"\n" for n in range(1500)]
    lines[700] = json.dumps("y" * 1_500_000).encode() + b"\n"  # begins in one chunk, ends two further on
    stored = task.put(archive, "list", iter(lines)).expect(201).json
    assert (stored["length"], stored["size"]) == (1500, sum(map(len, lines)))
    at = task.address(stored["digest"])
    for first, count in ((0, 1), (699, 3), (701, 1), (250, 300), (1499, 1)):
        body = task.get(archive, f"{at}?item={first}&count={count}").expect(200).body
        assert body == b"".join(lines[first : first + count]), (first, count)


def test_an_empty_list_is_a_list(archive: ArchiveProcess, task: ArchiveTask) -> None:
    stored = task.put(archive, "list", b"").expect(201).json
    assert (stored["length"], stored["size"]) == (0, 0)
    assert task.get(archive, task.address(stored["digest"])).expect(200).body == b""
    task.get(archive, task.address(stored["digest"]) + "?item=0").expect(416)


def test_the_same_result_is_stored_once(archive: ArchiveProcess, task: ArchiveTask) -> None:
    body = f'"{task.uid}"'.encode()
    first = task.put(archive, "string", body).expect(201).json
    assert task.put(archive, "string", body).expect(201).json == first
    assert archive.database.value(f"SELECT count(*) FROM bodies WHERE digest = '{first['digest']}'") == 1


def test_a_later_attempt_replaces_the_result(archive: ArchiveProcess, task: ArchiveTask, server: Server) -> None:
    first = task.put(archive, "number", b"1").expect(201).json["digest"]
    next_attempt = task.retry(server)
    second = next_attempt.put(archive, "number", b"2").expect(201).json["digest"]
    assert next_attempt.get(archive, task.address(second)).expect(200).body == b"2"
    next_attempt.get(archive, task.address(first)).expect(404)


BAD: dict[str, tuple[str, bytes, dict[str, str], str]] = {
    "no type": ("list", b"", {"Torpor_Type": ""}, "use one of list, object"),
    "another content type": ("list", b"", {"Content_Type": OCTETS}, "requires Content-Type application/x-ndjson"),
    "a path for a name": ("file", b"", {"Torpor_Name": "..%2Fx"}, "is not a file name"),
    "a name of a list": ("list", b"", {"Torpor_Name": "x"}, "is for type file only"),
    "invalid JSON": ("list", b"1\nNaN\n", {}, "line 1 is not JSON"),
    "an empty line": ("list", b"1\n\n2\n", {}, "line 1 is not JSON"),
    "half a character": ("list", b'"\xff"\n', {}, "line 0 is not UTF-8"),
    "too deep": ("list", b"[" * 100_000 + b"\n", {}, "nested too deeply"),
    "an entry without a value": ("object", b'["a"]\n', {}, "line 0 is not an object entry"),
    "a key twice": ("object", b'["a",1]\n["a",2]\n', {}, "key 'a' is duplicate"),
    "another type": ("number", b'"1"', {}, "is of type string, but the header declares a number"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_invalid_result_is_refused_with_the_reason(archive: ArchiveProcess, task: ArchiveTask, case: str) -> None:
    kind, body, headers, message = BAD[case]
    answer = task.put(archive, kind, body, **headers).expect(400)
    assert answer.reason == "Invalid"
    assert message in answer.json["message"]


TOO_LARGE: dict[str, tuple[str, Callable[[], list[bytes]], str]] = {
    "a line": ("list", lambda: [b'"' + b"x" * 9_000_000 + b'"\n'], "item 0 has more than 8388608 bytes"),
    "items": ("list", lambda: [b"1\n" * 1_000_001], "1000000"),
}


@pytest.mark.parametrize("case", TOO_LARGE)
def test_a_too_large_result_is_refused_with_the_numbers(archive: ArchiveProcess, task: ArchiveTask, case: str) -> None:
    kind, body, message = TOO_LARGE[case]
    answer = task.put(archive, kind, b"".join(body())).expect(413)
    assert answer.reason == "TooLarge"
    assert message in answer.json["message"]


def test_a_too_large_content_length_is_refused_before_the_body(archive: ArchiveProcess, task: ArchiveTask) -> None:
    head = f"PUT {task.result} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {task.token}\r\nTorpor-Type: bytes\r\n"
    head += f"Content-Type: {OCTETS}\r\nContent-Length: 100000001\r\n\r\n"
    with _connected(archive) as connection:
        connection.sendall(head.encode())
        response = connection.recv(4096)
    assert b" 413 " in response


def test_an_interrupted_upload_leaves_nothing(archive: ArchiveProcess, task: ArchiveTask) -> None:
    head = f"PUT {task.result} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {task.token}\r\nTorpor-Type: bytes\r\n"
    head += f"Content-Type: {OCTETS}\r\nContent-Length: 9000000\r\n\r\n"
    before = archive.database.value(UNFINISHED)
    with _connected(archive) as connection:
        connection.sendall(head.encode() + b"x" * 3_000_000)
        archive.eventually(lambda: archive.database.value(UNFINISHED) != before, "a part is stored")
    archive.eventually(lambda: archive.database.value(UNFINISHED) == before, "the upload is abandoned")
    assert archive.database.value("SELECT count(*) FROM chunks WHERE body NOT IN (SELECT id FROM bodies)") == 0
    assert archive.database.value(f"SELECT count(*) FROM results WHERE taskrun = '{task.uid}'") == 0


def _connected(archive: ArchiveProcess) -> ssl.SSLSocket:
    context = ssl.create_default_context(cadata=archive.authority())
    return context.wrap_socket(socket.create_connection(("127.0.0.1", archive.port), 30), server_hostname="127.0.0.1")

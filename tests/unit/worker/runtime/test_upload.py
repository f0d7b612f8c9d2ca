"""Results that are too large for their TaskRun: what goes to the archive, and what follows when it cannot."""

from __future__ import annotations

import hashlib
import json
import socket
from typing import TYPE_CHECKING, Any

import pytest
from torpor.runtime import http, main
from torpor_wire import constants

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.fake_archive import FakeArchive
    from tests.unit.worker.conftest import TaskPod, TaskRunApi

JSON, LINES, BYTES = "application/json", "application/x-ndjson", "application/octet-stream"


BODIES: dict[str, tuple[str, str, str, bytes]] = {
    "a list": ("['a' * 9000, 1.0, None]", "list", LINES, b'"' + b"a" * 9000 + b'"\n1.0\nnull\n'),
    "a tuple": ("('a' * 9000,)", "list", LINES, b'"' + b"a" * 9000 + b'"\n'),
    "an object": ("{'z': 1, 'a': 'b' * 9000}", "object", LINES, b'["z",1]\n["a","' + b"b" * 9000 + b'"]\n'),
    "a string": ("'ü' * 5000", "string", JSON, b'"' + "ü".encode() * 5000 + b'"'),
    "bytes of any size": (r"b'\x00\xff'", "bytes", BYTES, b"\x00\xff"),
    "no bytes": ("b''", "bytes", BYTES, b""),
}


@pytest.mark.parametrize("case", BODIES)
def test_a_result_goes_to_the_archive_as_what_it_is(
    task: Callable[..., TaskPod], archive: FakeArchive, case: str
) -> None:
    source, kind, content_type, body = BODIES[case]
    pod = task(f"def load(): return {source}")

    assert pod.run() == 0
    assert pod.status["state"] == "Succeeded"
    assert "result" not in pod.status
    stored = pod.status["stored"]
    assert (stored["type"], stored["size"]) == (kind, len(body))
    assert archive.bodies == {stored["digest"]: body}
    assert archive.headers[0]["Content-Type"] == content_type
    assert archive.headers[0]["Authorization"] == "Bearer t0ken"
    assert archive.requests == [f"PUT /v1/namespaces/default/taskruns/{pod.name}/result"]


def test_the_taskrun_has_lengths_and_keys_of_what_is_stored(task: Callable[..., TaskPod], archive: FakeArchive) -> None:
    pod = task("def load(): return {'z': 1, 'a': 'b' * 9000}")
    pod.run()

    assert pod.status["stored"]["length"] == 2
    assert json.loads(pod.status["stored"]["keys"]) == ["z", "a"]


def test_a_file_goes_as_it_is_with_its_name(task: Callable[..., TaskPod], archive: FakeArchive) -> None:
    pod = task(
        """
import pathlib, tempfile
def load():
    path = pathlib.Path(tempfile.mkdtemp()) / "bröd.csv"
    path.write_bytes(b"a;b" * 100_000)
    return path
"""
    )

    assert pod.run() == 0
    stored = pod.status["stored"]
    assert (stored["type"], stored["name"], stored["size"]) == ("file", "bröd.csv", 300_000)
    assert archive.bodies[stored["digest"]] == b"a;b" * 100_000


def test_a_result_that_fits_its_taskrun_never_meets_the_archive(
    task: Callable[..., TaskPod], archive: FakeArchive
) -> None:
    pod = task("def load(): return {'rows': ['x' * 8000], 'none': None}")

    assert pod.run() == 0
    assert json.loads(pod.status["result"]) == {"rows": ["x" * 8000], "none": None}
    assert archive.connections == 0


@pytest.mark.parametrize("extra", [0, 1])
@pytest.mark.parametrize("source", ["'x' * {}", "['x' * {}]", "dict(a='x' * {})", "[1, 'x' * {}]"])
def test_the_last_byte_that_fits_is_the_same_for_all(
    task: Callable[..., TaskPod], archive: FakeArchive, source: str, extra: int
) -> None:
    around = len(json.dumps(eval(source.format(0)), separators=(",", ":")))
    pod = task(f"def load(): return {source.format(constants.RESULT_MAX - around + extra)}")
    pod.run()

    assert ("stored" in pod.status) == bool(extra)
    assert extra or len(pod.status["result"]) == constants.RESULT_MAX


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("[0] * 9000 + [float('nan')]", "$[9000] is nan"),
        ("dict.fromkeys(map(str, range(9000))) | {'bad': {1}}", "$.bad is of type set"),
        ("dict.fromkeys(range(9000))", "has the key 0"),
        ("__import__('pathlib').Path('/nowhere/a.csv')", "the path '/nowhere/a.csv', which is not a file"),
    ],
)
def test_a_value_that_is_not_json_fails_without_a_retry_and_names_its_path(
    task: Callable[..., TaskPod], archive: FakeArchive, source: str, message: str
) -> None:
    pod = task(f"def load(): return {source}", spec={"retries": {"limit": 3}})

    assert pod.run() == 1
    assert (pod.status["state"], pod.status["reason"]) == ("Failed", "ResultInvalid")
    assert message in pod.status["message"]
    assert not archive.bodies


def test_an_archive_that_is_away_is_asked_again_for_minutes(task: Callable[..., TaskPod], archive: FakeArchive) -> None:
    archive.faults = [503, 500, 429, 401]
    pod = task("def load(): return 'x' * 9000")

    assert pod.run() == 0
    assert pod.status["stored"]["size"] == 9002
    assert len(archive.requests) == 5


def test_a_result_that_cannot_be_stored_fails_with_its_own_reason(
    task: Callable[..., TaskPod], archive: FakeArchive, cluster: TaskRunApi
) -> None:
    archive.faults, archive.message = [503] * 100, "the database is away"
    pod = task("def load(): return 'x' * 9000", spec={"retries": {"limit": 1}})
    before = cluster.clock

    assert pod.run() == 1
    assert (pod.status["state"], pod.status["reason"]) == ("UpForRetry", "ResultNotStored")
    assert pod.status["message"] == "the result is not in the archive: HTTP 503: the database is away"
    assert cluster.clock - before >= 300


def test_a_namespace_over_its_quota_fails_at_once_with_the_archives_message(
    task: Callable[..., TaskPod], archive: FakeArchive
) -> None:
    archive.faults, archive.message = [507] * 100, "the quota of namespace team is used up"
    pod = task("def load(): return 'x' * 9000", spec={"retries": {"limit": 1}})

    assert pod.run() == 1
    assert (pod.status["state"], pod.status["reason"]) == ("UpForRetry", "ResultNotStored")
    assert "HTTP 507: the quota of namespace team is used up" in pod.status["message"]
    assert len(archive.requests) == 1


def test_an_invalid_address_is_reported(task: Callable[..., TaskPod], cluster: TaskRunApi) -> None:
    cluster.archive_url = "http://archive"
    cluster.archive = main.build_runtime(http.ConnectionTransport("server", socket.socket, lambda: "token")).archive
    pod = task("def load(): return 'x' * 9000")

    assert pod.run() == 1
    assert pod.status["reason"] == "ResultNotStored"
    assert "the URL of the archive is 'http://archive', not https://host:port" in pod.status["message"]


def test_a_pod_that_may_not_write_does_not_insist(task: Callable[..., TaskPod], archive: FakeArchive) -> None:
    archive.faults, archive.message = [403], "another pod runs this"
    pod = task("def load(): return 'x' * 9000", spec={"retries": {"limit": 1}})

    assert pod.run() == 1
    assert pod.status["reason"] == "ResultNotStored"
    assert len(archive.requests) == 1


def test_a_result_too_large_for_the_archive_fails_finally_with_both_sizes(
    task: Callable[..., TaskPod], archive: FakeArchive
) -> None:
    archive.largest = 1_000_000
    pod = task("def load(): return b'x' * 20_000_000", spec={"retries": {"limit": 1}})

    assert pod.run() == 1
    assert (pod.status["state"], pod.status["reason"]) == ("Failed", "ResultInvalid")
    assert "and 1000000 fit" in pod.status["message"]


def test_a_body_that_arrived_otherwise_than_it_was_sent_is_sent_again(
    task: Callable[..., TaskPod], archive: FakeArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, damaged = archive.keep, []

    def damage(kind: str, body: bytes, name: str | None = None) -> dict[str, Any]:
        damaged.append(body)
        return keep(kind, body[:-1] if len(damaged) == 1 else body, name)

    monkeypatch.setattr(archive, "keep", damage)
    pod = task("def load(): return 'x' * 9000")

    assert pod.run() == 0
    assert pod.status["stored"]["digest"] == hashlib.sha256(damaged[0]).hexdigest()
    assert len(damaged) == 2


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("'x' * 9000", "the result has 9002 bytes of JSON, above the limit of 8192: install the archive"),
        ("b'x'", "bytes and files need the archive, which is not installed"),
        ("__import__('pathlib').Path('/etc/hosts')", "bytes and files need the archive, which is not installed"),
    ],
)
def test_without_an_archive_a_large_result_fails_its_task_and_says_so(
    task: Callable[..., TaskPod], source: str, message: str
) -> None:
    pod = task(f"def load(): return {source}")

    assert pod.run() == 1
    assert pod.status["reason"] == "ResultInvalid"
    assert message in pod.status["message"]

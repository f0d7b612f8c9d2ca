"""What one client or one namespace does to the archive leaves the others served: each was tried and succeeded once."""

import base64
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.integration.archive import databases
from tests.integration.archive.conftest import (
    OCTETS,
    ArchiveTask,
    MakeArchive,
    MakeDatabase,
    account,
    make_archive,
    task_in,
)
from tests.integration.archive.process import ArchiveProcess
from tests.integration.conftest import Server

__all__ = ["make_archive", "task_in"]  # fixtures

FLAGS = ("--idle-timeout", "2", "--max-connections", "60", "--max-connections-per-address", "40")
HANG = 60.0


@pytest.fixture(scope="module")
def make_database(tmp_path_factory: pytest.TempPathFactory) -> MakeDatabase:
    folder = tmp_path_factory.mktemp("databases")
    return lambda: databases.make(None, f"attacked_{uuid.uuid4().hex[:8]}", folder)


@pytest.fixture(scope="module")
def attacked(make_database: MakeDatabase, make_archive: MakeArchive) -> Iterator[ArchiveProcess]:
    made = make_archive(make_database(), *FLAGS, "--namespace-quota", "200Ki").ready()
    yield made
    made.kill()


@pytest.fixture
def attacker(task_in: Callable[..., ArchiveTask], open_namespace: Callable[[], str]) -> ArchiveTask:
    return task_in(open_namespace(), uuid.uuid4().hex)


@pytest.fixture
def innocent(task_in: Callable[..., ArchiveTask], open_namespace: Callable[[], str]) -> ArchiveTask:
    return task_in(open_namespace(), uuid.uuid4().hex)


def plain(archive: ArchiveProcess) -> socket.socket:
    return socket.create_connection(("127.0.0.1", archive.port), HANG)


def secure(archive: ArchiveProcess, link: socket.socket) -> ssl.SSLSocket:
    context = ssl.create_default_context(cadata=archive.authority())
    return context.wrap_socket(link, server_hostname="127.0.0.1")


def ended(link: socket.socket) -> bool:
    """Whether the other end closed it; raises TimeoutError where it hangs."""
    try:
        return link.recv(1) == b""
    except (ConnectionError, ssl.SSLError):
        return True


def trickle(link: ssl.SSLSocket) -> None:
    end = time.monotonic() + HANG
    while time.monotonic() < end:
        link.sendall(b"x")
        time.sleep(0.1)


def put_head(task: ArchiveTask) -> bytes:
    return (
        f"PUT {task.result} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {task.token}\r\nTorpor-Type: bytes\r\n"
        f"Content-Type: {OCTETS}\r\nContent-Length: 9000000\r\n\r\n"
    ).encode()


def test_connections_that_send_nothing_are_closed(attacked: ArchiveProcess) -> None:
    with ExitStack() as links:
        opened = [links.enter_context(secure(attacked, plain(attacked))) for _ in range(20)]
        assert all(ended(link) for link in opened)


def test_connections_that_never_shake_hands_are_closed(attacked: ArchiveProcess) -> None:
    with ExitStack() as links:
        opened = [links.enter_context(plain(attacked)) for _ in range(20)]
        assert all(ended(link) for link in opened)


def test_a_request_head_that_trickles_is_cut_off(attacked: ArchiveProcess) -> None:
    with plain(attacked) as link, secure(attacked, link) as secured:
        secured.sendall(b"GET /v1 HTTP/1.1\r\nX: ")
        with pytest.raises(OSError):  # noqa: PT011 - a reset or a broken pipe
            trickle(secured)


def test_very_many_connections_leave_room_for_a_task(attacked: ArchiveProcess, innocent: ArchiveTask) -> None:
    with ExitStack() as links:
        for _ in range(100):
            links.enter_context(plain(attacked))
        innocent.put(attacked, "string", b'"served"').expect(201)
    refused = next(
        line
        for line in attacked.health("/metrics").body.decode().splitlines()
        if line.startswith("torpor_archive_connections_refused_total ")
    )
    assert float(refused.split()[1]) >= 50


def test_trickled_uploads_of_one_pod_leave_room_for_other_namespaces(
    attacked: ArchiveProcess, attacker: ArchiveTask, innocent: ArchiveTask
) -> None:
    with ExitStack() as links:
        for _ in range(16):
            link = links.enter_context(secure(attacked, links.enter_context(plain(attacked))))
            link.sendall(put_head(attacker) + b"x")
        attacked.eventually(lambda: b"torpor_archive_uploads 8.0" in attacked.health("/metrics").body, "8 are taken in")
        for number in range(10):
            innocent.put(attacked, "number", f"{number}".encode()).expect(201)
        assert b"torpor_archive_uploads 8.0" in attacked.health("/metrics").body


def test_a_taskrun_keeps_one_result_however_many_it_puts(attacked: ArchiveProcess, attacker: ArchiveTask) -> None:
    said = [attacker.put(attacked, "bytes", b"x" * size).expect(201).json["digest"] for size in range(1, 6)]
    kept = f"SELECT count(*) FROM results WHERE taskrun = '{attacker.uid}'"
    assert attacked.database.value(kept) == 1
    attacker.get(attacked, attacker.address(said[-1])).expect(200)
    attacker.get(attacked, attacker.address(said[0])).expect(404)


def test_a_namespace_cannot_fill_the_disk(
    attacked: ArchiveProcess, attacker: ArchiveTask, innocent: ArchiveTask, task_in: Callable[..., ArchiveTask]
) -> None:
    others = [task_in(attacker.namespace, attacker.workflow) for _ in range(2)]
    for task in (attacker, others[0]):
        task.put(attacked, "bytes", b"x" * 100_000).expect(201)
    refused = others[1].put(attacked, "bytes", b"x" * 100_000).expect(507)
    assert refused.reason == "QuotaExceeded"
    assert f"namespace {attacker.namespace} has used its archive quota of 204800 bytes" in refused.json["message"]
    innocent.put(attacked, "bytes", b"x" * 100_000).expect(201)


@pytest.mark.parametrize("value", [b"[" * 4000, b"[1e400,1]", b'[1.0,"\\u0000"]', b"\xff", b"{}"])
def test_a_page_that_makes_no_sense_is_a_bad_request(
    attacked: ArchiveProcess, innocent: ArchiveTask, server: Server, value: bytes
) -> None:
    token = account(server, innocent.namespace, "historian", "view")
    given = base64.urlsafe_b64encode(value).decode()
    answer = attacked.request("GET", f"/v1/namespaces/{innocent.namespace}/runs?continue={given}", token)
    assert answer.expect(400).reason == "Invalid"


def test_a_name_that_no_object_has_is_a_bad_request(
    attacked: ArchiveProcess, innocent: ArchiveTask, server: Server
) -> None:
    token = account(server, innocent.namespace, "historian", "view")
    attacked.request("GET", f"/v1/namespaces/{innocent.namespace}/runs/%00", token).expect(400)
    attacked.request("GET", "/v1/namespaces/%00/runs", token).expect(400)

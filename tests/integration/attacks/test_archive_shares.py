"""Slow readers and made-up tokens of some leave the archive to others, although all come from one address."""

import base64
import json
import socket
import ssl
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from torpor_wire import constants

from tests.integration.archive import databases
from tests.integration.archive.conftest import ArchiveTask, MakeArchive, MakeDatabase, account, make_archive, task_in
from tests.integration.archive.process import ArchiveProcess
from tests.integration.attacks.test_archive import plain, secure
from tests.integration.conftest import Server

__all__ = ["make_archive", "task_in"]  # fixtures

FLAGS = ("--max-connections", "120", "--max-connections-per-address", "40", "--max-connections-per-namespace", "20")
BODY = b"x" * 16_000_000
"""More than the buffers of a connection."""


@pytest.fixture(scope="module")
def make_database(tmp_path_factory: pytest.TempPathFactory) -> MakeDatabase:
    folder = tmp_path_factory.mktemp("databases")
    return lambda: databases.make(None, f"shared_{uuid.uuid4().hex[:8]}", folder)


@pytest.fixture(scope="module")
def archive(make_database: MakeDatabase, make_archive: MakeArchive) -> Iterator[ArchiveProcess]:
    made = make_archive(make_database(), *FLAGS).ready()
    yield made
    made.kill()


@pytest.fixture
def make_task(task_in: Callable[..., ArchiveTask], open_namespace: Callable[[], str]) -> Callable[[], ArchiveTask]:
    """A task in a namespace of its own."""
    return lambda: task_in(open_namespace(), uuid.uuid4().hex)


def count(archive: ArchiveProcess, result: str) -> float:
    """The tokens that had this result."""
    name = f'torpor_archive_token_reviews_total{{result="{result}"}} '
    lines = archive.health("/metrics").body.decode().splitlines()
    return sum(float(line.removeprefix(name)) for line in lines if line.startswith(name))


def read_slowly(archive: ArchiveProcess, links: ExitStack, path: str, token: str) -> ssl.SSLSocket:
    """Ask for a body, and take nothing of it."""
    link = links.enter_context(plain(archive))
    link.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    secured = links.enter_context(secure(archive, link))
    secured.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\nTorpor-Authorization: Bearer {token}\r\n\r\n".encode())
    return secured


def test_slow_readers_of_two_namespaces_leave_the_archive_to_a_third(
    archive: ArchiveProcess, server: Server, make_task: Callable[[], ArchiveTask]
) -> None:
    with ExitStack() as links:
        for attacker in (make_task(), make_task()):
            path = attacker.address(attacker.put(archive, "bytes", BODY).expect(201).json["digest"])
            reader = account(server, attacker.namespace, "reader", "view")
            archive.request("GET", f"{path}x", reader).expect(404)
            for _ in range(35):
                read_slowly(archive, links, path, reader)
        innocent = make_task()
        path = innocent.address(innocent.put(archive, "string", b'"served"').expect(201).json["digest"])
        reader = account(server, innocent.namespace, "reader", "view")
        for _ in range(10):
            assert archive.request("GET", path, reader).expect(200).body == b'"served"'
            innocent.get(archive, path).expect(200)
        runs = f"/v1/namespaces/{innocent.namespace}/runs"
        assert archive.request("GET", runs, reader).expect(200).json == {"items": []}


def made_up(token: str, number: int) -> str:
    """A token that only a review can refuse: the claims are good, and the signature is not."""
    head, payload, signature = token.split(".")
    claims = json.loads(base64.urlsafe_b64decode(payload + "=="))
    claims |= {"jti": str(number), "exp": int(time.time()) + 3600, "aud": [constants.ARCHIVE_AUDIENCE]}
    changed = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"{head}.{changed}.{signature}"


def test_made_up_tokens_cost_few_reviews_and_delay_no_known_token(
    archive: ArchiveProcess, make_task: Callable[[], ArchiveTask]
) -> None:
    task, path = make_task(), "/v1/namespaces/team/runs"
    task.put(archive, "number", b"0").expect(201)
    before = {result: count(archive, result) for result in ("Rejected", "Limited", "Malformed")}

    def attack(number: int) -> int:
        return archive.request("GET", path, made_up(task.token, number)).status

    with ThreadPoolExecutor(8) as pool:
        attacks = pool.map(attack, range(300))
        for number in range(1, 11):
            task.put(archive, "number", f"{number}".encode()).expect(201)
        statuses = list(attacks)
    rejected, limited = (count(archive, result) - before[result] for result in ("Rejected", "Limited"))
    assert (rejected, limited) == (statuses.count(401), statuses.count(503))
    assert rejected + limited == 300
    assert limited > 0
    for token in ("nonsense", "a.b.c", task.token.replace(".", "")):
        archive.request("GET", path, token).expect(401)
    assert count(archive, "Malformed") - before["Malformed"] == 3

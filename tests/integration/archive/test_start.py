"""Tables are made from nothing, once, however many replicas start, and whenever the database does."""

import asyncio
from collections.abc import Callable

import pytest
from torpor_api.timing import SystemClock
from torpor_archive.storage import database
from torpor_archive.storage.database import Database
from torpor_wire import constants

from tests.integration.archive.conftest import MakeArchive, MakeDatabase, Task
from tests.integration.archive.databases import Sqlite
from tests.integration.archive.process import Archive
from tests.integration.conftest import Server


def say(replica: Archive, word: bytes) -> None:
    replica.eventually(lambda: replica.health("/healthz").status == 200, "it is alive")
    replica.eventually(lambda: word in replica.health("/readyz").body, "it says what is missing")


def workflow(server: Server, namespace: str) -> str:
    """The uid of one that is there."""
    tasks = [{"name": "wait", "trigger": {"class": "time"}}]
    metadata = {"generateName": "there-"}
    body = {"apiVersion": constants.API_VERSION, "kind": "Workflow", "metadata": metadata, "spec": {"tasks": tasks}}
    return str(server.create("workflows", namespace, body).expect(201)["metadata"]["uid"])


def test_of_replicas_that_find_no_tables_one_makes_them_and_the_others_wait(
    make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 60)
    empty = make_database()
    if isinstance(empty, Sqlite):  # turning to WAL does not wait for another that does so too
        empty.value("PRAGMA journal_mode = WAL")

    async def migrated() -> None:
        replicas = [Database(empty.url, SystemClock(), patience=60.0, note=lambda _did: None) for _ in range(4)]
        try:
            await asyncio.gather(*(replica.migrate() for replica in replicas))
            await replicas[0].migrate()
        finally:
            for replica in replicas:
                await replica.close()

    asyncio.run(migrated())
    assert empty.value("SELECT count(*) FROM alembic_version") == 1


def test_replicas_that_start_before_their_database_make_its_tables_once_and_find_them_again(
    make_database: MakeDatabase, make_archive: MakeArchive, task_in: Callable[..., Task], home: str, server: Server
) -> None:
    empty = make_database()
    empty.stop()
    try:
        replicas = [make_archive(empty) for _ in range(2)]
        for replica in replicas:
            say(replica, b"DatabaseUnavailable")
    finally:
        empty.start()
    there, orphan = workflow(server, home), task_in(home, "gone")
    tasks = [task_in(home, there) for _ in replicas]
    pairs = enumerate(zip(tasks, replicas, strict=True))
    put = [task.put(replica.ready(), "number", b"%d" % n).expect(201) for n, (task, replica) in pairs]
    at = [task.address(answer.said["digest"]) for task, answer in zip(tasks, put, strict=True)]
    task = tasks[0]
    lost = orphan.address(orphan.put(replicas[0], "number", b"3").expect(201).said["digest"])
    for replica in replicas:
        assert [task.get(replica, address).expect(200).body for address in at] == [b"0", b"1"]
        orphan.get(replica, lost).expect(200)
    replicas[0].kill()
    replicas[1].stop()

    again = make_archive(empty, "--sweep-interval", "0.5").ready()
    again.eventually(lambda: orphan.get(again, lost).status == 404, "what is of a Workflow that is gone goes")
    assert [task.get(again, address).expect(200).body for address in at] == [b"0", b"1"]
    again.stop()
    assert empty.value("SELECT count(*) FROM alembic_version") == 1
    assert empty.value("SELECT count(*) FROM bodies WHERE id NOT IN (SELECT body FROM results)") == 0

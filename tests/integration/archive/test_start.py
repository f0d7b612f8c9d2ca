"""Migrations run once, for any number of replicas and any start order of archive and database."""

import asyncio
from collections.abc import Callable

import pytest
from torpor_archive.storage import database
from torpor_archive.storage.database import Database
from torpor_kubernetes.timing import SystemClock
from torpor_wire import constants

from tests.integration.archive.conftest import ArchiveTask, MakeArchive, MakeDatabase
from tests.integration.archive.databases import Sqlite
from tests.integration.archive.process import ArchiveProcess
from tests.integration.conftest import Server


def wait_for_readiness_message(replica: ArchiveProcess, word: bytes) -> None:
    replica.eventually(lambda: replica.health("/healthz").status == 200, "it is alive")
    replica.eventually(lambda: word in replica.health("/readyz").body, "/readyz says why not")


def workflow(server: Server, namespace: str) -> str:
    """Create a Workflow and return its uid."""
    tasks = [{"name": "wait", "trigger": {"class": "time"}}]
    metadata = {"generateName": "there-"}
    body = {"apiVersion": constants.API_VERSION, "kind": "Workflow", "metadata": metadata, "spec": {"tasks": tasks}}
    return str(server.create("workflows", namespace, body).expect(201)["metadata"]["uid"])


def test_one_of_several_replicas_migrates_and_the_others_wait(
    make_database: MakeDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LOCK_SECONDS", 60)
    empty = make_database()
    if isinstance(empty, Sqlite):  # switching to WAL does not wait for a concurrent switch
        empty.value("PRAGMA journal_mode = WAL")

    async def migrated() -> None:
        replicas = [
            Database(empty.url, SystemClock(), retry_seconds=60.0, on_transaction=lambda _succeeded: None)
            for _ in range(4)
        ]
        try:
            await asyncio.gather(*(replica.migrate() for replica in replicas))
            await replicas[0].migrate()
        finally:
            for replica in replicas:
                await replica.close()

    asyncio.run(migrated())
    assert empty.value("SELECT count(*) FROM alembic_version") == 1


def test_replicas_may_start_before_their_database(
    make_database: MakeDatabase,
    make_archive: MakeArchive,
    task_in: Callable[..., ArchiveTask],
    home: str,
    server: Server,
) -> None:
    empty = make_database()
    empty.stop()
    try:
        replicas = [make_archive(empty) for _ in range(2)]
        for replica in replicas:
            wait_for_readiness_message(replica, b"DatabaseUnavailable")
    finally:
        empty.start()
    there, orphan = workflow(server, home), task_in(home, "gone")
    tasks = [task_in(home, there) for _ in replicas]
    pairs = enumerate(zip(tasks, replicas, strict=True))
    put = [task.put(replica.ready(), "number", b"%d" % n).expect(201) for n, (task, replica) in pairs]
    at = [task.address(answer.json["digest"]) for task, answer in zip(tasks, put, strict=True)]
    task = tasks[0]
    lost = orphan.address(orphan.put(replicas[0], "number", b"3").expect(201).json["digest"])
    for replica in replicas:
        assert [task.get(replica, address).expect(200).body for address in at] == [b"0", b"1"]
        orphan.get(replica, lost).expect(200)
    replicas[0].kill()
    replicas[1].stop()

    again = make_archive(empty, "--sweep-interval", "0.5").ready()
    again.eventually(lambda: orphan.get(again, lost).status == 404, "results of deleted Workflows are deleted")
    assert [task.get(again, address).expect(200).body for address in at] == [b"0", b"1"]
    again.stop()
    assert empty.value("SELECT count(*) FROM alembic_version") == 1
    assert empty.value("SELECT count(*) FROM bodies WHERE id NOT IN (SELECT body FROM results)") == 0

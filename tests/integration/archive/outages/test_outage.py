"""Database outages: acknowledged results survive, and other uploads can be retried."""

from collections.abc import Iterator

from tests.integration.archive.conftest import ArchiveTask
from tests.integration.archive.databases import UNFINISHED, Postgresql
from tests.integration.archive.process import ArchiveProcess


def test_an_upload_succeeds_after_the_database_recovers(archive: ArchiveProcess, task: ArchiveTask) -> None:
    unfinished = archive.database.value(UNFINISHED)
    before = task.put(archive, "list", b"1\n").expect(201).json["digest"]
    archive.database.stop()
    try:
        answer = task.put(archive, "list", b"2\n").expect(503)
        assert answer.reason == "DatabaseUnavailable"
        assert int(answer.headers["Retry-After"]) > 0
        assert archive.health("/healthz").status == 200
        if isinstance(archive.database, Postgresql):  # SQLite's lock excludes writers only
            assert b"DatabaseUnavailable" in archive.health("/readyz").body
            assert task.get(archive, task.address(before)).expect(503).reason == "DatabaseUnavailable"
            assert b"torpor_archive_database_up 0.0" in archive.health("/metrics").body
        assert b"torpor_archive_database_failures_total 0.0" not in archive.health("/metrics").body
    finally:
        archive.database.start()
    after = task.put(archive, "list", b"2\n").expect(201).json["digest"]
    assert task.get(archive, task.address(after)).expect(200).body == b"2\n"
    task.get(archive, task.address(before)).expect(404)
    archive.eventually(lambda: archive.health("/readyz").status == 200, "it is ready again")
    assert archive.database.value(UNFINISHED) == unfinished


def test_an_outage_during_an_upload_leaves_no_partial_body(archive: ArchiveProcess, task: ArchiveTask) -> None:
    def body() -> Iterator[bytes]:
        yield b"1\n" * 1_000_000
        archive.database.stop()
        yield b"2\n" * 1_000_000

    try:
        assert task.put(archive, "list", body()).status in (413, 503)
    finally:
        archive.database.start()
    assert archive.database.value(f"SELECT count(*) FROM results WHERE taskrun = '{task.uid}'") == 0
    task.put(archive, "list", b"2\n").expect(201)

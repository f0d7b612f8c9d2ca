"""Tables are made from nothing, once, however many replicas start, and whenever the database does."""

from collections.abc import Callable

from tests.integration.archive.conftest import MakeDatabase, Task
from tests.integration.archive.databases import Postgresql, Sqlite
from tests.integration.archive.process import Archive

MakeArchive = Callable[[Sqlite | Postgresql], Archive]


def test_replicas_that_start_before_their_database_make_its_tables_once_and_find_them_again(
    make_database: MakeDatabase, make_archive: MakeArchive, task: Task
) -> None:
    database = make_database()
    database.stop()
    try:
        replicas = [make_archive(database) for _ in range(2)]
        for replica in replicas:
            replica.eventually(lambda one=replica: one.health("/healthz").status == 200, "it is alive")  # type: ignore[misc]
            replica.eventually(
                lambda one=replica: b"DatabaseUnavailable" in one.health("/readyz").body,  # type: ignore[misc]
                "it says what is missing",
            )
    finally:
        database.start()
    put = [task.put(replica.ready(), "number", b"%d" % n).expect(201) for n, replica in enumerate(replicas)]
    at = [task.address(answer.said["digest"]) for answer in put]
    for replica in replicas:
        assert [task.get(replica, address).expect(200).body for address in at] == [b"0", b"1"]
    replicas[0].kill()
    replicas[1].stop()
    again = make_archive(database).ready()
    assert [task.get(again, address).expect(200).body for address in at] == [b"0", b"1"]
    again.stop()
    assert database.value("SELECT count(*) FROM alembic_version") == 1

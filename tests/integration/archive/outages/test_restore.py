"""A database that is restored from a backup of its own tools has the results of its time, and takes new ones."""

import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path
from shutil import copyfile

from tests.integration.archive.conftest import ArchiveTask, MakeArchive, MakeDatabase
from tests.integration.archive.databases import Postgresql, Sqlite
from tests.integration.triggers.servers import postgres


def _back_up(database: Sqlite | Postgresql, target: Path) -> None:
    """Copy a database that is in use, as docs/operations/backup.md says."""
    if isinstance(database, Postgresql):
        _run("pg_dump", "--format=custom", f"--file={target}", database.url)
        return
    with sqlite3.connect(database.path) as source, sqlite3.connect(target) as copy:
        source.backup(copy)
    source.close()
    copy.close()


def _restore(database: Sqlite | Postgresql, source: Path) -> None:
    """Replace all that a database has. Nobody uses it meanwhile."""
    if isinstance(database, Postgresql):
        _run("pg_restore", "--clean", "--if-exists", f"--dbname={database.url}", str(source))
        return
    for path in database.path.parent.glob(f"{database.path.name}*"):
        path.unlink()
    copyfile(source, database.path)


def _run(program: str, *arguments: str) -> None:
    with postgres.programs() as (folder, environment):
        argv = [str(folder / program), *arguments]
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_restored_database_has_the_results_of_the_backup(
    make_database: MakeDatabase,
    make_archive: MakeArchive,
    task_in: Callable[..., ArchiveTask],
    home: str,
    tmp_path: Path,
) -> None:
    database = make_database()
    archive = make_archive(database).ready()
    kept, lost = task_in(home), task_in(home)
    before = kept.address(kept.put(archive, "list", b"1\n").expect(201).json["digest"])
    _back_up(database, tmp_path / "backup")
    after = lost.address(lost.put(archive, "list", b"2\n").expect(201).json["digest"])

    archive.stop()
    _restore(database, tmp_path / "backup")
    archive.start()
    archive.ready()

    assert kept.get(archive, before).expect(200).body == b"1\n"
    lost.get(archive, after).expect(404)
    again = lost.address(lost.put(archive, "list", b"2\n").expect(201).json["digest"])
    assert lost.get(archive, again).expect(200).body == b"2\n"
    archive.stop()

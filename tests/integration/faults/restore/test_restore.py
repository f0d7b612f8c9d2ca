"""What a restore brings back and what it repeats, as docs/operations/backup.md says."""

import shutil
import sqlite3
import uuid
from pathlib import Path
from typing import Any

import pytest

from tests.integration.archive.databases import Sqlite
from tests.integration.controller.stage import python
from tests.integration.faults import etcd
from tests.integration.faults.environment import open_namespace
from tests.integration.faults.installation import ProcessInstallation
from tests.integration.faults.restore.conftest import RestoredRun, stopped
from tests.integration.faults.restore.etcd_restore import restore_etcd
from tests.integration.faults.restore.object_export import import_object

pytestmark = pytest.mark.long

_TASKS = "tests.integration.faults.tasks"
_ASK: dict[str, Any] = {"name": "ask", "python": f"{_TASKS}:asks"}


def test_a_restore_of_etcd_repeats_what_came_after_the_backup(
    installation: ProcessInstallation, namespace: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    slow = {"python": f"{_TASKS}:loops_until", "args": {"path": str(gate)}, "after": ["first"]}
    tasks = (
        python("first", "echo"),
        {"name": "slow", "retries": {"limit": 1, "delay": "0s"}, **slow},
        {"name": "once", **slow, "mayFail": True},
        _ASK,
        python("last", "echo", after=["slow", "ask"]),
    )
    name = installation.submit(namespace, tasks)
    run = RestoredRun(installation=installation, namespace=namespace, name=name)
    run.await_states({"first": "Succeeded", "slow": "Running", "once": "Running", "ask": "Deferred"})
    etcd.back_up(installation.plane, tmp_path / "backup")
    gate.touch()
    run.approve("ask")
    assert run.await_end() == "Succeeded"
    before = run.taskruns()

    restore_etcd(installation, tmp_path / "backup", namespace)
    run.approve("ask")
    assert run.await_end() == "Succeeded"
    after, starts = run.taskruns(), run.starts()

    # It had ended: it does not run again.
    assert starts["first"] == 1
    # They ran, and their reports are lost: the attempts end as Lost, and retries decide.
    assert (starts["slow"], after["slow"]["status"]["state"], after["slow"]["status"]["attempt"]) == (2, "Succeeded", 2)
    assert (starts["once"], after["once"]["status"]["state"], after["once"]["status"]["reason"]) == (
        1,
        "Failed",
        "Lost",
    )
    # It waited: it waits again, and the segment after it runs again under the same idempotency key.
    assert (starts["ask"], after["ask"]["status"]["attempt"]) == (3, 1)
    # It did not exist: it is created again with another uid.
    assert starts["last"] == 1
    assert before["last"]["metadata"]["uid"] != after["last"]["metadata"]["uid"]
    same = {task for task, taskrun in after.items() if taskrun["metadata"]["uid"] == before[task]["metadata"]["uid"]}
    assert same == {"first", "slow", "once", "ask"}


def test_an_imported_run_stays_ended_with_its_status_or_starts_over(
    installation: ProcessInstallation, namespace: str
) -> None:
    ended = RestoredRun(
        installation=installation, namespace=namespace, name=installation.submit(namespace, [python("only", "echo")])
    )
    assert ended.await_end() == "Succeeded"
    tasks = [python("before", "echo"), _ASK | {"after": ["before"]}]
    waiting = RestoredRun(installation=installation, namespace=namespace, name=installation.submit(namespace, tasks))
    waiting.await_states({"before": "Succeeded", "ask": "Deferred"})
    exported = installation.items("workflows", namespace)

    other = open_namespace(installation, f"restored-{uuid.uuid4().hex[:8]}")
    with stopped(installation, "operator"):
        for body in exported:
            import_object(installation, other, body, with_status=body["metadata"]["name"] == ended.name)

    again = RestoredRun(installation=installation, namespace=other, name=waiting.name)
    again.await_states({"before": "Succeeded", "ask": "Deferred"})
    again.approve("ask")
    assert again.await_end() == "Succeeded"
    assert again.starts() == {"before": 1, "ask": 2}
    kept = RestoredRun(installation=installation, namespace=other, name=ended.name)
    assert kept.await_end() == "Succeeded"
    assert kept.taskruns() == {}
    waiting.approve("ask")
    assert waiting.await_end() == "Succeeded"


def test_an_older_archive_lacks_results_until_their_task_is_cleared(
    installation: ProcessInstallation, namespace: str, tmp_path: Path
) -> None:
    database = installation.database
    assert isinstance(database, Sqlite)
    tasks: list[dict[str, Any]] = [
        {"name": "large", "python": f"{_TASKS}:large"},
        _ASK | {"after": ["large"]},
        {"name": "size", "python": f"{_TASKS}:size", "args": {"value": "${tasks.large.result}"}, "after": ["ask"]},
    ]
    # As the page does it: a copy of a database that is in use.
    with sqlite3.connect(database.path) as source, sqlite3.connect(tmp_path / "backup.db") as target:
        source.backup(target)
    source.close()
    target.close()
    run = RestoredRun(installation=installation, namespace=namespace, name=installation.submit(namespace, tasks))
    run.await_states({"large": "Succeeded", "ask": "Deferred"})

    with stopped(installation, "archive"):
        for path in database.path.parent.glob(f"{database.path.name}*"):
            path.unlink()
        shutil.copy(tmp_path / "backup.db", database.path)
    run.approve("ask")
    assert run.await_end() == "Failed"
    assert run.states() == {"large": "Succeeded", "ask": "Succeeded", "size": "Failed"}

    run.clear("large")
    run.installation.until(lambda: run.states().get("ask") == "Deferred", "it asks again")
    run.approve("ask")
    assert run.await_end() == "Succeeded"

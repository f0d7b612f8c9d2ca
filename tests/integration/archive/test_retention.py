"""Old runs are deleted by age and by number, with their results; the results of kept runs stay."""

import json
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from torpor_wire import constants

from tests.integration.archive.conftest import ArchiveTask, MakeArchive, MakeDatabase, account
from tests.integration.archive.process import ArchiveProcess
from tests.integration.archive.test_runs import ndjson, put, run
from tests.integration.conftest import Server


def ended(namespace: str, name: str, days: float, uid: str = "") -> list[dict[str, Any]]:
    """A run that ended some days ago."""
    lines = run(namespace, uid or uuid.uuid4().hex, name=name)
    moment = datetime.now(UTC) - timedelta(days=days)
    lines[0]["status"]["completionTime"] = moment.isoformat(timespec="seconds").replace("+00:00", "Z")
    return lines


def test_runs_beyond_the_settings_are_deleted_with_their_results(
    make_database: MakeDatabase,
    make_archive: MakeArchive,
    server: Server,
    open_namespace: Callable[[], str],
    task_in: Callable[..., ArchiveTask],
) -> None:
    team, busy = open_namespace(), open_namespace()
    operator = server.token("torpor-system", "torpor-operator", audience=constants.ARCHIVE_AUDIENCE)
    database = make_database()
    archive = make_archive(
        database,
        "--sweep-interval",
        "1",
        "--keep",
        "30d",
        "--keep-namespace",
        f"{busy}=0/2",
        "--namespace-quota",
        "1Gi",
    ).ready()
    kept, gone = (task_in(team, uuid.uuid4().hex) for _ in range(2))
    paths = {task: task.address(task.put(archive, "list", b"1\n").expect(201).json["digest"]) for task in (kept, gone)}
    for name, days, task in (("young", 29.0, kept), ("old", 31.0, gone)):
        lines = ended(team, name, days, task.workflow)
        put(archive, operator, team, task.workflow, ndjson(lines)).expect(200)
    for number in range(4):
        lines = ended(busy, f"run-{number}", 100.0 - number)
        put(archive, operator, busy, lines[0]["metadata"]["uid"], ndjson(lines)).expect(200)

    readers = {name: account(server, name, "reader", "view") for name in (team, busy)}
    archive.eventually(lambda: _names(archive, team, readers) == ["young"], "the old run is deleted")
    archive.eventually(lambda: _names(archive, busy, readers) == ["run-3", "run-2"], "two runs are kept")
    archive.eventually(
        lambda: archive.request("GET", paths[gone], readers[team]).status == 404, "the result of the old run is deleted"
    )
    assert archive.request("GET", paths[kept], readers[team]).expect(200).body == b"1\n"
    archive.eventually(lambda: database.value("SELECT count(*) FROM bodies") == 4, "the bodies are deleted")
    assert database.value("SELECT count(*) FROM chunks WHERE body NOT IN (SELECT id FROM bodies)") == 0
    assert "torpor_archive_runs_trimmed_total 3.0" in archive.health("/metrics").body.decode()
    archive.stop()


def _names(archive: ArchiveProcess, namespace: str, readers: dict[str, str]) -> list[str]:
    answer = archive.request("GET", f"/v1/namespaces/{namespace}/runs", readers[namespace]).expect(200)
    return [item["name"] for item in json.loads(answer.body)["items"]]

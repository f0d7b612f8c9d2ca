"""A database of an earlier release keeps its runs, which are then found by completion, state and labels."""

import asyncio
import json
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torpor_archive
from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, inspect, text
from torpor_archive.storage import chunks
from torpor_archive.storage.database import Database
from torpor_kubernetes.timing import SystemClock

from tests.integration.archive.conftest import MakeArchive, MakeDatabase, account
from tests.integration.archive.test_runs import CREATED
from tests.integration.conftest import Server

RELEASED = "0002"
LAST_WITHOUT_UIDS = "0004"
_RESULT = (
    """INSERT INTO results (namespace, taskrun, digest, workflow, body) VALUES (:namespace, :id, 'd', :uid, :id)"""
)
_LOG = """INSERT INTO logs (id, namespace, workflow, taskrun, task, path, attempt, segment, launch, kind, pod,
    node, started, ended, state, reason, message, failed, size, omitted, stored, object, created, owner, expires)
    VALUES (:id, :namespace, :uid, 't', 'load', '', 1, 0, 0, 'pod', 'p', 'n', '', '', 'Kept', '', '', :no, 0, 0, 0,
    '', 1, '', 0)"""
_STATEMENTS = (
    """INSERT INTO bodies (id, complete, created, type, size, digest, length)
    VALUES (:id, :yes, 1, 'run', :size, 'd', :length)""",
    """INSERT INTO chunks (body, seq, at, size, first, lines, starts, data)
    VALUES (:id, 0, 0, :size, 0, :length, :starts, :data)""",
    """INSERT INTO runs (namespace, uid, name, state, created, completed, archived, body)
    VALUES (:namespace, :uid, :name, :state, :created, :completed, :archived, :id)""",
)


def test_runs_of_an_earlier_release_are_found_by_completion_and_labels(
    make_database: MakeDatabase, make_archive: MakeArchive, server: Server, open_namespace: Callable[[], str]
) -> None:
    namespace, database = open_namespace(), make_database()
    viewer = account(server, namespace, "reader", "view")
    older = _run(namespace, "older", "2026-01-01T00:00:00Z", labels={"team": "data"}, cancelled=True)
    newer = _run(namespace, "newer", "2026-02-01T00:00:00.250Z", labels={"team": "web"}, taskruns=3)
    unreadable = _run(namespace, "odd", "not a time")
    asyncio.run(_fill(database.url, [newer, older, unreadable]))

    archive = make_archive(database, "--keep", "0").ready()

    def listed(query: str) -> list[dict[str, Any]]:
        path = f"/v1/namespaces/{namespace}/runs{query}"
        return list(archive.request("GET", path, viewer).expect(200).json["items"])

    archive.eventually(lambda: len(listed("?labels=team")) == 2, "the labels are read")
    assert [item["name"] for item in listed("?since=2025-01-01T00:00:00Z")] == ["newer", "older"]
    assert [item["name"] for item in listed("?labels=team%3Ddata")] == ["older"]
    assert [item["name"] for item in listed("?state=Cancelled")] == ["older"]
    assert {item["name"]: item["taskRuns"] for item in listed("")} == {"newer": 3, "older": 1, "odd": 1}
    path = f"/v1/namespaces/{namespace}/runs/{newer[0]['metadata']['uid']}"
    assert archive.request("GET", path, viewer).expect(200).body == _body(newer)
    assert database.value("SELECT count(*) FROM runs WHERE completed_at = archived") == 1
    archive.stop()


def test_rows_without_the_uid_of_a_namespace_go_to_their_own_only(
    make_database: MakeDatabase, make_archive: MakeArchive, server: Server, open_namespace: Callable[[], str]
) -> None:
    namespace, database = open_namespace(), make_database()
    viewer = account(server, namespace, "reader", "view")
    former = _run(namespace, "former", "2026-01-01T00:00:00Z", created="2020-01-01T00:00:00Z")
    own = _run(namespace, "own", "2026-01-01T00:00:00Z")
    asyncio.run(_fill(database.url, [former, own], LAST_WITHOUT_UIDS))

    archive = make_archive(database, "--keep", "0").ready()

    path = f"/v1/namespaces/{namespace}/runs"
    archive.eventually(lambda: bool(archive.request("GET", path, viewer).expect(200).json["items"]), "it is assigned")
    items = archive.request("GET", path, viewer).expect(200).json["items"]
    assert [item["name"] for item in items] == ["own"]
    archive.request("GET", f"{path}/{former[0]['metadata']['uid']}", viewer).expect(404)
    for lines, rows in ((own, [1, 1]), (former, [0, 0])):
        of_run = f"workflow = '{lines[0]['metadata']['uid']}' AND namespace_uid <> ''"
        assert [database.value(f"SELECT count(*) FROM {name} WHERE {of_run}") for name in ("results", "logs")] == rows
    assert database.value("SELECT count(*) FROM results") == 2
    archive.stop()


def _run(namespace: str, name: str, completed: str, **given: Any) -> list[dict[str, Any]]:
    uid = uuid.uuid4().hex
    cancelled = given.get("cancelled", False)
    metadata = {"name": name, "namespace": namespace, "uid": uid, "labels": given.get("labels", {})}
    metadata["creationTimestamp"] = given.get("created", CREATED)
    status: dict[str, Any] = {"state": "Failed" if cancelled else "Succeeded", "completionTime": completed}
    if cancelled:
        status["conditions"] = [{"type": "Succeeded", "status": "False", "reason": "Cancelled"}]
    workflow = {"kind": "Workflow", "metadata": metadata, "spec": {"cancel": cancelled}, "status": status}
    taskrun = {"kind": "TaskRun", "spec": {"workflow": {"uid": uid}}}
    return [workflow, *[taskrun] * given.get("taskruns", 1)]


def _body(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


async def _fill(url: str, runs: list[list[dict[str, Any]]], released: str = RELEASED) -> None:
    """Create the tables of the release, and store runs as it did."""
    database = Database(url, SystemClock(), retry_seconds=1.0, on_transaction=lambda _: None)
    async with database._engine.begin() as connection:
        await connection.run_sync(_upgrade, released)
        for archived, lines in enumerate(runs, start=1):
            await connection.run_sync(_insert, lines, float(archived))
    await database.close()


def _upgrade(connection: Connection, released: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(torpor_archive.__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, released)


def _insert(connection: Connection, lines: list[dict[str, Any]], archived: float) -> None:
    workflow, body = lines[0], _body(lines)
    starts = [0, *(index + 1 for index, byte in enumerate(body[:-1]) if byte == ord("\n"))]
    row = {
        "id": uuid.uuid4().hex,
        "yes": True,
        "no": False,
        "size": len(body),
        "length": len(lines),
        "starts": chunks.pack_offsets(tuple(starts)),
        "data": body,
        "namespace": workflow["metadata"]["namespace"],
        "uid": workflow["metadata"]["uid"],
        "name": workflow["metadata"]["name"],
        "state": workflow["status"]["state"],
        "created": workflow["metadata"]["creationTimestamp"],
        "completed": workflow["status"]["completionTime"],
        "archived": archived,
    }
    has_logs = inspect(connection).has_table("logs")
    for statement in (*_STATEMENTS, _RESULT, _LOG) if has_logs else _STATEMENTS:
        connection.execute(text(statement), {key: value for key, value in row.items() if f":{key}" in statement})

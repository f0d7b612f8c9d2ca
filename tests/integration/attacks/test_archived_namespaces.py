"""Another team that creates a deleted namespace again finds nothing of the former team in the archive."""

import json
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml
from torpor_wire import constants

from tests.integration.archive import databases
from tests.integration.archive.conftest import ArchiveTask, MakeArchive, MakeDatabase, account, make_archive, task_in
from tests.integration.archive.process import ArchiveProcess
from tests.integration.archive.test_runs import ndjson, put, run
from tests.integration.conftest import ROOT, Server, eventually

__all__ = ["make_archive", "task_in"]  # fixtures


@pytest.fixture(scope="module")
def make_database(tmp_path_factory: pytest.TempPathFactory) -> MakeDatabase:
    folder = tmp_path_factory.mktemp("databases")
    return lambda: databases.make(None, f"recreated_{uuid.uuid4().hex[:8]}", folder)


@pytest.fixture(scope="module")
def archive(make_database: MakeDatabase, make_archive: MakeArchive) -> Iterator[ArchiveProcess]:
    made = make_archive(make_database()).ready()
    yield made
    made.kill()


def now(server: Server, namespace: str) -> str:
    """The creationTimestamp of the namespace."""
    body = server.request("GET", f"/api/v1/namespaces/{namespace}").expect(200)
    return str(body["metadata"]["creationTimestamp"])


def recreate(server: Server, namespace: str) -> None:
    """Delete the namespace and everything in it, and create it again."""
    path = f"/api/v1/namespaces/{namespace}"
    server.request("DELETE", path).expect(200)
    eventually(lambda: server.request("GET", path).status == 404, "the namespace is gone")
    for file in ("namespace.yaml", "archive.yaml", "task.yaml"):
        text = (ROOT / "manifests/namespace" / file).read_text()
        for document in yaml.safe_load_all(text.replace("workflows", namespace)):
            server.apply(document)


def store_log(archive: ArchiveProcess, server: Server, task: ArchiveTask) -> None:
    """Store the lines of a wait of the task."""
    triggerer = server.token("torpor-system", "torpor-triggerer", audience=constants.ARCHIVE_AUDIENCE)
    line = {"at": "2026-01-01T00:00:00Z", "text": "secret"}
    wait = {"taskrun": task.name, "uid": task.uid, "attempt": 1, "segment": 0, "ended": line["at"], "lines": [line]}
    path = f"/v1/namespaces/{task.namespace}/logs/waits"
    sent = archive.request("POST", path, triggerer, json.dumps({"waits": [wait]}).encode()).expect(200)
    assert sent.json == {"stored": 1}


def test_another_team_reads_nothing_of_a_deleted_namespace(
    archive: ArchiveProcess, server: Server, open_namespace: Callable[[], str], task_in: Callable[..., ArchiveTask]
) -> None:
    namespace, workflow = open_namespace(), str(uuid.uuid4())
    operator = server.token("torpor-system", "torpor-operator", audience=constants.ARCHIVE_AUDIENCE)
    task = task_in(namespace, workflow)
    digest = task.put(archive, "string", b'"secret"').expect(201).json["digest"]
    store_log(archive, server, task)
    lines: list[dict[str, Any]] = run(namespace, workflow)
    lines[0]["metadata"]["creationTimestamp"] = now(server, namespace)
    put(archive, operator, namespace, workflow, ndjson(lines)).expect(200)
    runs = f"/v1/namespaces/{namespace}/runs"
    of_run = [f"{runs}/{workflow}", task.address(digest), f"/v1/namespaces/{namespace}/logs/{task.uid}.a1.s0"]
    former = account(server, namespace, "reader", "view")
    assert [archive.request("GET", path, former).status for path in of_run] == [200, 200, 200]

    recreate(server, namespace)

    team = account(server, namespace, "reader", "view")
    assert archive.request("GET", runs, team).expect(200).json["items"] == []
    assert archive.request("GET", f"{runs}/{workflow}/logs", team).expect(200).json["items"] == []
    assert [archive.request("GET", path, team).status for path in of_run] == [404, 404, 404]
    archive.request("HEAD", f"{runs}/{workflow}", operator).expect(404)
    again = put(archive, operator, namespace, workflow, ndjson(lines)).expect(403)
    assert "belongs to an earlier namespace" in again.json["message"]

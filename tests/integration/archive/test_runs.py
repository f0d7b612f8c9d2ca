"""Finished runs: archived by the operator, listed and read by users that may read Workflows."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from torpor_wire import constants

from tests.integration.archive.conftest import ArchiveTask, account
from tests.integration.archive.databases import UNFINISHED
from tests.integration.archive.process import ArchiveProcess, ReplicaResponse
from tests.integration.conftest import Server, collection


@pytest.fixture(scope="session")
def operator(server: Server) -> str:
    """The token of the operator."""
    return server.token("torpor-system", "torpor-operator", audience=constants.ARCHIVE_AUDIENCE)


@pytest.fixture(scope="session")
def viewer(server: Server, home: str) -> str:
    """The token of an account that may view the namespace."""
    return account(server, home, "reader", "view")


CREATED = "2099-01-01T00:00:00Z"
"""Later than the creation of its namespace."""


def run(namespace: str, uid: str, *, taskruns: int = 2, name: str = "nightly") -> list[dict[str, Any]]:
    metadata = {"name": name, "namespace": namespace, "uid": uid, "creationTimestamp": CREATED}
    status = {"state": "Succeeded", "completionTime": "2026-01-01T01:00:00Z"}
    workflow = {"kind": "Workflow", "metadata": metadata, "spec": {"tasks": []}, "status": status}
    spec = {"workflow": {"name": name, "uid": uid}, "task": "load"}
    return [workflow, *({"kind": "TaskRun", "metadata": {"name": f"t{n}"}, "spec": spec} for n in range(taskruns))]


def ndjson(lines: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def put(archive: ArchiveProcess, operator: str, namespace: str, uid: str, body: bytes) -> ReplicaResponse:
    return archive.request("PUT", f"/v1/namespaces/{namespace}/runs/{uid}", operator, body)


def test_a_run_is_stored_unchanged(archive: ArchiveProcess, home: str, operator: str, viewer: str) -> None:
    uid, unfinished = uuid.uuid4().hex, archive.database.value(UNFINISHED)
    body = ndjson(run(home, uid))
    assert put(archive, operator, home, uid, body).expect(200).json["new"] is True
    assert put(archive, operator, home, uid, body).expect(200).json["new"] is False
    answer = archive.request("GET", f"/v1/namespaces/{home}/runs/{uid}", viewer).expect(200)
    assert answer.body == body
    first = archive.request("GET", f"/v1/namespaces/{home}/runs/{uid}?item=0", viewer).expect(200)
    assert json.loads(first.body)["metadata"]["uid"] == uid
    assert archive.database.value(UNFINISHED) == unfinished


def test_objects_from_the_api_server_are_a_valid_run(
    archive: ArchiveProcess, home: str, operator: str, server: Server, task_in: Callable[..., ArchiveTask]
) -> None:
    tasks = [{"name": "wait", "trigger": {"class": "time"}}]
    metadata = {"generateName": "kept-"}
    body = {"apiVersion": constants.API_VERSION, "kind": "Workflow", "metadata": metadata, "spec": {"tasks": tasks}}
    workflow = server.create("workflows", home, body).expect(201)
    uid = workflow["metadata"]["uid"]
    for _ in range(2):
        task_in(home, uid)
    items = server.request("GET", collection("taskruns", home)).expect(200)["items"]
    runs = [each for each in items if each["spec"]["workflow"]["uid"] == uid]
    stored = put(archive, operator, home, uid, ndjson([workflow, *runs])).expect(200).json
    assert stored["new"] is True
    assert len(runs) == 2


def test_runs_are_listed_in_pages_newest_first(
    archive: ArchiveProcess, operator: str, server: Server, open_namespace: Callable[[], str]
) -> None:
    namespace = open_namespace()
    viewer = account(server, namespace, "reader", "view")
    uids = sorted(uuid.uuid4().hex for _ in range(5))
    for uid in uids:
        put(archive, operator, namespace, uid, ndjson(run(namespace, uid, taskruns=3))).expect(200)
    items: list[dict[str, Any]] = []
    more: str | None = ""
    while more is not None:
        path = f"/v1/namespaces/{namespace}/runs?limit=2" + (f"&continue={more}" if more else "")
        page = archive.request("GET", path, viewer).expect(200).json
        assert len(page["items"]) <= 2
        items += page["items"]
        more = page.get("continue")
    assert [item["uid"] for item in items] == uids[::-1]
    assert items[0] | {"size": 0, "archived": ""} == {
        "namespace": namespace,
        "uid": uids[-1],
        "name": "nightly",
        "state": "Succeeded",
        "created": CREATED,
        "completed": "2026-01-01T01:00:00Z",
        "size": 0,
        "labels": {},
        "taskRuns": 3,
        "archived": "",
    }
    for query in ("limit=many", "continue=nonsense", "phase=Failed"):
        archive.request("GET", f"/v1/namespaces/{namespace}/runs?{query}", viewer).expect(400)


def test_reading_runs_requires_permission_to_read_workflows(
    archive: ArchiveProcess, home: str, viewer: str, operator: str, open_namespace: Callable[[], str]
) -> None:
    other = open_namespace()
    uid = uuid.uuid4().hex
    put(archive, operator, other, uid, ndjson(run(other, uid))).expect(200)
    for path in ("runs", f"runs/{uid}"):
        answer = archive.request("GET", f"/v1/namespaces/{other}/{path}", viewer).expect(403)
        assert other in answer.json["message"]
    archive.request("GET", f"/v1/namespaces/{home}/runs/{uid}", viewer).expect(404)


BAD: dict[str, tuple[Callable[[str, str], list[Any]], str]] = {
    "nothing": (lambda _namespace, _uid: [], "the body is empty"),
    "no Workflow": (lambda namespace, uid: run(namespace, uid)[1:], "line 0 is not a Workflow"),
    "another's": (lambda namespace, _uid: run(namespace, "other"), "line 0 is not the Workflow with uid"),
    "of another namespace": (lambda _namespace, uid: run("other", uid), "line 0 is not the Workflow with uid"),
    "another's TaskRun": (lambda n, uid: run(n, uid) + run(n, "other")[1:], "line 3 is a TaskRun of another Workflow"),
    "no object": (lambda namespace, uid: [*run(namespace, uid), 1], "line 3 is neither a TaskRun nor an Event"),
}


@pytest.mark.parametrize("case", BAD)
def test_an_invalid_run_is_refused_with_the_reason(
    archive: ArchiveProcess, home: str, operator: str, case: str
) -> None:
    lines, message = BAD[case]
    uid = uuid.uuid4().hex
    answer = put(archive, operator, home, uid, ndjson(lines(home, uid))).expect(400)
    assert message in answer.json["message"]

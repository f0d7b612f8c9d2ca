"""Runs are listed by state, name, labels and time, in one namespace or in all; a new version replaces a run."""

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from torpor_wire import constants

from tests.integration.archive.conftest import ArchiveTask, MakeArchive, MakeDatabase, account
from tests.integration.archive.process import ArchiveProcess
from tests.integration.archive.test_runs import ndjson, put, run
from tests.integration.conftest import Server

_RBAC = "rbac.authorization.k8s.io"


@pytest.fixture(scope="module")
def operator(server: Server) -> str:
    """The token of the operator."""
    return server.token("torpor-system", "torpor-operator", audience=constants.ARCHIVE_AUDIENCE)


@pytest.fixture
def namespace(open_namespace: Callable[[], str]) -> str:
    """A namespace for one test."""
    return open_namespace()


@pytest.fixture
def viewer(server: Server, namespace: str) -> str:
    """The token of an account that may view the namespace."""
    return account(server, namespace, "reader", "view")


def version(namespace: str, uid: str, *, clears: int = 0, hour: int = 1, **metadata: Any) -> list[dict[str, Any]]:
    """A version of a run that ended at an hour."""
    lines = run(namespace, uid, taskruns=1)
    lines[0]["metadata"] |= metadata
    lines[0]["status"] |= {"completionTime": f"2026-01-01T{hour:02d}:00:00Z", "clears": clears}
    return lines


def ended(lines: list[dict[str, Any]], reason: str, **spec: Any) -> list[dict[str, Any]]:
    """The same run, failed for a reason."""
    lines[0]["spec"] |= spec
    lines[0]["status"] |= {
        "state": "Failed",
        "conditions": [{"type": "Succeeded", "status": "False", "reason": reason}],
    }
    return lines


def names(archive: ArchiveProcess, token: str, path: str) -> list[str]:
    return [item["name"] for item in archive.request("GET", path, token).expect(200).json["items"]]


def test_runs_are_found_by_state_name_labels_and_time(
    archive: ArchiveProcess, operator: str, namespace: str, viewer: str
) -> None:
    stored = [
        version(namespace, "a", name="load-1", hour=1, labels={"team": "data", "tier": "gold"}),
        ended(version(namespace, "b", name="load-2", hour=2, labels={"team": "web"}), "TaskFailed"),
        ended(version(namespace, "c", name="report", hour=3, labels={"team": "data"}), "Cancelled", cancel=True),
        ended(version(namespace, "d", name="stopped", hour=4), "Cancelled", stop=True),
        ended(version(namespace, "e", name="broken", hour=5), "Cancelled"),
    ]
    for lines in stored:
        uid = lines[0]["metadata"]["uid"]
        put(archive, operator, namespace, uid, ndjson(lines)).expect(200)
    expected = {
        "": ["broken", "stopped", "report", "load-2", "load-1"],
        "state=Failed": ["broken", "load-2"],
        "state=Cancelled": ["stopped", "report"],
        "state=Succeeded&state=Cancelled": ["stopped", "report", "load-1"],
        "name=load-1": ["load-1"],
        "name=load*": ["load-2", "load-1"],
        "name=load": [],
        "labels=team%3Ddata": ["report", "load-1"],
        "labels=team%3Ddata,tier%3Dgold": ["load-1"],
        "labels=team": ["report", "load-2", "load-1"],
        "labels=!team": ["broken", "stopped"],
        "labels=team!%3Ddata": ["broken", "stopped", "load-2"],
        "since=2026-01-01T03:00:00Z": ["broken", "stopped", "report"],
        "until=2026-01-01T03:00:00Z": ["load-2", "load-1"],
        "since=2026-01-01T02:00:00Z&until=2026-01-01T03:00:00Z&state=Failed": ["load-2"],
        "since=1h": [],
        "until=1h&limit=1": ["broken"],
    }
    listed = {query: names(archive, viewer, f"/v1/namespaces/{namespace}/runs?{query}") for query in expected}
    assert listed == expected


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("phase=Failed", "unknown query parameter 'phase'; use name, state, labels"),
        ("state=Errored", "state is 'Errored'; use Succeeded, Failed or Cancelled"),
        ("name=a&name=b", "name is given 2 times"),
        ("name=Load", "name is 'Load'"),
        ("labels=a%3D%3D%3Db", "labels has 'a===b'"),
        ("labels=team,", "labels has ''"),
        ("since=yesterday", "since is 'yesterday'; write a time"),
        ("until=2026-01-01T00:00:00", "until is '2026-01-01T00:00:00'"),
    ],
)
def test_an_invalid_filter_is_refused_with_the_reason(
    archive: ArchiveProcess, server: Server, home: str, query: str, message: str
) -> None:
    reader = account(server, home, "reader", "view")
    answer = archive.request("GET", f"/v1/namespaces/{home}/runs?{query}", reader).expect(400)
    assert message in answer.json["message"]


def test_a_run_that_ends_again_replaces_its_former_version(
    make_database: MakeDatabase, make_archive: MakeArchive, operator: str, namespace: str, viewer: str
) -> None:
    archive = make_archive(make_database(), "--sweep-interval", "1", "--keep", "0").ready()
    uid, path = uuid.uuid4().hex, f"/v1/namespaces/{namespace}/runs"
    first = ndjson(version(namespace, uid, labels={"try": "one"}))
    second = ndjson(ended(version(namespace, uid, clears=1, hour=2, labels={"try": "two"}), "TaskFailed"))
    for body, new in ((first, True), (first, False), (second, True), (first, False)):
        assert put(archive, operator, namespace, uid, body).expect(200).json["new"] is new
    assert archive.request("GET", f"{path}/{uid}", viewer).expect(200).body == second
    (item,) = archive.request("GET", path, viewer).expect(200).json["items"]
    assert (item["state"], item["labels"], item["completed"]) == ("Failed", {"try": "two"}, "2026-01-01T02:00:00Z")
    archive.eventually(lambda: archive.database.value("SELECT count(*) FROM bodies") == 1, "the former body is deleted")
    archive.stop()


def test_the_operator_learns_which_version_is_stored(archive: ArchiveProcess, operator: str, namespace: str) -> None:
    uid = uuid.uuid4().hex
    path = f"/v1/namespaces/{namespace}/runs/{uid}"
    archive.request("HEAD", path, operator).expect(404)
    put(archive, operator, namespace, uid, ndjson(version(namespace, uid, hour=7))).expect(200)
    answer = archive.request("HEAD", path, operator).expect(200)
    assert answer.headers["Torpor-Completed"] == "2026-01-01T07:00:00Z"


def test_only_the_operator_learns_it_by_head(archive: ArchiveProcess, namespace: str, viewer: str) -> None:
    archive.request("HEAD", f"/v1/namespaces/{namespace}/runs/x", viewer).expect(403)


def test_a_run_contains_events_after_its_taskruns(
    archive: ArchiveProcess, operator: str, namespace: str, viewer: str
) -> None:
    uid = uuid.uuid4().hex
    event = {"kind": "Event", "regarding": {"namespace": namespace, "uid": uid}, "reason": "Succeeded"}
    lines = [*version(namespace, uid), event]
    put(archive, operator, namespace, uid, ndjson(lines)).expect(200)
    (item,) = archive.request("GET", f"/v1/namespaces/{namespace}/runs", viewer).expect(200).json["items"]
    assert item["taskRuns"] == 1
    misplaced = put(archive, operator, namespace, uid, ndjson([lines[0], event, lines[1]])).expect(400)
    assert "line 2 is a TaskRun after an Event" in misplaced.json["message"]
    foreign = event | {"regarding": {"namespace": "other"}}
    refused = put(archive, operator, namespace, uid, ndjson([lines[0], foreign])).expect(400)
    assert "is an Event of namespace 'other'" in refused.json["message"]


def test_runs_of_all_namespaces_need_the_right_to_list_all_workflows(
    archive: ArchiveProcess, operator: str, server: Server, open_namespace: Callable[[], str]
) -> None:
    homes = [open_namespace(), open_namespace()]
    mark = f"all-{uuid.uuid4().hex[:8]}"
    for hour, home in enumerate(homes, start=1):
        uid = uuid.uuid4().hex
        put(archive, operator, home, uid, ndjson(version(home, uid, hour=hour, name=mark))).expect(200)
    local = account(server, homes[0], "reader", "view")
    answer = archive.request("GET", f"/v1/runs?name={mark}", local).expect(403)
    assert answer.json["message"].endswith("may not list Workflows in all namespaces")
    everywhere = server.token("torpor-system", "torpor-reader", audience=constants.ARCHIVE_AUDIENCE)
    first = archive.request("GET", f"/v1/runs?name={mark}&limit=1", everywhere).expect(200).json
    rest = archive.request("GET", f"/v1/runs?name={mark}&continue={first['continue']}", everywhere).expect(200).json
    assert [item["namespace"] for page in (first, rest) for item in page["items"]] == homes[::-1]


def test_the_token_may_travel_in_a_header_that_the_proxy_keeps(
    archive: ArchiveProcess, namespace: str, viewer: str
) -> None:
    path = f"/v1/namespaces/{namespace}/runs"
    assert archive.request("GET", path, Torpor_Authorization=f"Bearer {viewer}").expect(200).json == {"items": []}
    archive.request("GET", path, "of-a-proxy", Torpor_Authorization=f"Bearer {viewer}").expect(200)
    assert "Torpor-Authorization" in archive.request("GET", path).expect(401).json["message"]


def test_a_user_that_may_get_taskruns_reads_results(
    archive: ArchiveProcess, task: ArchiveTask, server: Server, open_namespace: Callable[[], str]
) -> None:
    path = task.address(task.put(archive, "list", b"1\n2\n").expect(201).json["digest"])
    reader = account(server, task.namespace, "reader", "view")
    assert archive.request("GET", path, reader).expect(200).body == b"1\n2\n"
    assert archive.request("GET", f"{path}?item=1", reader).expect(200).body == b"2\n"
    unknown = archive.request("GET", f"{path}?items=1", reader).expect(400)
    assert "unknown query parameter 'items'; use item, count" in unknown.json["message"]
    other = account(server, open_namespace(), "stranger", "view")
    answer = archive.request("GET", path, other).expect(403)
    assert "may not get TaskRuns" in answer.json["message"]


def test_a_task_pod_may_not_read_the_results_of_other_workflows(
    archive: ArchiveProcess, task: ArchiveTask, task_in: Callable[..., ArchiveTask]
) -> None:
    """The role of task pods allows `get` on taskruns, so `get` alone must not suffice for a pod."""
    path = task.address(task.put(archive, "list", b"1\n").expect(201).json["digest"])
    other = task_in(task.namespace, uuid.uuid4().hex)
    answer = archive.request("GET", path, other.token).expect(403)
    assert "may not list TaskRuns" in answer.json["message"]


def test_the_operator_finds_the_run_of_a_tick_by_its_name(
    archive: ArchiveProcess, operator: str, namespace: str
) -> None:
    labels = {constants.LABEL_BACKFILL: "october"}
    run_of_tick = version(namespace, str(uuid.uuid4()), name="ingest-0a1b2c3d4e", labels=labels)
    put(archive, operator, namespace, run_of_tick[0]["metadata"]["uid"], ndjson(run_of_tick)).expect(200)

    path = f"/v1/namespaces/{namespace}/runs?name=ingest-0a1b2c3d4e&limit=1"
    (run,) = archive.request("GET", path, operator).expect(200).json["items"]
    assert (run["name"], run["state"], run["labels"]) == ("ingest-0a1b2c3d4e", "Succeeded", labels)
    assert run["created"]

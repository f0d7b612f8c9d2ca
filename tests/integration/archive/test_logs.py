"""Logs: read through a real API server from the node of each pod, and served to users that may read logs."""

import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from torpor_wire import constants

from tests.integration.archive.conftest import ArchiveTask, MakeArchive, MakeDatabase, account
from tests.integration.archive.log_node import FINISHED, LINE, STARTED, LogNode, kubelet, node, node_name, viewer
from tests.integration.archive.process import ArchiveProcess, ReplicaResponse
from tests.integration.conftest import Server, eventually
from tests.support.kubelet.log_server import PodLog

__all__ = ["kubelet", "node", "node_name", "viewer"]


@pytest.fixture(scope="session")
def operator(server: Server) -> str:
    """The token of the operator."""
    return server.token("torpor-system", "torpor-operator", audience=constants.ARCHIVE_AUDIENCE)


@pytest.fixture
def until_read(archive: ArchiveProcess, node: LogNode, viewer: str) -> Callable[[str], None]:
    """Wait until this archive reads the log of a pod. Archives of other tests read it, too."""

    def wait(pod: str) -> None:
        path = f"/v1/namespaces/{node.namespace}/runs/{node.workflow}/logs"
        eventually(lambda: bool(archive.request("GET", path, viewer).expect(200).json["items"]), "the log is claimed")
        node.kubelet.wait_for_request(pod)

    return wait


@pytest.fixture
def entries(archive: ArchiveProcess, node: LogNode, viewer: str) -> Callable[..., list[dict[str, Any]]]:
    """Wait for a number of settled entries of the run, and return them."""

    def wait(count: int = 1, query: str = "") -> list[dict[str, Any]]:
        path = f"/v1/namespaces/{node.namespace}/runs/{node.workflow}/logs{query}"
        listed: list[dict[str, Any]] = []

        def are_settled() -> bool:
            listed[:] = archive.request("GET", path, viewer).expect(200).json["items"]
            return len(listed) >= count and all(each["state"] != "Pending" for each in listed)

        eventually(are_settled, f"{count} logs are settled")
        return listed

    return wait


Entries = Callable[..., list[dict[str, Any]]]
UntilRead = Callable[[str], None]


def read(archive: ArchiveProcess, node: LogNode, log: str, token: str) -> ReplicaResponse:
    return archive.request("GET", f"/v1/namespaces/{node.namespace}/logs/{log}", token)


def test_the_log_of_an_ended_pod_is_kept(archive: ArchiveProcess, node: LogNode, viewer: str, entries: Entries) -> None:
    pod = node.pod(LINE * 3)
    node.end(pod)
    (entry,) = entries()
    assert entry | {"id": "", "taskrun": ""} == {
        "id": "",
        "taskrun": "",
        "task": "load",
        "mapIndex": 0,
        "groupIndexes": [2],
        "attempt": 1,
        "segment": 0,
        "launch": 0,
        "kind": "pod",
        "pod": pod,
        "container": "main",
        "node": node.name,
        "started": STARTED,
        "ended": FINISHED,
        "state": "Kept",
        "reason": "Completed",
        "message": "",
        "failed": False,
        "size": 3 * len(LINE),
        "omitted": 0,
    }
    answer = read(archive, node, entry["id"], viewer).expect(200)
    assert answer.body == LINE * 3
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    request = node.kubelet.logs[pod].requests[0]  # archives of other tests read the log, too
    assert request["timestamps"] == "true"


def test_a_pod_that_is_deleted_while_it_runs_is_followed(
    archive: ArchiveProcess, node: LogNode, viewer: str, entries: Entries, until_read: UntilRead
) -> None:
    pod = node.pod(LINE)
    node.delete(pod)
    until_read(pod)
    node.kubelet.logs[pod].text += b"2026-01-01T00:00:03Z goodbye\n"
    node.end(pod, 143, "Error")
    node.kubelet.logs[pod].ended.set()
    node.remove(pod)
    (entry,) = entries()
    assert (entry["state"], entry["reason"], entry["failed"]) == ("Kept", "Error", True)
    assert read(archive, node, entry["id"], viewer).expect(200).body == LINE + b"2026-01-01T00:00:03Z goodbye\n"


def test_a_container_that_starts_while_its_pod_is_deleted_has_a_log(
    archive: ArchiveProcess, node: LogNode, viewer: str, entries: Entries, until_read: UntilRead
) -> None:
    pod = node.pod(None)
    node.delete(pod)
    until_read(pod)
    node.kubelet.logs[pod] = PodLog(text=LINE)
    node.report(pod, "Running", {"running": {"startedAt": STARTED}})
    node.kubelet.wait_for_request(pod)
    node.end(pod, 143, "Error")
    node.kubelet.logs[pod].ended.set()
    node.remove(pod)
    (entry,) = entries()
    assert (entry["state"], entry["reason"], entry["message"]) == ("Kept", "Error", "exit code 143")
    assert read(archive, node, entry["id"], viewer).expect(200).body == LINE


def test_a_long_log_has_its_beginning_and_its_end(
    archive: ArchiveProcess, node: LogNode, viewer: str, entries: Entries
) -> None:
    log = b"".join(b"2026-01-01T00:00:02Z line %07d\n" % number for number in range(80_000))
    node.end(node.pod(log), 137, "OOMKilled")
    (entry,) = entries()
    assert (entry["reason"], entry["message"], entry["size"]) == ("OOMKilled", "exit code 137", len(log))
    text = read(archive, node, entry["id"], viewer).expect(200).body
    head, gap, tail = text.partition(b"... %d bytes omitted ...\n" % entry["omitted"])
    assert gap
    assert log.startswith(head)
    assert log.endswith(tail)
    assert len(head) + len(tail) + entry["omitted"] == len(log)


def test_a_pod_that_never_started_says_why(node: LogNode, entries: Entries, until_read: UntilRead) -> None:
    pod = node.pod(None)
    node.delete(pod)
    until_read(pod)
    node.remove(pod)
    (entry,) = entries()
    assert (entry["state"], entry["size"], entry["failed"]) == ("Kept", 0, True)
    assert (entry["reason"], entry["message"]) == ("ImagePullBackOff", "cannot pull x")


def test_a_node_that_does_not_answer_loses_the_log(
    archive: ArchiveProcess, node: LogNode, viewer: str, entries: Entries, server: Server
) -> None:
    name = f"lost-{uuid.uuid4().hex[:8]}"
    server.request("POST", "/api/v1/nodes", {"kind": "Node", "metadata": {"name": name}}).expect(201)
    node.end(node.pod(LINE, node=name), 1, "Error")
    (entry,) = entries()
    assert (entry["state"], entry["reason"]) == ("Lost", "NodeLost")
    assert name in entry["message"]
    answer = read(archive, node, entry["id"], viewer).expect(404)
    assert "was lost" in answer.json["message"]


@pytest.mark.parametrize(("mode", "kept"), [("failed", ["failed"]), ("none", []), ("all", ["ended", "failed"])])
def test_only_the_wanted_logs_are_kept(node: LogNode, entries: Entries, mode: str, kept: list[str]) -> None:
    pods = {word: node.pod(word.encode() + b"\n", **{constants.LOGS: mode}) for word in ("ended", "failed")}
    node.end(pods["ended"])
    node.end(pods["failed"], 1, "Error")
    last = node.pod(LINE)
    node.end(last)
    listed = entries(len(kept) + 1)
    assert {entry["pod"] for entry in listed} == {last, *(pods[word] for word in kept)}


def test_the_operator_reads_which_logs_are_settled(
    archive: ArchiveProcess, node: LogNode, entries: Entries, operator: str, viewer: str
) -> None:
    node.end(node.pod())
    (entry,) = entries()
    path, body = f"/v1/namespaces/{node.namespace}/logs/status", b'{"pods": ["%s", "other"]}' % entry["id"].encode()
    assert archive.request("POST", path, operator, body).expect(200).json == {"settled": [entry["id"]]}
    archive.request("POST", path, viewer, body).expect(403)
    archive.request("POST", path, operator, b'{"pods": 3}').expect(400)


def test_logs_are_for_those_who_may_read_taskruns_and_pod_logs(
    archive: ArchiveProcess, node: LogNode, entries: Entries, server: Server, open_namespace: Callable[[], str]
) -> None:
    node.end(node.pod())
    (entry,) = entries()
    elsewhere = account(server, open_namespace(), "log-stranger", "view")
    watcher = account(server, node.namespace, "half-reader", "torpor-view")
    for token in (elsewhere, watcher):
        read(archive, node, entry["id"], token).expect(403)
        path = f"/v1/namespaces/{node.namespace}/runs/{node.workflow}/logs"
        archive.request("GET", path, token).expect(403)
    archive.request("GET", path).expect(401)


def test_an_unknown_filter_is_refused(archive: ArchiveProcess, node: LogNode, viewer: str) -> None:
    path = f"/v1/namespaces/{node.namespace}/runs/{node.workflow}/logs"
    assert "'state'" in archive.request("GET", path + "?state=Failed", viewer).expect(400).json["message"]
    archive.request("GET", path + "?failed=perhaps", viewer).expect(400)
    archive.request("GET", path + "?attempt=one", viewer).expect(400)


def test_lists_come_in_pages(archive: ArchiveProcess, node: LogNode, viewer: str, entries: Entries) -> None:
    for code in (0, 1, 0):
        node.end(node.pod(), code)
    everything = [entry["id"] for entry in entries(3)]
    assert [entry["failed"] for entry in entries(1, "?failed=true")] == [True]
    path, seen, token = f"/v1/namespaces/{node.namespace}/runs/{node.workflow}/logs?limit=2", list[str](), ""
    while True:
        page = archive.request("GET", path + token, viewer).expect(200).json
        seen += [entry["id"] for entry in page["items"]]
        if "continue" not in page:
            break
        token = f"&continue={page['continue']}"
    assert seen == everything


def test_two_replicas_read_each_log_once(
    make_database: MakeDatabase, make_archive: MakeArchive, node: LogNode, viewer: str
) -> None:
    database = make_database()
    replicas = [make_archive(database).ready(), make_archive(database).ready()]
    pods = [node.pod() for _ in range(12)]
    for pod in pods:
        node.end(pod)
    path = f"/v1/namespaces/{node.namespace}/runs/{node.workflow}/logs"
    entries: list[dict[str, Any]] = []

    def are_kept() -> bool:
        items = replicas[0].request("GET", path, viewer).expect(200).json["items"]
        entries[:] = items
        return [each["state"] for each in items] == ["Kept"] * len(pods)

    eventually(are_kept, "all logs are kept")
    for replica in replicas:
        replica.stop()
    # Archives of other tests read each log, too, so the claims are compared and not the requests.
    assert {each["pod"] for each in entries} == set(pods)


def test_a_restarted_archive_keeps_what_ended_meanwhile(
    make_database: MakeDatabase, make_archive: MakeArchive, node: LogNode, viewer: str
) -> None:
    replica = make_archive(make_database()).ready()
    replica.kill()
    node.end(node.pod(LINE * 2))
    replica.start()
    replica.ready()
    path = f"/v1/namespaces/{node.namespace}/runs/{node.workflow}/logs"

    def is_kept() -> bool:
        items = replica.request("GET", path, viewer).expect(200).json["items"]
        return [each["size"] for each in items] == [2 * len(LINE)]

    eventually(is_kept, "the log is kept")
    replica.stop()


def test_the_lines_of_a_wait_are_kept(
    archive: ArchiveProcess, home: str, server: Server, task_in: Callable[..., ArchiveTask], viewer: str
) -> None:
    workflow = str(uuid.uuid4())
    task = task_in(home, workflow)
    triggerer = server.token("torpor-system", "torpor-triggerer", audience=constants.ARCHIVE_AUDIENCE)
    lines = [{"at": f"2026-01-01T00:00:0{number}Z", "text": f"poll {number}\x1b[2J"} for number in range(2)]
    wait = {"taskrun": task.name, "uid": task.uid, "attempt": 1, "segment": 0, "ended": FINISHED, "lines": lines}
    gone = wait | {"taskrun": "gone"}
    path = f"/v1/namespaces/{home}/logs/waits"
    body = {"waits": [wait | {"reason": "Fired", "omitted": 7}, gone, wait | {"uid": "another"}]}
    sent = archive.request("POST", path, triggerer, json.dumps(body).encode()).expect(200)
    assert sent.json == {"stored": 1}
    archive.request("POST", path, viewer, json.dumps(body).encode()).expect(403)
    archive.request("POST", path, triggerer, b'{"waits": 3}').expect(400)
    listed = archive.request("GET", f"/v1/namespaces/{home}/runs/{workflow}/logs", viewer).expect(200).json["items"]
    (entry,) = listed
    assert (entry["kind"], entry["task"], entry["reason"], entry["omitted"]) == ("wait", "task", "Fired", 7)
    answer = archive.request("GET", f"/v1/namespaces/{home}/logs/{entry['id']}", viewer).expect(200)
    assert (
        answer.body == rb"2026-01-01T00:00:00Z poll 0\x1b[2J" + b"\n" + rb"2026-01-01T00:00:01Z poll 1\x1b[2J" + b"\n"
    )

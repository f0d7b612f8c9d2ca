"""Events: which triggerer may upload one, when, and which pods may download it."""

import json
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest
from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client.archive import ArchiveClient
from torpor_wire import constants, names

from tests.integration.archive.conftest import OCTETS, ArchiveTask, account
from tests.integration.archive.process import ArchiveProcess, ReplicaResponse
from tests.integration.conftest import Server
from tests.integration.policies.transitions.conftest import set_fields

_RBAC = "rbac.authorization.k8s.io/v1"
EVENT = b'{"rows": 5}'
TRIGGER = {"class": "webhook", "kwargs": "{}", "key": "k", "shard": 1}


@pytest.fixture(scope="module")
def fires(server: Server) -> Callable[[str, str], str]:
    """Return the token of a triggerer of a pool in a namespace."""

    def make(namespace: str, pool: str) -> str:
        role = f"torpor-test-fires-{pool}"
        rule = {"apiGroups": ["torpor.dev"], "resources": ["triggerpools"], "resourceNames": [pool], "verbs": ["fire"]}
        server.apply({"apiVersion": _RBAC, "kind": "ClusterRole", "metadata": {"name": role}, "rules": [rule]})
        return account(server, namespace, f"triggerer-{pool}", role)

    return make


def put(archive: ArchiveProcess, task: ArchiveTask, token: str, body: bytes = EVENT) -> ReplicaResponse:
    return archive.request("PUT", _path(task), token, body, Content_Type=OCTETS, Torpor_Type="bytes")


def _path(task: ArchiveTask) -> str:
    return task.result.removesuffix("result") + "event"


@pytest.fixture
def waiting(task: ArchiveTask, server: Server) -> ArchiveTask:
    """A deferred task."""
    server.patch_status(task.namespace, task.name, set_fields(state="Deferred", trigger=TRIGGER)).expect(200)
    return task


def resume(server: Server, task: ArchiveTask) -> None:
    """Run the task again, as after its trigger fires."""
    for state in ("Scheduled", "Running"):
        server.patch_status(task.namespace, task.name, set_fields(state=state)).expect(200)


def test_a_triggerer_uploads_an_event_and_the_tasks_pod_downloads_it(
    archive: ArchiveProcess, waiting: ArchiveTask, fires: Callable[[str, str], str], server: Server
) -> None:
    stored = put(archive, waiting, fires(waiting.namespace, constants.DEFAULT_POOL)).expect(201).json
    assert stored["size"] == len(EVENT)
    resume(server, waiting)
    path = waiting.address(stored["digest"]).replace(waiting.uid, names.event_owner(waiting.uid))
    assert waiting.get(archive, path).expect(200).body == EVENT


def test_a_triggerer_of_another_pool_may_not_upload_an_event(
    archive: ArchiveProcess, waiting: ArchiveTask, fires: Callable[[str, str], str], open_namespace: Callable[[], str]
) -> None:
    other_namespace = fires(open_namespace(), constants.DEFAULT_POOL)
    for token in (fires(waiting.namespace, "gpu"), other_namespace, waiting.token):
        assert "may not `fire` pool" in put(archive, waiting, token).expect(403).json["message"]


def test_a_running_taskrun_accepts_no_event(
    archive: ArchiveProcess, task: ArchiveTask, fires: Callable[[str, str], str]
) -> None:
    answer = put(archive, task, fires(task.namespace, constants.DEFAULT_POOL)).expect(403)
    assert "is Running; uploading an event requires Deferred" in answer.json["message"]


def test_an_event_over_one_megabyte_is_refused(
    archive: ArchiveProcess, waiting: ArchiveTask, fires: Callable[[str, str], str]
) -> None:
    large = b"x" * (constants.EVENT_STORED_MAX + 1)
    put(archive, waiting, fires(waiting.namespace, constants.DEFAULT_POOL), large).expect(413)


def test_event_and_result_do_not_replace_each_other(
    archive: ArchiveProcess, waiting: ArchiveTask, fires: Callable[[str, str], str], server: Server
) -> None:
    event = put(archive, waiting, fires(waiting.namespace, constants.DEFAULT_POOL)).expect(201).json["digest"]
    resume(server, waiting)
    result = waiting.put(archive, "list", b"1\n").expect(201).json["digest"]
    path = waiting.address(event).replace(waiting.uid, names.event_owner(waiting.uid))
    assert waiting.get(archive, path).expect(200).body == EVENT
    assert waiting.get(archive, waiting.address(result)).expect(200).body == b"1\n"


def test_the_event_of_a_trigger_task_is_its_result(
    archive: ArchiveProcess, waiting: ArchiveTask, fires: Callable[[str, str], str], task_in: Callable[..., ArchiveTask]
) -> None:
    token = fires(waiting.namespace, constants.DEFAULT_POOL)
    path, kind = _path(waiting) + "?as=result", {"Content_Type": "application/x-ndjson", "Torpor_Type": "list"}
    stored = archive.request("PUT", path, token, b"1\n[2]\n", **kind).expect(201).json
    assert (stored["type"], stored["length"]) == ("list", 2)
    reader = task_in(waiting.namespace, waiting.workflow)
    item = reader.get(archive, waiting.address(stored["digest"]) + "?item=1").expect(200)
    assert json.loads(item.body) == [2]


def test_another_workflow_may_not_download_an_event(
    archive: ArchiveProcess, waiting: ArchiveTask, fires: Callable[[str, str], str], task_in: Callable[..., ArchiveTask]
) -> None:
    stored = put(archive, waiting, fires(waiting.namespace, constants.DEFAULT_POOL)).expect(201).json
    path = waiting.address(stored["digest"]).replace(waiting.uid, names.event_owner(waiting.uid))
    other = task_in(waiting.namespace, uuid.uuid4().hex)
    other.get(archive, path).expect(403)


async def test_the_triggerers_client_uploads_an_event_and_reports_a_refusal(
    archive: ArchiveProcess, waiting: ArchiveTask, fires: Callable[[str, str], str], tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(fires(waiting.namespace, constants.DEFAULT_POOL) + "\n")
    client, endpoint = ArchiveClient(str(token)), ArchiveEndpoint(archive.url, archive.authority())
    headers = {"Content-Type": OCTETS, "Torpor-Type": "bytes"}
    status, body = await client.put(endpoint, _path(waiting), headers, EVENT)
    assert (status, json.loads(body)["size"]) == (201, len(EVENT))
    token.write_text("no token")
    assert (await client.put(endpoint, _path(waiting), headers, EVENT))[0] == 401
    with pytest.raises(OSError, match="cannot be reached"):
        await client.put(ArchiveEndpoint("https://127.0.0.1:1", archive.authority()), _path(waiting), headers, EVENT)

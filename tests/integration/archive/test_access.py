"""Access to results, with tokens from a real API server."""

import uuid
from collections.abc import Callable

import pytest
from torpor_wire import constants

from tests.integration.archive.conftest import ArchiveTask, account
from tests.integration.archive.process import ArchiveProcess, ReplicaResponse
from tests.integration.conftest import Server, eventually
from tests.integration.policies.transitions.conftest import set_fields

_LINES = {"Content_Type": "application/x-ndjson", "Torpor_Type": "list"}


def put_as(archive: ArchiveProcess, task: ArchiveTask, token: str | None) -> ReplicaResponse:
    return archive.request("PUT", task.result, token, b"1\n", **_LINES)


def get_as(archive: ArchiveProcess, path: str, token: str | None, name: str) -> ReplicaResponse:
    return archive.request("GET", path, token, Torpor_TaskRun=name)


def is_accepted(server: Server, token: str) -> bool:
    """Whether the API server accepts a token with the archive's audience."""
    body = {
        "apiVersion": "authentication.k8s.io/v1",
        "kind": "TokenReview",
        "spec": {"token": token, "audiences": [constants.ARCHIVE_AUDIENCE]},
    }
    review = server.request("POST", "/apis/authentication.k8s.io/v1/tokenreviews", body).expect(201)
    return bool(review["status"].get("authenticated"))


@pytest.fixture
def stored(archive: ArchiveProcess, task: ArchiveTask) -> str:
    """The path of a stored result."""
    return task.address(task.put(archive, "list", b"1\n").expect(201).json["digest"])


def test_another_pod_may_not_act_for_the_taskrun(
    archive: ArchiveProcess, task: ArchiveTask, stored: str, task_in: Callable[..., ArchiveTask]
) -> None:
    other = task_in(task.namespace, task.workflow)
    assert "has not claimed" in put_as(archive, task, other.token).expect(403).json["message"]
    assert get_as(archive, stored, other.token, task.name).expect(403).reason == "Forbidden"


def test_a_pod_of_the_same_workflow_may_download(
    archive: ArchiveProcess, task: ArchiveTask, stored: str, task_in: Callable[..., ArchiveTask]
) -> None:
    other = task_in(task.namespace, task.workflow)
    assert get_as(archive, stored, other.token, other.name).expect(200).body == b"1\n"


def test_a_pod_of_another_workflow_may_not_download(
    archive: ArchiveProcess, task: ArchiveTask, stored: str, task_in: Callable[..., ArchiveTask]
) -> None:
    other = task_in(task.namespace, uuid.uuid4().hex)
    answer = get_as(archive, stored, other.token, other.name).expect(403)
    assert "another Workflow" in answer.json["message"]


def test_a_pod_of_another_namespace_may_neither_upload_nor_download(
    archive: ArchiveProcess,
    task: ArchiveTask,
    stored: str,
    task_in: Callable[..., ArchiveTask],
    open_namespace: Callable[[], str],
) -> None:
    other = task_in(open_namespace(), task.workflow)
    put_as(archive, task, other.token).expect(403)
    answer = get_as(archive, stored, other.token, other.name).expect(403)
    assert other.namespace in answer.json["message"]
    # The same Workflow uid in another namespace grants no access: a result belongs to one namespace.
    mine = stored.replace(task.namespace, other.namespace)
    assert get_as(archive, mine, other.token, other.name).expect(404).reason == "NotFound"


def test_a_token_without_a_pod_grants_no_access(
    archive: ArchiveProcess, task: ArchiveTask, stored: str, server: Server
) -> None:
    unbound = server.token(task.namespace, "torpor-task", audience=constants.ARCHIVE_AUDIENCE)
    assert "not bound to a pod" in put_as(archive, task, unbound).expect(403).json["message"]
    get_as(archive, stored, unbound, task.name).expect(403)


def test_the_pods_token_for_the_api_server_is_rejected(
    archive: ArchiveProcess, task: ArchiveTask, stored: str, server: Server
) -> None:
    pod = server.request("GET", f"/api/v1/namespaces/{task.namespace}/pods/{task.name}-a1-s0").expect(200)
    token = server.token(task.namespace, "torpor-task", pod=pod)
    assert put_as(archive, task, token).expect(401).reason == "Unauthenticated"
    get_as(archive, stored, token, task.name).expect(401)


@pytest.mark.attack
@pytest.mark.parametrize("account", ["torpor-operator", "torpor-triggerer", "torpor-reader"])
def test_no_client_shows_the_archive_a_token_for_the_api_server(
    archive: ArchiveProcess, server: Server, account: str
) -> None:
    """With such a token, a compromised archive would act as its client, such as the operator."""
    path, body = "/v1/namespaces/team/logs/status", b'{"pods": []}'
    for verb, place, sent in (
        ("POST", path, body),
        ("HEAD", "/v1/namespaces/team/runs/u", None),
        ("GET", "/v1/runs", None),
    ):
        answer = archive.request(verb, place, server.token("torpor-system", account), sent)
        assert answer.status == 401
    own = server.token("torpor-system", account, audience=constants.ARCHIVE_AUDIENCE)
    assert archive.request("POST", path, own, body).status == (200 if account == "torpor-operator" else 403)
    server.request("GET", "/api/v1/namespaces", token=own).expect(401)


@pytest.mark.parametrize("token", [None, "nonsense", "a.b.c"])
def test_an_invalid_token_is_rejected(archive: ArchiveProcess, task: ArchiveTask, token: str | None) -> None:
    assert put_as(archive, task, token).expect(401).reason == "Unauthenticated"


def test_a_result_is_uploaded_only_while_the_task_runs(
    archive: ArchiveProcess, task: ArchiveTask, server: Server
) -> None:
    put_as(archive, task, task.token).expect(201)
    server.patch_status(task.namespace, task.name, set_fields(state="Succeeded", result="1")).expect(200)
    assert "is Succeeded" in put_as(archive, task, task.token).expect(403).json["message"]


def test_access_moves_to_the_pod_of_the_next_attempt_at_once(
    archive: ArchiveProcess, task: ArchiveTask, stored: str, server: Server
) -> None:
    task.get(archive, stored).expect(200)
    after = task.retry(server)
    after.get(archive, stored).expect(200)
    put_as(archive, task, task.token).expect(403)
    put_as(archive, after, after.token).expect(201)


def test_an_unknown_taskrun_is_refused(archive: ArchiveProcess, task: ArchiveTask) -> None:
    path = task.result.replace(task.name, "missing")
    answer = archive.request("PUT", path, task.token, b"1\n", **_LINES).expect(403)
    assert "there is no TaskRun missing" in answer.json["message"]
    archive.request("PUT", path.replace("missing", "..%2Fx"), task.token, b"1\n", **_LINES).expect(400)


def test_an_unknown_result_is_not_found(archive: ArchiveProcess, task: ArchiveTask) -> None:
    assert "no result" in task.get(archive, task.address("0" * 64)).expect(404).json["message"]


def test_a_viewer_may_not_archive_runs(archive: ArchiveProcess, home: str, server: Server) -> None:
    viewer = account(server, home, "viewer", "view")
    answer = archive.request("PUT", f"/v1/namespaces/{home}/runs/u", viewer).expect(403)
    assert "is not the operator" in answer.json["message"]


def test_a_task_pod_may_not_read_the_history(archive: ArchiveProcess, task: ArchiveTask) -> None:
    for path in ("runs", "runs/u"):
        archive.request("GET", f"/v1/namespaces/{task.namespace}/{path}", task.token).expect(403)


def test_who_may_get_workflows_only_does_not_read_the_taskruns_of_a_run(
    archive: ArchiveProcess, home: str, server: Server
) -> None:
    rule = {"apiGroups": ["torpor.dev"], "resources": ["workflows"], "verbs": ["get", "list"]}
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole"}
    server.apply(kind | {"metadata": {"name": "workflows-only"}, "rules": [rule]})
    token = account(server, home, "workflows-only", "workflows-only")
    archive.request("GET", f"/v1/namespaces/{home}/runs", token).expect(200)
    answer = archive.request("GET", f"/v1/namespaces/{home}/runs/u", token).expect(403)
    assert "may not get TaskRuns" in answer.json["message"]


def test_the_token_of_a_deleted_pod_is_rejected(
    archive: ArchiveProcess, task_in: Callable[..., ArchiveTask], home: str, server: Server
) -> None:
    gone = task_in(home, "w")
    path = f"/api/v1/namespaces/{home}/pods/{gone.name}-a1-s0"
    server.request("DELETE", path, {"gracePeriodSeconds": 0}).expect(200)
    # The API server reviews tokens from a cache of pods, which follows the deletion a moment later.
    eventually(lambda: not is_accepted(server, gone.token), "the API server rejects the pod's token")
    put_as(archive, gone, gone.token).expect(401)


def test_an_unknown_path_has_the_same_error_format(archive: ArchiveProcess) -> None:
    assert archive.request("GET", "/v2/x").expect(404).reason == "NotFound"
    assert archive.request("POST", "/v1/namespaces/x/runs").expect(405).reason == "MethodNotAllowed"

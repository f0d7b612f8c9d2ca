"""Whoever has the operator's token: what it can create, and where. It used to make pods in kube-system."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import Answer, Server, collection
from tests.support.manifests import manifest

_POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "probe"},
    "spec": {
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "main",
                "image": "x",
                "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
            }
        ],
    },
}
_TASKRUN: dict[str, Any] = manifest(
    "TaskRun", "probe", {"workflow": {"name": "run", "uid": "u"}, "task": "task", "image": "x", "python": "a:b"}
)


@pytest.fixture(scope="module")
def token(server: Server) -> str:
    """The token of the operator as it is installed."""
    return server.token("torpor-system", "torpor-operator")


def create(server: Server, token: str, plural: str, namespace: str) -> Answer:
    body = _POD | {"spec": _POD["spec"] | {"serviceAccountName": "torpor-task"}} if plural == "pods" else _TASKRUN
    return server.request("POST", collection(plural, namespace), body, token=token, dryRun="All")


@pytest.mark.parametrize("plural", ["pods", "taskruns"])
@pytest.mark.parametrize("namespace", ["kube-system", "default", "torpor-system"])
def test_the_operator_creates_nothing_in_a_namespace_that_has_not_opted_in(
    server: Server, token: str, namespace: str, plural: str
) -> None:
    answer = create(server, token, plural, namespace)
    assert answer.status == 403
    assert f'cannot create resource "{plural}"' in answer.message


@pytest.mark.parametrize("plural", ["pods", "taskruns"])
@pytest.mark.parametrize("method", ["PATCH", "DELETE"])
def test_the_operator_changes_no_pod_and_removes_nothing_there(
    server: Server, token: str, method: str, plural: str
) -> None:
    patch = [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}]
    path, kind = f"{collection(plural, 'kube-system')}/any", "application/json-patch+json"
    answer = server.request(method, path, patch if method == "PATCH" else None, token=token, content_type=kind)
    assert answer.status == 403


def test_it_creates_them_where_the_namespace_is_set_up(
    server: Server, token: str, open_namespace: Callable[[], str]
) -> None:
    namespace = open_namespace()
    create(server, token, "taskruns", namespace).expect(201)
    create(server, token, "pods", namespace).expect(201)


_BARE = "bare"
_ALARM = {"name": "alarm", "trigger": {"class": "duration", "kwargs": {"duration": "1h"}}}


@pytest.fixture
def bare(server: Server) -> str:
    """A namespace that has not opted in, with a Workflow `run`."""
    server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _BARE}})
    body = manifest("Workflow", "run", {"tasks": [_ALARM]})
    assert server.create("workflows", _BARE, body).status in (201, 409)
    return f"{collection('workflows', _BARE)}/run"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("/spec/cancel", True),
        ("/spec/suspend", True),
        ("/metadata/labels", {"a": "b"}),
        ("/metadata/annotations", {"a": "b"}),
        ("/metadata/ownerReferences", [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}]),
    ],
)
def test_the_operator_changes_no_workflow_in_a_namespace_without_setup(
    server: Server, token: str, bare: str, path: str, value: object
) -> None:
    patch = [{"op": "add", "path": path, "value": value}]
    answer = server.request("PATCH", bare, patch, token=token, content_type="application/json-patch+json", dryRun="All")
    assert answer.status == 403, answer.message
    assert 'the operator cannot patch resource "workflows" in namespace bare' in answer.message


def test_the_operator_removes_its_finalizer_in_any_namespace(server: Server, token: str, bare: str) -> None:
    """The deletion of a namespace removes the RoleBindings before the Workflows."""
    patch = [{"op": "add", "path": "/metadata/finalizers", "value": []}]
    kind = "application/json-patch+json"
    server.request("PATCH", bare, patch, token=token, content_type=kind, dryRun="All").expect(200)


def test_the_operator_deletes_no_workflow_there(server: Server, token: str, bare: str) -> None:
    assert server.request("DELETE", bare, token=token, dryRun="All").status == 403


@pytest.mark.parametrize("namespace", ["kube-system", "default"])
def test_the_operator_reads_no_configmap_and_records_no_event_there(server: Server, token: str, namespace: str) -> None:
    assert server.request("GET", f"/api/v1/namespaces/{namespace}/configmaps/any", token=token).status == 403
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    assert server.request("GET", path, token=token).status == 403
    assert server.request("POST", path, {"metadata": {"name": "any"}}, token=token, dryRun="All").status == 403

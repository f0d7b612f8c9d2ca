"""What the API server rejects in a template of the cluster."""

import uuid
from typing import Any

import pytest

from tests.integration.conftest import Answer, Server

_TASK = {"name": "a", "container": {"command": ["true"]}}
_ALL: dict[str, Any] = {"selector": {}}


def create(server: Server, spec: dict[str, Any]) -> Answer:
    """The answer to a dry run: objects of the cluster would be seen by other tests."""
    name = f"template-{uuid.uuid4().hex[:8]}"
    body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "ClusterWorkflowTemplate", "metadata": {"name": name}}
    path = "/apis/torpor.dev/v1alpha1/clusterworkflowtemplates?dryRun=All"
    return server.request("POST", path, body | {"spec": spec})


ADMITTED: dict[str, dict[str, Any]] = {
    "tasks without an image, which the namespace may have": {"allowedNamespaces": _ALL, "workflow": {"tasks": [_TASK]}},
    "bodies alone": {"allowedNamespaces": {"names": ["a"]}, "workflow": {"bodies": {"a": {"timeout": "1h"}}}},
    "privileges, which the namespace of a run decides on": {
        "allowedNamespaces": {
            "selector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
        },
        "workflow": {"tasks": [_TASK | {"image": "x", "pod": {"securityContext": {"privileged": True}}}]},
    },
}
REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    "no namespaces": ({"workflow": {"tasks": [_TASK]}}, "spec.allowedNamespaces: Required value"),
    "neither names nor a selector": (
        {"allowedNamespaces": {}, "workflow": {"tasks": [_TASK]}},
        "set names or selector; selector: {} allows all namespaces",
    ),
    "a condition without values": (
        {
            "allowedNamespaces": {"selector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "workflow": {"tasks": [_TASK]},
        },
        "In and NotIn need values; Exists and DoesNotExist have none",
    ),
    "neither tasks nor bodies": ({"allowedNamespaces": _ALL, "workflow": {}}, "spec.workflow: set tasks"),
    "a task that is invalid": (
        {"allowedNamespaces": _ALL, "workflow": {"tasks": [_TASK | {"python": "m:f"}]}},
        "task a: a task has exactly one body",
    ),
    "a param whose default is of another type": (
        {
            "allowedNamespaces": _ALL,
            "params": [{"name": "n", "type": "integer", "default": "x"}],
            "workflow": {"tasks": [_TASK]},
        },
        "param n: the default must be an integer",
    ),
}


@pytest.mark.parametrize("case", ADMITTED)
def test_a_template_of_the_cluster_is_admitted(server: Server, case: str) -> None:
    create(server, ADMITTED[case]).expect(201)


@pytest.mark.parametrize("case", REJECTED)
def test_an_invalid_template_of_the_cluster_is_rejected(server: Server, case: str) -> None:
    spec, message = REJECTED[case]
    answer = create(server, spec)
    assert answer.status == 422, answer.message
    assert message in answer.message


@pytest.mark.attack
def test_a_user_of_a_namespace_cannot_write_a_template_of_the_cluster(server: Server, namespace: str) -> None:
    token = server.token(namespace, "default")
    path = "/apis/torpor.dev/v1alpha1/clusterworkflowtemplates?dryRun=All"
    body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "ClusterWorkflowTemplate", "metadata": {"name": "mine"}}
    assert server.request("POST", path, body | {"spec": ADMITTED["bodies alone"]}, token=token).status == 403

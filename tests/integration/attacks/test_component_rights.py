"""Whoever has the token of one component of Torpor: the Leases of the others, and other namespaces."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.conftest import Answer, Server

_HOME = "torpor-system"
_LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{_HOME}/leases"
_POOL = "torpor.dev/trigger-pool"
_JSON_PATCH = "application/json-patch+json"
_TAKE_OVER = [{"op": "add", "path": "/spec/holderIdentity", "value": "eve"}]


@pytest.fixture(scope="module")
def triggerer(server: Server) -> str:
    """The token of the triggerers of the default pool."""
    return server.token(_HOME, "torpor-triggerer")


@pytest.fixture(scope="module")
def operator(server: Server) -> str:
    return server.token(_HOME, "torpor-operator")


@pytest.fixture
def leases(server: Server) -> Iterator[dict[str, str]]:
    """The path of a Lease of the operator, of the default pool, and of another pool."""
    bodies = {"operator": lease("torpor-operator"), "default": lease("default"), "gpu": lease("gpu")}
    for body in bodies.values():
        assert server.request("POST", _LEASES, body).status in (201, 409)
    yield {name: f"{_LEASES}/{body['metadata']['name']}" for name, body in bodies.items()}
    for name in ("default", "gpu"):
        server.request("DELETE", f"{_LEASES}/{bodies[name]['metadata']['name']}")


def lease(pool: str) -> dict[str, Any]:
    name, labels = (pool, {}) if pool == "torpor-operator" else (f"torpor-triggerer-{pool}-attacked", {_POOL: pool})
    head = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name, "labels": labels}}
    return head | {"spec": {"holderIdentity": ""}}


def take_over(server: Server, path: str, token: str) -> Answer:
    return server.request("PATCH", path, _TAKE_OVER, token=token, content_type=_JSON_PATCH, dryRun="All")


@pytest.mark.parametrize("whose", ["operator", "gpu"])
def test_a_triggerer_writes_and_deletes_no_lease_of_another_component(
    server: Server, triggerer: str, leases: dict[str, str], whose: str
) -> None:
    answers = (
        take_over(server, leases[whose], triggerer),
        server.request("DELETE", leases[whose], token=triggerer, dryRun="All"),
    )
    for answer in answers:
        assert answer.status == 403
        assert "may not write this Lease: it belongs to another component of Torpor" in answer.message


def test_a_triggerer_adds_no_lease_to_another_pool(server: Server, triggerer: str, leases: dict[str, str]) -> None:
    assert "gpu" in leases
    body = lease("gpu") | {"metadata": {"name": "torpor-triggerer-gpu-eve", "labels": {_POOL: "gpu"}}}
    assert server.request("POST", _LEASES, body, token=triggerer, dryRun="All").status == 403
    moved = [{"op": "add", "path": "/metadata/labels", "value": {_POOL: "gpu"}}]
    answer = server.request("PATCH", leases["default"], moved, token=triggerer, content_type=_JSON_PATCH, dryRun="All")
    assert answer.status == 403


def test_each_component_writes_its_own_leases(
    server: Server, triggerer: str, operator: str, leases: dict[str, str]
) -> None:
    take_over(server, leases["default"], triggerer).expect(200)
    server.request("DELETE", leases["default"], token=triggerer, dryRun="All").expect(200)
    server.request("POST", _LEASES, lease("default") | new_name(), token=triggerer, dryRun="All").expect(201)
    take_over(server, leases["operator"], operator).expect(200)
    assert take_over(server, leases["default"], operator).status == 403


def new_name() -> dict[str, Any]:
    return {"metadata": {"name": "torpor-triggerer-default-new", "labels": {_POOL: "default"}}}


@pytest.mark.parametrize("namespace", ["kube-system", "default"])
def test_a_triggerer_records_no_event_and_lists_no_pod_where_it_is_not_bound(
    server: Server, triggerer: str, namespace: str
) -> None:
    events = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    assert server.request("POST", events, {"metadata": {"name": "any"}}, token=triggerer, dryRun="All").status == 403
    assert server.request("GET", f"/api/v1/namespaces/{namespace}/pods", token=triggerer).status == 403
    assert server.request("GET", f"/apis/batch/v1/namespaces/{namespace}/jobs", token=triggerer).status == 403


def test_a_triggerer_lists_the_pods_of_a_namespace_that_has_opted_in(
    server: Server, triggerer: str, namespace: str
) -> None:
    server.request("GET", f"/api/v1/namespaces/{namespace}/pods", token=triggerer).expect(200)

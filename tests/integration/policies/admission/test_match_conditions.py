"""Which updates of a Workflow the API server evaluates each policy for: a probe with its conditions denies those."""

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.conftest import Answer, Server, eventually
from tests.integration.policies.admission.test_admission import workflow

_POLICIES = Path(__file__).resolve().parents[4] / "manifests/base/policies"
_PATH = "/apis/admissionregistration.k8s.io/v1"
_TASKS: list[dict[str, Any]] = [{"name": "a", "python": "m:f"}, {"name": "b", "trigger": {"class": "time"}}]
_METADATA: dict[str, Any] = {"metadata": {"labels": {"a": "b"}, "annotations": {"a": "b"}, "finalizers": ["a.dev/b"]}}
_CHANGES: dict[str, dict[str, Any]] = {
    "suspend": {"suspend": True},
    "image": {"image": "y"},
    "params": {"params": {"day": 2}},
    "tasks": {"tasks": [_TASKS[0] | {"image": "z"}, _TASKS[1]]},
}


@pytest.fixture(params=["workflow", "bounds", "change"])
def probed(request: pytest.FixtureRequest, server: Server, namespace: str) -> Iterator[tuple[str, str]]:
    """A policy, and a namespace with a Workflow whose updates are denied if the policy is evaluated for them."""
    server.create("workflows", namespace, workflow(*_TASKS, image="x", params={"day": 1})).expect(201)
    policy, binding = yaml.safe_load_all((_POLICIES / f"{request.param}.yaml").read_text())
    name = f"probe-{uuid.uuid4().hex[:8]}"
    policy["metadata"], binding["metadata"] = {"name": name}, {"name": name}
    policy["spec"] |= {"validations": [{"expression": "false", "message": "evaluated"}], "variables": []}
    selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
    binding["spec"] |= {"policyName": name, "matchResources": {"namespaceSelector": selector}}
    for document in (policy, binding):
        server.apply(document)
    eventually(lambda: "evaluated" in patch(server, namespace, {"spec": _CHANGES["tasks"]}).message, "the probe denies")
    yield request.param, namespace
    for plural in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        server.request("DELETE", f"{_PATH}/{plural}/{name}")


def patch(server: Server, namespace: str, body: dict[str, Any], subresource: str = "", **query: str) -> Answer:
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{namespace}/workflows/run{subresource}"
    query = {"dryRun": "All"} | query
    return server.request("PATCH", path, body, content_type="application/merge-patch+json", **query)


def test_writes_of_metadata_and_status_are_not_evaluated(server: Server, probed: tuple[str, str]) -> None:
    _, namespace = probed
    patch(server, namespace, _METADATA).expect(200)
    patch(server, namespace, {"status": {"state": "Running"}}, "/status").expect(200)
    patch(server, namespace, {"metadata": {"generation": 7}}).expect(200)


def test_a_change_of_a_field_that_the_policy_reads_is_evaluated(server: Server, probed: tuple[str, str]) -> None:
    policy, namespace = probed
    read = {"workflow": {"image", "params", "tasks"}, "bounds": {"params", "tasks"}, "change": set(_CHANGES)}[policy]
    answers = {name: patch(server, namespace, {"spec": spec} | _METADATA) for name, spec in _CHANGES.items()}
    assert {name for name, answer in answers.items() if "evaluated" in answer.message} == read
    # No client can hide a change by a generation of its own.
    assert "evaluated" in patch(server, namespace, {"spec": _CHANGES["tasks"], "metadata": {"generation": 1}}).message

"""Objects of a newer version: this one reports that it cannot read them, and continues with all others."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.integration.controller.poison.test_poison_status import HELD
from tests.integration.controller.stage import ControllerFixture, Object, python
from tests.support.manifests import manifest

pytestmark = pytest.mark.usefixtures("undisturbed")

_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_BINDING = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings/torpor-status"


@contextmanager
def _any_word_at(stage: ControllerFixture, plural: str, *fields: str) -> Iterator[None]:
    """The kind as a newer version has it: a field takes words that this version does not know."""
    path = f"{_CRDS}/{plural}.torpor.dev"
    kept = stage.server.request("GET", path).expect(200)["spec"]["versions"][0]["schema"]
    newer = copy.deepcopy(kept)
    node = newer["openAPIV3Schema"]
    for field in fields:
        node = node[field]
    del node["enum"]
    _patch(stage, path, newer)
    try:
        yield
    finally:
        _patch(stage, path, kept)


@contextmanager
def _any_transition(stage: ControllerFixture) -> Iterator[None]:
    """The policy of a newer version, which has other transitions."""
    _enforce(stage, "Audit")
    try:
        yield
    finally:
        _enforce(stage, "Deny")


def _enforce(stage: ControllerFixture, action: str) -> None:
    ops = [{"op": "replace", "path": "/spec/validationActions", "value": [action]}]
    stage.server.request("PATCH", _BINDING, ops, content_type="application/json-patch+json").expect(200)


def _patch(stage: ControllerFixture, path: str, schema: Object) -> None:
    ops = [{"op": "replace", "path": "/spec/versions/0/schema", "value": schema}]
    stage.server.request("PATCH", path, ops, content_type="application/json-patch+json").expect(200)


def _eventually_taken(stage: ControllerFixture, path: str, method: str, body: Any, content_type: str) -> None:
    stage.until(
        lambda: stage.server.request(method, path, body, content_type=content_type).status in {200, 201},
        "the API server takes the new word",
    )


def test_a_taskrun_in_a_state_of_a_newer_version(stage: ControllerFixture) -> None:
    name = stage.submit([python("first", "echo", pod=HELD), python("last", "echo", after=["first"])])
    run = stage.taskrun(name, "first")["metadata"]["name"]
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{stage.namespace}/taskruns/{run}/status"
    with _any_transition(stage), _any_word_at(stage, "taskruns", "properties", "status", "properties", "state"):
        ops = [{"op": "add", "path": "/status/state", "value": "Hibernating"}]
        _eventually_taken(stage, path, "PATCH", ops, "application/json-patch+json")
    stage.until(lambda: stage.status(name)["tasks"][0]["state"] != "Pending", "it is looked at")


def test_a_workflow_with_a_rule_of_a_newer_version(stage: ControllerFixture) -> None:
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{stage.namespace}/workflows"
    task = python("first", "echo", rule="any_success")
    body = manifest("Workflow", "of-tomorrow", {"image": "tests", "tasks": [task]})
    with _any_word_at(stage, "workflows", "properties", "spec", "properties", "tasks", "items", "properties", "rule"):
        _eventually_taken(stage, path, "POST", body, "application/json")
    stage.until(lambda: stage.events("of-tomorrow") == ["WorkflowInvalid"], "it is said")
    stage.server.request("DELETE", f"{path}/of-tomorrow")

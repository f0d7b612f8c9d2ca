"""Tasks that use bodies, with real controllers and a real API server, whose policies check the complete tasks."""

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration.controller.stage import ControllerFixture, shell
from tests.integration.controller.templates.test_runs_of_templates import succeeded
from tests.support.manifests import manifest

_CLUSTER = "/apis/torpor.dev/v1alpha1/clusterworkflowtemplates"


def create_template(stage: ControllerFixture, **bodies: Any) -> str:
    name = f"template-{uuid.uuid4().hex[:8]}"
    body = manifest("WorkflowTemplate", name, {"workflow": {"image": "tests", "bodies": bodies}})
    stage.server.create("workflowtemplates", stage.namespace, body).expect(201)
    return name


def create_run(stage: ControllerFixture, *tasks: dict[str, Any], **spec: Any) -> str:
    name = f"run-{uuid.uuid4().hex[:8]}"
    body = manifest("Workflow", name, {"tasks": list(tasks)} | spec)
    stage.server.create("workflows", stage.namespace, body).expect(201)
    return name


def program(script: str, **fields: Any) -> dict[str, Any]:
    return {field: value for field, value in shell("x", script, **fields).items() if field != "name"}


def test_a_run_has_complete_tasks_and_names_the_version_of_its_template(stage: ControllerFixture) -> None:
    template = create_template(stage, check=program("true", retries={"limit": 3}))
    run = create_run(
        stage,
        {"name": "a", "use": "check", "retries": {"delay": "1s"}},
        {"name": "b", "use": {"template": template, "body": "check"}, "after": ["a"]},
        bodies={"check": program("true", image="tests", retries={"limit": 2})},
        defaults={"retries": {"limit": 1, "delay": "7s", "maxDelay": "9s"}},
    )
    assert stage.ends(run)["state"] == "Succeeded"
    first, second = stage.get("workflows", run)["spec"]["tasks"]
    assert first["retries"] == {"limit": 2, "delay": "1s"}
    assert first["container"] == program("true")["container"]
    assert second["image"] == "tests"
    stored = stage.get("workflowtemplates", template)["metadata"]
    assert second["use"] == {"template": template, "body": "check", "uid": stored["uid"], "generation": 1}
    spec = stage.taskrun(run, "a")["spec"]["retries"]
    assert (spec["limit"], spec["delay"], spec["maxDelay"]) == (2, "1s", "9s")


@pytest.mark.attack
def test_a_body_of_a_template_gets_no_more_than_the_namespace_allows(stage: ControllerFixture) -> None:
    root = program("true", pod={"securityContext": {"privileged": True}})
    run = create_run(stage, {"name": "a", "use": {"template": create_template(stage, check=root), "body": "check"}})
    condition = succeeded(stage.ends(run))
    assert condition["reason"] == "WorkflowInvalid"
    assert "the API server rejects the tasks with the fields of their bodies" in condition["message"]
    assert "task a: pod.securityContext.privileged needs Pod Security level privileged" in condition["message"]
    assert stage.taskruns(run) == []


@pytest.fixture
def cluster_template(stage: ControllerFixture) -> Iterator[Callable[..., str]]:
    """Creates templates of the cluster, and deletes them after the test."""
    created = list[str]()

    def create(**allowed: Any) -> str:
        created.append(f"template-{uuid.uuid4().hex[:8]}")
        spec = {"allowedNamespaces": allowed, "workflow": {"bodies": {"check": program("true", image="tests")}}}
        body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "ClusterWorkflowTemplate", "spec": spec}
        stage.server.request("POST", _CLUSTER, body | {"metadata": {"name": created[-1]}}).expect(201)
        return created[-1]

    yield create
    for name in created:
        stage.server.request("DELETE", f"{_CLUSTER}/{name}").expect(200)


@pytest.mark.attack
def test_a_template_of_the_cluster_is_for_the_namespaces_that_it_allows(
    stage: ControllerFixture, cluster_template: Callable[..., str]
) -> None:
    labels = {"matchLabels": {"kubernetes.io/metadata.name": stage.namespace}}
    allowing, other = cluster_template(selector=labels), cluster_template(names=["no-such-namespace"])
    allowed = create_run(stage, {"name": "a", "use": {"clusterTemplate": allowing, "body": "check"}})
    denied = create_run(stage, {"name": "a", "use": {"clusterTemplate": other, "body": "check"}})
    assert stage.ends(allowed)["state"] == "Succeeded"
    condition = succeeded(stage.ends(denied))
    assert condition["reason"] == "TemplateNotAllowed"
    assert f"{other} does not allow namespace {stage.namespace}" in condition["message"]
    stage.until(lambda: "TemplateNotAllowed" in stage.events(denied), "the Event")
    assert stage.taskruns(denied) == []

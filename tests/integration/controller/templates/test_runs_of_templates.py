"""Runs of templates with real controllers and a real API server, whose policies check the copy."""

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.integration.conftest import collection, eventually
from tests.integration.controller.stage import ControllerFixture, Object, python, shell
from tests.support.manifests import manifest

_POLICY = """
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: registry.example.com}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [torpor.dev], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: [workflows]}]
  validations:
  - {expression: "object.spec.?image.orValue('') != 'forbidden'", message: "images of this registry are not allowed"}
"""


def create_template(stage: ControllerFixture, name: str, tasks: list[dict[str, Any]], **spec: Any) -> None:
    body = manifest(
        "WorkflowTemplate",
        name,
        {"params": spec.pop("params", []), "workflow": {"image": "tests", "tasks": tasks} | spec},
    )
    stage.server.create("workflowtemplates", stage.namespace, body).expect(201)


def create_run(stage: ControllerFixture, template: str, **params: Any) -> str:
    name = f"run-{uuid.uuid4().hex[:8]}"
    body = manifest("Workflow", name, {"templateRef": {"name": template}, "params": params})
    stage.server.create("workflows", stage.namespace, body).expect(201)
    return name


def reason(stage: ControllerFixture, run: str) -> str:
    return str(succeeded(stage.status(run)).get("reason", ""))


def succeeded(status: Object) -> Object:
    return next((dict(each) for each in status.get("conditions", []) if each["type"] == "Succeeded"), {})


@pytest.fixture
def template() -> str:
    """A name that no other test uses."""
    return f"template-{uuid.uuid4().hex[:8]}"


def test_a_run_has_the_tasks_constants_and_defaults_of_its_template(stage: ControllerFixture, template: str) -> None:
    params = [{"name": "count", "type": "integer", "default": 2}, {"name": "unset"}]
    args = {"loads": "${params.count}", "rows": "${params.unit}", "kept": "${params.unset}"}
    create_template(stage, template, [python("report", "echo", args=args)], params=params)
    path = f"{collection('workflowtemplates', stage.namespace)}/{template}"
    patch = {"spec": {"workflow": {"params": {"unit": "rows"}, "parallelism": 7}}}
    stage.server.request("PATCH", path, patch, content_type="application/merge-patch+json").expect(200)
    name = create_run(stage, template, count=3)
    assert stage.ends(name)["state"] == "Succeeded"
    assert json.loads(stage.taskrun(name, "report")["status"]["result"]) == {"loads": 3, "rows": "rows", "kept": None}
    stored = stage.get("workflows", name)
    assert stored["spec"]["params"] == {"count": 3, "unit": "rows", "unset": None}
    assert stored["spec"]["templateRef"] == {"name": template}
    assert stored["spec"]["parallelism"] == 7


def test_a_run_goes_on_after_its_template_was_deleted(stage: ControllerFixture, template: str) -> None:
    wait = {"name": "wait", "trigger": {"class": "duration", "kwargs": {"duration": "3s"}}}
    create_template(stage, template, [wait, shell("last", "true", after=["wait"])])
    name = create_run(stage, template)
    stage.taskrun(name, "wait")
    path = f"{collection('workflowtemplates', stage.namespace)}/{template}"
    stage.server.request("DELETE", path).expect(200)
    assert stage.ends(name)["state"] == "Succeeded"


def test_a_run_starts_when_its_template_is_created(stage: ControllerFixture, template: str) -> None:
    name = create_run(stage, template)
    stage.until(lambda: reason(stage, name) == "TemplateNotFound", "the run waits")
    assert stage.state(name) == "Pending"
    stage.until(lambda: "TemplateNotFound" in stage.events(name), "the Event")
    create_template(stage, template, [shell("only", "true")])
    assert stage.ends(name)["state"] == "Succeeded"


def test_params_are_checked_again_when_the_run_starts(stage: ControllerFixture, template: str) -> None:
    name = create_run(stage, template, date="today")  # admitted: there is no template yet
    stage.until(lambda: reason(stage, name) == "TemplateNotFound", "the run waits")
    create_template(stage, template, [shell("only", "true")], params=[{"name": "date", "pattern": "[0-9-]+"}])
    condition = succeeded(stage.ends(name))
    assert (condition["reason"], condition["message"]) == (
        "ParamsInvalid",
        'param date must match [0-9-]+, not "today"',
    )
    assert not stage.taskruns(name)


def test_a_suspended_run_gets_the_template_as_it_is_when_it_resumes(stage: ControllerFixture, template: str) -> None:
    name = create_run(stage, template)
    stage.change("workflows", name, [{"op": "add", "path": "/spec/suspend", "value": True}])
    stage.until(lambda: stage.state(name) == "Suspended", "the run is suspended")
    create_template(stage, template, [shell("later", "true")])
    assert "tasks" not in stage.get("workflows", name)["spec"]
    stage.change("workflows", name, [{"op": "add", "path": "/spec/suspend", "value": False}])
    assert stage.ends(name)["state"] == "Succeeded"


@pytest.fixture
def registry(stage: ControllerFixture) -> Iterator[None]:
    """A policy of the cluster that rejects an image."""
    stage.server.apply(yaml.safe_load(_POLICY))
    binding = {"policyName": "registry.example.com", "validationActions": ["Deny"]}
    meta = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding"}
    stage.server.apply(meta | {"metadata": {"name": "registry.example.com"}, "spec": binding})
    body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": "probe"}}
    body |= {"spec": {"image": "forbidden", "tasks": [shell("a", "true")]}}
    query = {"dryRun": "All"}
    eventually(
        lambda: stage.server.create("workflows", stage.namespace, body, **query).status == 422, "the policy is in force"
    )
    yield
    for plural in ("validatingadmissionpolicybindings", "validatingadmissionpolicies"):
        path = f"/apis/admissionregistration.k8s.io/v1/{plural}/registry.example.com"
        stage.server.request("DELETE", path).expect(200)


@pytest.mark.usefixtures("registry")
def test_a_copy_that_a_policy_rejects_fails_the_run_with_its_message(stage: ControllerFixture, template: str) -> None:
    create_template(stage, template, [shell("only", "true")], image="forbidden")
    name = create_run(stage, template)
    condition = succeeded(stage.ends(name))
    assert condition["reason"] == "TemplateInvalid"
    assert condition["message"].startswith(f"the API server rejects the spec of template {template}: ")
    assert "images of this registry are not allowed" in condition["message"]
    stage.until(lambda: "TemplateInvalid" in stage.events(name), "the Event")

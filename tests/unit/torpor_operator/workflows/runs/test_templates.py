"""Runs of templates with the whole controller in virtual time: one read, one write, and errors of the API server."""

from collections.abc import AsyncIterator

import pytest
from torpor_kubernetes.client.resources import CLUSTER_TEMPLATES, EVENTS, TEMPLATES, WORKFLOWS
from torpor_local.apiserver.server import ApiRequest
from torpor_operator.settings import Settings

from tests.support.builders import NAMESPACE, Body, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault
from tests.support.templates import cases as template_cases

PARAMS: list[Body] = [{"name": "date", "pattern": "[0-9-]+"}]
WORKFLOW: Body = {"image": "i", "tasks": [python("load", args={"date": "${params.date}"})]}


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    harness = ControllerHarness(Settings())
    harness.fake.serve(TEMPLATES)
    async with harness.running() as running:
        yield running


def create_run(harness: ControllerHarness, name: str = "run", date: str = "2026-11-20") -> None:
    body = template_cases.run({"date": date}, name=name)
    harness.fake.put(WORKFLOWS, body | {"metadata": {"name": name, "namespace": NAMESPACE}})


def create_template(harness: ControllerHarness, workflow: Body | None = None) -> None:
    body = template_cases.template(PARAMS, workflow or WORKFLOW)
    harness.fake.put(TEMPLATES, body | {"metadata": {"name": "nightly", "namespace": NAMESPACE}})


def reads(harness: ControllerHarness) -> int:
    return sum("/workflowtemplates/" in request.path for request in harness.fake.requests)


def condition(harness: ControllerHarness, name: str = "run") -> tuple[str, str, str]:
    conditions = harness.workflow(name)["status"]["conditions"]
    entry = next(each for each in conditions if each["type"] == "Succeeded")
    return entry["status"], entry["reason"], entry["message"]


async def test_a_run_of_a_template_costs_one_read_and_no_further_write(harness: ControllerHarness) -> None:
    create_template(harness)
    create_run(harness)
    harness.create("by-hand", python("load", args={"date": "2026-11-20"}))
    await harness.advance(3)
    assert (harness.state("run"), harness.state("by-hand")) == ("Succeeded", "Succeeded")
    assert harness.taskrun("run", "load")["spec"]["arguments"] == [{"name": "date", "value": '"2026-11-20"'}]
    assert reads(harness) == 1
    paths = [request.path for request in harness.fake.writes()]
    assert sum("/run" in path for path in paths) == sum("/by-hand" in path for path in paths)


async def test_a_run_starts_when_its_template_is_created(harness: ControllerHarness) -> None:
    create_run(harness)
    await harness.advance(3600)
    assert harness.state("run") == "Pending"
    assert condition(harness)[1] == "TemplateNotFound"
    assert 360 <= reads(harness) <= 400
    assert len(harness.fake.writes()) == 2, "one status and one Event"
    assert [event["reason"] for event in harness.fake.all(EVENTS)] == ["TemplateNotFound"]
    create_template(harness)
    await harness.advance(12)
    assert harness.state("run") == "Succeeded"


async def test_a_pattern_that_does_not_match_fails_the_run(harness: ControllerHarness) -> None:
    create_template(harness)
    create_run(harness, date="today")
    await harness.advance(3)
    assert condition(harness) == ("False", "ParamsInvalid", 'param date must match [0-9-]+, not "today"')
    await harness.advance(60)
    assert reads(harness) == 1


@pytest.mark.parametrize("status", [422, 403, 413])
async def test_a_copy_that_the_api_server_rejects_fails_the_run(harness: ControllerHarness, status: int) -> None:
    create_template(harness)
    message = "policy torpor-workflow denied request: task b: a branch cannot be mapped"
    path = "/workflows/run"
    harness.fake.inject(Fault(status=status, method="PATCH", path=path, message=message, causes=True))
    create_run(harness)
    await harness.advance(60)
    assert condition(harness) == (
        "False",
        "TemplateInvalid",
        f"the API server rejects the spec of template nightly: {message}",
    )
    assert "tasks" not in harness.workflow("run")["spec"]


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (503, "unavailable"),
        (403, 'User "operator" cannot patch resource "workflows" in API group "torpor.dev"'),
    ],
)
async def test_a_copy_is_tried_again_after_other_errors(harness: ControllerHarness, status: int, message: str) -> None:
    create_template(harness)
    harness.fake.inject(Fault(status=status, method="PATCH", path="/workflows/run", message=message, times=2))
    create_run(harness)
    await harness.advance(60)
    assert harness.state("run") == "Succeeded"


async def test_a_change_of_the_run_during_the_copy_is_not_lost(harness: ControllerHarness) -> None:
    create_template(harness)
    changes = [{"spec": {"params": {"date": "2026-11-21"}}}]

    def change_first(request: ApiRequest) -> None:
        if request.method == "PATCH" and request.path.endswith("/workflows/run") and changes:
            harness.fake.edit(WORKFLOWS, NAMESPACE, "run", changes.pop())

    harness.fake.on_write = change_first
    create_run(harness)
    await harness.advance(5)
    assert not changes
    assert harness.state("run") == "Succeeded"
    assert harness.taskrun("run", "load")["spec"]["arguments"] == [{"name": "date", "value": '"2026-11-21"'}]
    assert reads(harness) == 2


async def test_a_template_that_temporarily_cannot_be_read_is_read_again(harness: ControllerHarness) -> None:
    create_template(harness)
    harness.fake.inject(Fault(status=503, method="GET", path="/workflowtemplates/", times=20))
    create_run(harness)
    await harness.advance(600)
    assert harness.state("run") == "Succeeded"


async def test_a_template_of_a_newer_version_fails_the_run_with_its_field(harness: ControllerHarness) -> None:
    create_template(harness, WORKFLOW | {"tasks": [{"name": "a", "rule": "some_new_rule", "python": "m:f"}]})
    create_run(harness)
    await harness.advance(3)
    status, reason, message = condition(harness)
    assert (status, reason) == ("False", "TemplateInvalid")
    assert message.startswith("template nightly cannot be read: spec.workflow.tasks.0.rule: Input should be ")
    assert "\n" not in message


async def test_a_run_that_was_deleted_while_it_waits_is_forgotten(harness: ControllerHarness) -> None:
    create_run(harness)
    await harness.advance(3)
    harness.fake.remove(WORKFLOWS, NAMESPACE, "run")
    await harness.advance(60)
    before = reads(harness)
    await harness.advance(60)
    assert reads(harness) == before


async def test_an_operator_without_the_right_names_the_role_and_ends_the_run(harness: ControllerHarness) -> None:
    message = 'cannot get resource "clusterworkflowtemplates" in API group "torpor.dev" at the cluster scope'
    harness.fake.inject(Fault(status=403, reason="Forbidden", message=message, path="/clusterworkflowtemplates/"))
    body = template_cases.run({}, name="run")
    body["spec"]["templateRef"] = {"kind": "ClusterWorkflowTemplate", "name": "platform"}
    harness.fake.put(WORKFLOWS, body | {"metadata": {"name": "run", "namespace": NAMESPACE}})
    await harness.advance(3)
    status, reason, text = condition(harness)
    assert (status, reason) == ("False", "TemplateInvalid")
    assert text.startswith("ClusterWorkflowTemplate platform cannot be read: this installation of Torpor has no right")
    assert text.endswith("can bind ClusterRole torpor-cluster-template-view to its operator by a ClusterRoleBinding")


async def test_a_policy_that_refuses_a_read_is_no_missing_role(harness: ControllerHarness) -> None:
    fault = Fault(status=403, reason="Forbidden", message="denied by a webhook", path="/clusterworkflowtemplates/")
    harness.fake.inject(fault)
    harness.fake.serve(CLUSTER_TEMPLATES)
    body = template_cases.run({}, name="run")
    body["spec"]["templateRef"] = {"kind": "ClusterWorkflowTemplate", "name": "platform"}
    harness.fake.put(WORKFLOWS, body | {"metadata": {"name": "run", "namespace": NAMESPACE}})
    await harness.advance(120)
    assert condition(harness)[1] == "TemplateNotFound"

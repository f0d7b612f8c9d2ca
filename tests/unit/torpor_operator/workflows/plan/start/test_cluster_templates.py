"""A template of the cluster is for the namespaces that its author allows; in others nothing runs."""

from typing import Any

import pytest
from torpor_crds.models.template import AllowedNamespaces
from torpor_operator.model.snapshot import NamespaceFacts
from torpor_operator.workflows.plan.start.allowed_namespaces import is_allowed

from tests.support.builders import NAMESPACE
from tests.support.plan_fixture import PlanFixture
from tests.support.templates import cases as template_cases

BODY: dict[str, Any] = {"image": "platform:1", "container": {"command": ["check"]}}
WORKFLOW: dict[str, Any] = {"bodies": {"check": BODY}, "tasks": [{"name": "only", "use": "check"}]}


def requirement(operator: str, *values: str) -> dict[str, Any]:
    return {"selector": {"matchExpressions": [{"key": "tier", "operator": operator, "values": list(values)}]}}


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        ({"names": ["team-a"]}, True),
        ({"names": ["team"]}, False),
        ({"names": ["team-b"], "selector": {"matchLabels": {"tier": "gold"}}}, True),
        ({"selector": {}}, True),
        ({"selector": {"matchLabels": {"tier": "gold", "other": "x"}}}, False),
        ({"selector": {"matchLabels": {"tier": "silver"}}}, False),
        (requirement("In", "gold", "silver"), True),
        (requirement("In", "silver"), False),
        (requirement("NotIn", "gold"), False),
        (requirement("NotIn", "silver"), True),
        (requirement("Exists"), True),
        (requirement("DoesNotExist"), False),
        ({}, False),
    ],
)
def test_a_namespace_is_allowed_by_its_name_or_its_labels(allowed: dict[str, Any], expected: bool) -> None:
    assert is_allowed(AllowedNamespaces.model_validate(allowed), "team-a", {"tier": "gold"}) is expected


def unstarted(*tasks: dict[str, Any], allowed: dict[str, Any], **spec: Any) -> PlanFixture:
    world = PlanFixture(*tasks, **spec)
    world.workflow["metadata"]["finalizers"] = []
    if not tasks:
        del world.workflow["spec"]["tasks"]
    template = template_cases.template([], WORKFLOW)
    template["metadata"] |= {"name": "platform", "uid": "c-1", "generation": 2}
    template["spec"]["allowedNamespaces"] = allowed
    world.api.cluster_templates["platform"] = template
    return world


USES: dict[str, dict[str, Any]] = {
    "a body": {"tasks": [{"name": "a", "use": {"clusterTemplate": "platform", "body": "check"}}]},
    "a task": {"tasks": [{"name": "a", "use": {"clusterTemplate": "platform", "task": "only"}}]},
    "a whole run": {"templateRef": {"kind": "ClusterWorkflowTemplate", "name": "platform"}},
}


@pytest.mark.parametrize("case", USES)
def test_a_run_in_an_allowed_namespace_starts(case: str) -> None:
    spec = dict(USES[case])
    world = unstarted(*spec.pop("tasks", ()), allowed={"selector": {"matchLabels": {"tier": "gold"}}}, **spec)
    world.api.namespace = NamespaceFacts(labels={"tier": "gold"})
    (task,) = world.settle().workflow["spec"]["tasks"]
    assert {name: task[name] for name in BODY} == BODY
    assert list(world.taskruns)
    if case != "a whole run":
        assert (task["use"]["uid"], task["use"]["generation"]) == ("c-1", 2)


@pytest.mark.attack
@pytest.mark.parametrize("case", USES)
def test_a_run_in_another_namespace_fails_and_nothing_runs(case: str) -> None:
    spec = dict(USES[case])
    world = unstarted(*spec.pop("tasks", ()), allowed={"names": ["elsewhere"]}, **spec)
    world.api.templates["platform"] = world.api.cluster_templates["platform"]  # of the same name, and not meant
    world.settle()
    reason = "TemplateNotAllowed"
    assert world.condition()[1] == reason
    assert f"ClusterWorkflowTemplate platform does not allow namespace {NAMESPACE}" in world.condition()[2]
    assert [event.reason for event in world.events] == [reason]
    assert world.taskruns == {}


def test_a_run_waits_for_a_template_of_the_cluster() -> None:
    world = unstarted({"name": "a", "use": {"clusterTemplate": "later", "body": "check"}}, allowed={"selector": {}})
    message = "ClusterWorkflowTemplate later does not exist; the run starts when it is created"
    assert world.settle().condition() == ("Unknown", "TemplateNotFound", message)
    world.api.cluster_templates["later"] = world.api.cluster_templates["platform"]
    assert world.advance(10).has("a")


def test_a_task_starts_a_run_of_a_template_of_the_cluster() -> None:
    reference = {"kind": "ClusterWorkflowTemplate", "name": "platform"}
    world = unstarted({"name": "a", "run": {"templateRef": reference}}, allowed={"selector": {}}).settle()
    (child,) = world.api.children.values()
    assert child["spec"]["templateRef"] == reference

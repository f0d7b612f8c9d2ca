"""A run of a template: when it copies the spec of the template, and what it waits for."""

from dataclasses import replace
from typing import Any

import pytest
from torpor_operator.model.actions import CopyTemplate, Need, ReadTemplate
from torpor_operator.model.snapshot import Answer, NamespaceFacts
from torpor_operator.workflows.plan import planner
from torpor_wire import constants, times

from tests.support.builders import NAMESPACE, NOW, Body, container, python
from tests.support.plan_fixture import PlanFixture
from tests.support.templates import cases as template_cases
from tests.support.templates.cases import DATE

WORKFLOW: Body = {
    "image": "ingest:1.4",
    "params": {"bucket": "raw"},
    "parallelism": 7,
    "suspend": False,
    "fieldOfANewerVersion": {"a": [None]},
    "tasks": [python("load", args={"date": "${params.date}", "to": "${params.bucket}/${params.region}"})],
}
MISSING = f"template nightly does not exist in namespace {NAMESPACE}; the run starts when it is created"
PARAMS = template_cases.PARAMS[:2]


def run(params: Body | None = None, **spec: Any) -> PlanFixture:
    """A new run of template nightly, which does not exist yet."""
    world = PlanFixture(params=DATE if params is None else params, templateRef={"name": "nightly"}, **spec)
    world.workflow["metadata"]["finalizers"] = []
    del world.workflow["spec"]["image"], world.workflow["spec"]["tasks"]
    return world


def with_template(world: PlanFixture, params: list[Body] | None = None, workflow: Body | None = None) -> PlanFixture:
    world.api.templates["nightly"] = template_cases.template(PARAMS if params is None else params, workflow or WORKFLOW)
    return world


def test_the_spec_is_copied_with_the_finalizer_in_one_action() -> None:
    world = with_template(run())
    plan = world.plan()
    (action,) = plan.actions
    assert action == CopyTemplate(
        fields={
            "image": "ingest:1.4",
            "parallelism": 7,
            "fieldOfANewerVersion": {"a": [None]},
            "tasks": WORKFLOW["tasks"],
            "params": {"bucket": "raw", "date": "2026-11-20", "region": "eu"},
        },
        finalizers=(constants.FINALIZER,),
    )
    assert plan.status is None


@pytest.mark.parametrize(
    ("defaults", "rejection", "reason", "message"),
    [
        ("", "spec.tasks: bad", "TemplateInvalid", "the spec of template nightly: spec.tasks: bad"),
        ("", "spec.defaults: big", "TemplateInvalid", "the spec of template nightly: spec.defaults: big"),
        ('{"timeout": "1h"}', "spec.tasks: bad", "TemplateInvalid", "the spec of template nightly: spec.tasks: bad"),
        (
            '{"timeout": "1h"}',
            "spec.defaults: big",
            "DefaultsInvalid",
            f"the defaults of namespace {NAMESPACE} with those of template nightly: spec.defaults: big",
        ),
    ],
)
def test_a_rejected_copy_names_what_is_invalid(defaults: str, rejection: str, reason: str, message: str) -> None:
    world = with_template(run())
    world.api.namespace = NamespaceFacts(defaults=defaults)
    known: dict[Need, Answer] = {}
    while (planned := planner.plan(replace(world.snapshot(known), uncopied=rejection))).needs:
        known |= {need: world.api.answer(need) for need in planned.needs}
    assert planned.status is not None
    (condition,) = (each for each in planned.status.conditions if each.type == "Succeeded")
    assert (condition.reason, condition.message) == (reason, f"the API server rejects {message}")


def test_other_finalizers_stay() -> None:
    world = with_template(run())
    world.workflow["metadata"]["finalizers"] = ["example.com/keep"]
    (action,) = world.plan().actions
    assert isinstance(action, CopyTemplate)
    assert action.finalizers == ("example.com/keep", constants.FINALIZER)


def test_a_template_of_plain_containers_is_copied_without_the_finalizer() -> None:
    world = with_template(run(), workflow={"image": "ingest:1.4", "tasks": [container("load")]})
    (action,) = world.plan().actions
    assert isinstance(action, CopyTemplate)
    assert action.finalizers == ()


def test_defaults_that_change_after_the_copy_do_not_change_the_run() -> None:
    world = with_template(run(), workflow={"image": "ingest:1.4", "tasks": [container("load")]})
    (copied,) = world.plan().actions
    world.api.act(copied, world.now)
    world.api.namespace = NamespaceFacts(defaults='{"timeout": "2h"}')
    world.settle()
    assert world.pods
    assert world.stored.spec.defaults is None


def test_a_run_in_a_run_gets_the_finalizer_with_the_copy() -> None:
    parent = {"workflow": "outer", "taskRun": "outer-a", "uid": "u", "attempt": 1, "depth": 1, "root": "r"}
    world = with_template(run(parent=parent), workflow={"image": "ingest:1.4", "tasks": [container("load")]})
    (action,) = world.plan().actions
    assert isinstance(action, CopyTemplate)
    assert action.finalizers == (constants.FINALIZER,)


def test_the_run_goes_on_with_the_copy() -> None:
    world = with_template(run()).settle()
    assert world.arguments("load") == {"date": '"2026-11-20"', "to": '"raw/eu"'}
    assert world.stored.spec.template_ref is not None


def test_a_later_edit_or_deletion_of_the_template_does_not_change_the_run() -> None:
    world = with_template(run()).settle()
    spec = dict(world.workflow["spec"])
    with_template(world, workflow=WORKFLOW | {"tasks": [python("other")]}).settle()
    world.api.templates.clear()
    world.succeed("load")
    assert world.workflow["spec"] == spec
    assert world.status.state == "Succeeded"
    assert sum(isinstance(need, ReadTemplate) for need in world.api.confirmed) == 1


def test_a_run_waits_for_a_missing_template() -> None:
    world = run().settle()
    assert world.condition("Succeeded") == ("Unknown", "TemplateNotFound", MISSING)
    assert world.condition("Reconciling") == ("True", "TemplateNotFound", "")
    assert world.condition("Stalled") == ("True", "TemplateNotFound", MISSING)
    assert world.status.state == "Pending"
    assert [(event.reason, event.message) for event in world.events] == [("TemplateNotFound", MISSING)]
    with_template(world).settle()
    assert world.has("load")
    assert world.condition("Succeeded") == ("Unknown", "Running", "")
    assert world.condition("Stalled")[0] == "False"


@pytest.mark.parametrize(("age", "pause"), [(0.0, 1.0), (40.0, 4.0), (86_400.0, 10.0)])
def test_a_missing_template_is_read_again_at_a_bounded_pace(age: float, pause: float) -> None:
    world = run().settle()
    world.now += age
    assert world.plan().again_at == pytest.approx(world.now + pause)


def test_the_timeout_begins_when_the_run_starts() -> None:
    world = run().settle()
    waiting = world.status
    assert (waiting.start_time, waiting.history) == (None, ())
    world.now += 3600
    with_template(world, workflow=WORKFLOW | {"timeout": "10m"}).settle()
    assert world.status.start_time == times.rfc3339(NOW + 3600)
    assert world.status.state == "Running"


def test_params_that_do_not_fit_fail_the_run() -> None:
    world = with_template(run({"region": "de"})).settle()
    message = 'param date is missing: template nightly requires it; param region must be one of "eu", "us", not "de"'
    assert world.condition("Succeeded") == ("False", "ParamsInvalid", message)
    assert world.status.completion_time is not None
    assert [(event.reason, event.message) for event in world.events] == [("ParamsInvalid", message)]
    assert "tasks" not in world.workflow["spec"]


def test_a_template_that_cannot_be_read_fails_the_run() -> None:
    world = with_template(run(), workflow=WORKFLOW | {"tasks": [{"name": 3}]}).settle()
    status, reason, message = world.condition("Succeeded")
    assert (status, reason) == ("False", "TemplateInvalid")
    assert message.startswith("template nightly cannot be read: ")


def test_a_suspended_run_copies_the_template_when_it_resumes() -> None:
    world = with_template(run(suspend=True)).settle()
    assert (world.status.state, world.status.start_time) == ("Suspended", None)
    assert world.condition("Succeeded") == ("Unknown", "Suspended", "")
    assert world.condition("Stalled")[0] == "False"
    assert not world.api.confirmed
    with_template(world, workflow=WORKFLOW | {"tasks": [python("edited")]})
    world.change(suspend=False)
    assert world.has("edited")


@pytest.mark.parametrize("field", ["cancel", "stop"])
@pytest.mark.parametrize("suspended", [True, False])
def test_a_run_that_is_ended_before_it_starts_does_not_read_the_template(field: str, *, suspended: bool) -> None:
    fields: dict[str, Any] = {field: True, "suspend": suspended}
    world = with_template(run(**fields)).settle()
    assert world.condition("Succeeded") == ("False", "Cancelled", f"spec.{field} was set")
    assert not world.api.confirmed
    assert world.workflow["metadata"]["finalizers"] == []


def test_a_run_that_is_deleted_while_it_waits_ends() -> None:
    world = run()
    world.workflow["metadata"]["finalizers"] = ["example.com/keep"]
    world.settle()
    world.delete()
    world.settle()
    assert world.condition("Succeeded")[:2] == ("False", "Cancelled")
    assert world.workflow["metadata"]["finalizers"] == ["example.com/keep"]


def test_a_clear_of_a_run_that_has_not_started_is_refused() -> None:
    world = run()
    world.workflow["metadata"]["annotations"] = {constants.CLEAR: "failed"}
    world.settle()
    assert [event.message for event in world.events] == ["nothing to clear: no instance has failed", MISSING]


def test_a_finished_run_without_tasks_ignores_a_template_that_appears() -> None:
    world = run(cancel=True).settle()
    with_template(world)
    world.change(cancel=False)
    assert not world.taskruns
    assert world.condition("Succeeded")[1] == "Cancelled"


def test_a_run_without_a_template_needs_none() -> None:
    world = PlanFixture(python("a")).settle()
    assert not any(isinstance(need, ReadTemplate) for need in world.api.confirmed)

"""A run whose tasks use bodies gets complete tasks when it starts, in one write."""

import json
from dataclasses import replace
from typing import Any

import pytest
from torpor_operator.model.actions import CopyTemplate, SetFinalizers
from torpor_operator.model.snapshot import NamespaceFacts
from torpor_operator.workflows.plan import planner
from torpor_operator.workflows.plan.start import task_bodies
from torpor_operator.workflows.plan.start.task_bodies import BodyProblem
from torpor_wire import constants

from tests.support.builders import NAMESPACE
from tests.support.plan_fixture import PlanFixture
from tests.support.templates import cases as template_cases

LOAD: dict[str, Any] = {
    "container": {"command": ["load"]},
    "args": {"mode": "full"},
    "retries": {"limit": 3},
    "pod": {"labels": {"example.com/team": "a"}},
}


def unstarted(*tasks: dict[str, Any], **spec: Any) -> PlanFixture:
    world = PlanFixture(*tasks, **{"bodies": {"load": LOAD}} | spec)
    world.workflow["metadata"]["finalizers"] = []
    return world


def test_the_task_gets_the_fields_of_its_body_with_the_finalizer() -> None:
    world = unstarted({"name": "a", "use": "load", "args": {"city": "Rome"}, "pod": {"labels": {"b": "c"}}})
    world.api.namespace = NamespaceFacts()
    (action,) = world.plan().actions
    assert action == SetFinalizers(
        finalizers=(constants.FINALIZER,),
        additions={
            "/spec/tasks/0/container": {"command": ["load"]},
            "/spec/tasks/0/args/mode": "full",
            "/spec/tasks/0/retries": {"limit": 3},
            "/spec/tasks/0/pod/labels/example.com~1team": "a",
        },
    )


def test_its_body_comes_before_the_defaults_of_all_tasks() -> None:
    defaults = {"retries": {"limit": 1, "delay": "7s"}, "timeout": "1h"}
    world = unstarted({"name": "a", "use": "load", "timeout": "2h"}, defaults=defaults)
    world.api.namespace = NamespaceFacts(defaults=json.dumps({"timeout": "3h", "retries": {"maxDelay": "9s"}}))
    run = world.settle().run("a").spec
    assert (run.retries.limit, run.retries.delay, run.retries.max_delay, run.timeout) == (3, "7s", "9s", "2h")
    assert world.workflow["spec"]["tasks"][0]["retries"] == {"limit": 3}


def test_a_copied_template_has_complete_tasks() -> None:
    workflow = {"bodies": {"load": LOAD}, "tasks": [{"name": "a", "use": "load", "fieldOfANewerVersion": 1}]}
    world = unstarted(templateRef={"name": "nightly"}, params={})
    del world.workflow["spec"]["tasks"], world.workflow["spec"]["bodies"]
    world.api.templates["nightly"] = template_cases.template([], workflow)
    (action,) = world.plan().actions
    assert isinstance(action, CopyTemplate)
    assert action.fields["tasks"] == [{"name": "a", "use": "load", "fieldOfANewerVersion": 1} | LOAD]


def test_a_run_whose_body_does_not_exist_fails_with_the_names() -> None:
    world = unstarted({"name": "a", "use": "lode"}).settle()
    assert world.condition()[1:] == ("WorkflowInvalid", "task a: `use` names lode: no such body; bodies: load")
    assert world.taskruns == {}


def test_a_run_whose_complete_tasks_are_rejected_fails_with_the_sentence() -> None:
    world = unstarted({"name": "a", "use": "load"})
    rejected = planner.plan(replace(world.snapshot(), uncopied="task a: a task has exactly one body"))
    world.apply(rejected)
    assert world.condition()[1:] == (
        "WorkflowInvalid",
        "the API server rejects the tasks with the fields of their bodies: task a: a task has exactly one body",
    )


def test_what_tasks_get_of_their_bodies_is_limited_in_bytes() -> None:
    body = {"container": {"script": "x" * 100_000}}
    tasks = [{"name": f"t{n}", "use": "big"} for n in range(6)]
    assert len(task_bodies.resolve(tasks[:5], {"big": body})) == 5  # type: ignore[arg-type]
    problem = task_bodies.resolve(tasks, {"big": body})
    assert isinstance(problem, BodyProblem)
    assert "the tasks get more than 524,288 bytes of their bodies" in problem.message


def test_a_run_that_has_started_gets_nothing_again() -> None:
    world = unstarted({"name": "a", "use": "load"}).settle()
    world.workflow["spec"]["bodies"] = {}
    assert not [action for action in world.plan().actions if isinstance(action, SetFinalizers)]


PLATFORM: dict[str, Any] = {
    "image": "platform:3",
    "runtime": "Image",
    "defaults": {"retries": {"limit": 5, "delay": "9s"}, "timeout": "4h", "pod": {"labels": {"team": "p"}}},
    "bodies": {"load": LOAD, "patient": {"timeout": "6h"}, "wait": {"trigger": {"class": "duration"}}},
    "tasks": [
        {"name": "report", "python": "m:report", "after": ["other"], "when": "false"},
        {"name": "shared", "use": "load", "args": {"mode": "delta"}},
        {"name": "foreign", "use": {"template": "other", "body": "b"}},
    ],
}


def with_platform(*tasks: dict[str, Any], **spec: Any) -> PlanFixture:
    world = unstarted(*tasks, **spec)
    template = template_cases.template([], PLATFORM)
    template["metadata"] |= {"name": "platform", "uid": "t-1", "generation": 4}
    world.api.templates["platform"] = template
    return world


def test_a_task_gets_a_body_of_a_template_and_names_its_version() -> None:
    world = with_platform({"name": "a", "use": {"template": "platform", "body": "load"}, "args": {"city": "Rome"}})
    (action,) = world.plan().actions
    assert isinstance(action, SetFinalizers)
    assert action.additions == {
        "/spec/tasks/0/container": {"command": ["load"]},
        "/spec/tasks/0/args/mode": "full",
        "/spec/tasks/0/retries": {"limit": 3, "delay": "9s"},
        "/spec/tasks/0/timeout": "4h",
        "/spec/tasks/0/pod": {"labels": {"example.com/team": "a", "team": "p"}},
        "/spec/tasks/0/image": "platform:3",
        "/spec/tasks/0/use/uid": "t-1",
        "/spec/tasks/0/use/generation": 4,
    }


@pytest.mark.parametrize(
    ("use", "fields"),
    [
        ({"task": "report"}, {"python": "m:report", "image": "platform:3", "runtime": "Image"}),
        ({"task": "shared"}, {"container": {"command": ["load"]}, "args": {"mode": "delta"}}),
        ({"body": "wait"}, {"trigger": {"class": "duration"}, "retries": {"limit": 5, "delay": "9s"}}),
    ],
)
def test_a_task_of_a_template_is_a_body_without_its_place(use: dict[str, str], fields: dict[str, Any]) -> None:
    world = with_platform({"name": "a", "use": {"template": "platform", **use}}).settle()
    (task,) = world.workflow["spec"]["tasks"]
    assert {name: task.get(name) for name in fields} == fields
    assert not {"after", "when", "source"} & task.keys()
    assert ("image" in task) is ("trigger" not in fields)


def test_a_body_without_a_program_brings_no_image_of_its_template() -> None:
    task = {"name": "a", "use": {"template": "platform", "body": "patient"}, "python": "m:f"}
    world = with_platform(task, image="mine:1").settle()
    (complete,) = world.workflow["spec"]["tasks"]
    assert complete["timeout"] == "6h"
    assert not {"image", "pod", "runtime"} & complete.keys()


@pytest.mark.parametrize(
    ("use", "message"),
    [
        ({"body": "lode"}, "template platform has no body lode; bodies: load, patient, wait"),
        ({"task": "lode"}, "template platform has no task lode; tasks: report, shared, foreign"),
        ({"task": "foreign"}, "task foreign of template platform uses a body of another template: use that one"),
    ],
)
def test_a_run_fails_with_what_its_template_lacks(use: dict[str, str], message: str) -> None:
    world = with_platform({"name": "a", "use": {"template": "platform", **use}}).settle()
    assert world.condition()[1:] == ("WorkflowInvalid", f"task a: {message}")


def test_a_run_waits_for_the_template_of_a_body() -> None:
    world = with_platform({"name": "a", "use": {"template": "later", "body": "load"}}).settle()
    missing = f"template later does not exist in namespace {NAMESPACE}; the run starts when it is created"
    assert world.condition() == ("Unknown", "TemplateNotFound", missing)
    world.api.templates["later"] = world.api.templates["platform"]
    world.advance(10)
    assert world.has("a")


def test_a_later_change_of_the_template_does_not_change_the_run() -> None:
    world = with_platform({"name": "a", "use": {"template": "platform", "body": "load"}}).settle()
    stored = json.dumps(world.workflow["spec"])
    world.api.templates.clear()
    assert json.dumps(world.settle().workflow["spec"]) == stored


@pytest.mark.attack
def test_a_run_uses_bodies_of_at_most_ten_templates() -> None:
    tasks = [{"name": f"a{n}", "use": {"template": f"t{n}", "body": "load"}} for n in range(11)]
    world = unstarted(*tasks).settle()
    assert world.condition()[1:] == ("WorkflowInvalid", "the tasks use bodies of 11 templates; the limit is 10")


def test_a_run_of_a_template_without_tasks_fails() -> None:
    world = unstarted(templateRef={"name": "nightly"})
    del world.workflow["spec"]["tasks"], world.workflow["spec"]["bodies"]
    world.api.templates["nightly"] = template_cases.template([], {"bodies": {"load": LOAD}})
    world.settle()
    assert world.condition()[1] == "TemplateInvalid"
    assert "template nightly has only bodies" in world.condition()[2]

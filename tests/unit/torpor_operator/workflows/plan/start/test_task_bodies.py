"""A run whose tasks use bodies gets complete tasks when it starts, in one write."""

import json
from dataclasses import replace
from typing import Any

from torpor_operator.model.actions import CopyTemplate, SetFinalizers
from torpor_operator.model.snapshot import NamespaceFacts
from torpor_operator.workflows.plan import planner
from torpor_operator.workflows.plan.start import task_bodies
from torpor_operator.workflows.plan.start.task_bodies import BodyProblem
from torpor_wire import constants

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

"""Secret references in the kwargs of triggers: those in the Workflow are followed, those in results are rejected."""

import json
from typing import Any

import pytest
from torpor_wire import typed_json
from torpor_wire.secret_ref import SecretRef

from tests.support.builders import python, wait
from tests.support.plan_fixture import PlanFixture

REFERENCE = {"secretRef": {"name": "db", "key": "password"}}
SETTING = {"configMapRef": {"name": "settings", "key": "region"}}
MARKED = {"__type": "secretRef", "__var": {"name": "db", "key": "password"}}


def kwargs(world: PlanFixture, task: str) -> Any:
    return json.loads(world.run(task).spec.trigger.kwargs)  # type: ignore[union-attr]


def test_a_reference_in_the_workflow_is_marked_in_every_field() -> None:
    given = {"url": "https://x", "headers": {"Authorization": REFERENCE}, "list": [REFERENCE, "${params.day}"]}
    world = PlanFixture(wait("a", kwargs=given), params={"day": "today"}).settle()
    expected = {"url": "https://x", "headers": {"Authorization": MARKED}, "list": [MARKED, "today"]}
    assert kwargs(world, "a") == expected
    status = world.run("a").status.trigger
    assert status is not None
    assert json.loads(status.kwargs) == expected
    assert status.waits_for.startswith('https://x [{"secretRef":{"name":"db","key":"password"}},"today"] ')


@pytest.mark.parametrize(
    "hidden", [REFERENCE, {"deep": [{"x": REFERENCE}]}, MARKED, typed_json.encode(SecretRef("a", "b"))]
)
def test_a_reference_in_the_result_of_a_task_is_refused(hidden: Any) -> None:
    notify = wait("tell", "webhook", kwargs={"url": "https://x", "body": {"got": "${tasks.ask.result}"}})
    world = PlanFixture(python("ask"), notify).settle().succeed("ask", json.dumps(hidden))
    assert world.task("tell").reason == "TriggerInvalid"
    message = world.task("tell").message or ""
    assert "kwargs.body.got: the value contains a secretRef that is not in the Workflow" in message
    assert "tell" not in {run["spec"]["task"] for run in world.taskruns.values()}


def test_a_reference_whose_name_is_an_expression_is_refused() -> None:
    given = {"url": "https://x", "body": {"secretRef": {"name": "${tasks.ask.result}", "key": "password"}}}
    world = PlanFixture(python("ask"), wait("tell", "webhook", kwargs=given)).settle().succeed("ask", '"db"')
    assert world.task("tell").reason == "TriggerInvalid"
    assert "kwargs.body: '${tasks.ask.result}' is not the name of a Secret" in (world.task("tell").message or "")


def test_a_reference_whose_body_is_an_expression_is_refused() -> None:
    given = {"url": "https://x", "body": {"secretRef": "${tasks.ask.result}"}}
    answer = '{"name":"db","key":"password"}'
    world = PlanFixture(python("ask"), wait("tell", "webhook", kwargs=given)).settle().succeed("ask", answer)
    assert world.task("tell").reason == "TriggerInvalid"


def test_a_reference_among_the_items_of_a_mapped_wait_is_refused() -> None:
    notify = wait(
        "tell", "webhook", kwargs={"url": "https://x"}, expand=[{"name": "body", "over": "${tasks.ask.result}"}]
    )
    world = PlanFixture(python("ask"), notify).settle().succeed("ask", json.dumps([{"x": REFERENCE}]))
    assert world.task("tell").reason == "TriggerInvalid"
    assert "kwargs.body: the value contains a secretRef" in (world.task("tell").message or "")


def test_a_mark_in_the_workflow_is_rejected() -> None:
    world = PlanFixture(wait("tell", "webhook", kwargs={"url": "https://x", "body": MARKED})).settle()
    assert world.task("tell").reason == "TriggerInvalid"


def test_a_result_without_a_reference_is_unchanged() -> None:
    notify = wait("tell", "webhook", kwargs={"url": "https://x", "body": "${tasks.ask.result}"})
    world = PlanFixture(python("ask"), notify).settle().succeed("ask", '{"secret":"ref","list":["secretRef"]}')
    assert kwargs(world, "tell")["body"] == {"secret": "ref", "list": ["secretRef"]}


def test_a_reference_to_a_config_map_in_the_workflow_is_marked() -> None:
    world = PlanFixture(wait("a", kwargs={"url": "https://x", "body": {"region": SETTING}})).settle()
    assert kwargs(world, "a")["body"] == {"region": {"__type": "configMapRef", "__var": SETTING["configMapRef"]}}


@pytest.mark.parametrize(
    "written", [{"got": "${tasks.ask.result}"}, {"got": {"configMapRef": "${tasks.ask.result.configMapRef}"}}]
)
def test_a_reference_to_a_config_map_in_a_result_is_refused(written: Any) -> None:
    notify = wait("tell", "webhook", kwargs={"url": "https://x", "body": written})
    world = PlanFixture(python("ask"), notify).settle().succeed("ask", json.dumps(SETTING))
    assert world.task("tell").reason == "TriggerInvalid"
    assert "configMapRef" in (world.task("tell").message or "")


def test_the_variables_of_a_container_in_a_result_are_data() -> None:
    source = {"envFrom": [{"configMapRef": {"name": "settings"}}, {"prefix": "P_", "configMapRef": {"name": "s"}}]}
    notify = wait("tell", "webhook", kwargs={"url": "https://x", "body": "${tasks.ask.result}"})
    world = PlanFixture(python("ask"), notify).settle().succeed("ask", json.dumps(source))
    assert kwargs(world, "tell")["body"] == source

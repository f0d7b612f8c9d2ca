"""Expressions in a container's command, arguments and environment, and the identity that a container gets."""

import pytest
from torpor_operator.model.pod import pod_name
from torpor_wire import transitions
from torpor_wire.canonical import Json
from torpor_wire.state import State

from tests.support.builders import NAME, UID, Body, container, python
from tests.support.plan_fixture import PlanFixture


def program(world: PlanFixture, task: str, index: int = -1) -> Body:
    main: Body = world.pods[pod_name(world.run(task, index))]["spec"]["containers"][0]
    return main


def env(world: PlanFixture, task: str, index: int = -1) -> dict[str, str]:
    return {variable["name"]: variable.get("value", "") for variable in program(world, task, index)["env"]}


def shell(name: str, *words: str, **fields: object) -> Body:
    return {"name": name, "container": {"command": ["sh", "-c"], "args": list(words)}, **fields}


def test_an_expression_in_a_command_is_evaluated_after_the_tasks_it_names() -> None:
    task = {"name": "load", "container": {"command": ["load", "--day=${params.day}", "${tasks.list.result}"]}}
    world = PlanFixture(python("list"), task, params={"day": "monday"}).settle()
    assert not world.has("load")
    world.succeed("list", '{"files":[1,2]}')
    assert program(world, "load")["command"] == ["load", "--day=monday", '{"files":[1,2]}']


def test_a_string_is_unchanged_and_any_other_value_is_json() -> None:
    params = {"text": "a b", "number": 3, "flag": True, "none": None}
    world = PlanFixture(
        shell("a", "${params.text}", "${params.number}", "${params.flag}", "${params.none}"), params=params
    )
    assert program(world.settle(), "a")["args"] == ["a b", "3", "true", "null"]


def test_an_escaped_opening_is_literal_and_needs_no_variable() -> None:
    assert program(PlanFixture(shell("a", "echo $${HOME} $HOME $(path)")).settle(), "a")["args"] == [
        "echo ${HOME} $HOME $(path)"
    ]


def test_a_value_never_names_a_variable_of_kubernetes() -> None:
    world = PlanFixture(shell("a", "$(x) ${params.x}", args={"x": "$(TOKEN)"}), params={"x": "$(TOKEN)$$"}).settle()
    assert program(world, "a")["args"] == ["$(x) $$(TOKEN)$$$$"]
    assert env(world, "a")["x"] == "$$(TOKEN)"


CHOSEN = {"env": [{"name": "DAY", "value": "day ${params.day}"}, {"name": "PLAIN", "value": "x"}]}


@pytest.mark.parametrize("task", [python("a", pod=CHOSEN), container("a", pod=CHOSEN)])
def test_an_expression_in_the_environment_of_a_pod_is_evaluated(task: Body) -> None:
    world = PlanFixture(task, params={"day": 7}).settle()
    variables = env(world, "a")
    assert (variables["DAY"], variables["PLAIN"]) == ("day 7", "x")


def test_each_instance_of_a_mapped_task_has_its_own_command() -> None:
    task = shell("a", "${mapping.value}", expand=[{"name": "n", "over": ["x", "y"]}])
    world = PlanFixture(task).settle()
    assert [program(world, "a", index)["args"] for index in (0, 1)] == [["x"], ["y"]]


@pytest.mark.parametrize("text", ["${HOME}", "${x:-default}", "${#x}"])
def test_a_shell_variable_is_rejected_with_advice(text: str) -> None:
    world = PlanFixture(shell("a", f"echo {text}")).settle()
    assert world.status.state == "Failed"
    assert "container.args" in world.condition()[2]
    assert "$${NAME}" in world.condition()[2]


def test_a_reference_to_an_unknown_task_fails_the_run() -> None:
    world = PlanFixture(shell("a", "${tasks.nobody.result}")).settle()
    assert world.condition()[1] == "WorkflowInvalid"
    assert "container.args: unknown task nobody" in world.condition()[2]


def test_a_value_too_long_for_a_command_fails_the_task() -> None:
    world = (
        PlanFixture(python("list"), shell("a", "x${tasks.list.result}"))
        .settle()
        .succeed("list", '"' + "x" * 5000 + '"')
    )
    assert world.tasks()["a"] == "Failed"
    assert "container.args[0]: the value has 5001 characters; the limit is 4096" in (world.task("a").message or "")


def test_a_container_has_its_identity_in_its_environment() -> None:
    world = PlanFixture(
        container("a", retries={"limit": 1, "delay": "1s", "backoff": 1}, expand=[{"name": "n", "over": [1, 2]}])
    ).settle()
    environment, run = env(world, "a", 1), world.run("a", 1)
    assert (
        environment
        | {
            "TORPOR_WORKFLOW": NAME,
            "TORPOR_TASK": "a",
            "TORPOR_INDEX": "1",
            "TORPOR_NAMESPACE": "ns",
            "TORPOR_TASKRUN": run.metadata.name,
            "TORPOR_TASKRUN_UID": run.metadata.uid,
            "TORPOR_ATTEMPT": "1",
            "TORPOR_SEGMENT": "0",
            "TORPOR_IDEMPOTENCY_KEY": f"{run.metadata.uid}-0",
        }
        == environment
    )
    assert UID not in environment.values()
    state = {"terminated": {"exitCode": 1, "reason": "Error"}}
    world.kubelet("a", {"phase": "Failed", "containerStatuses": [{"state": state}]}, 1).advance(1)
    assert world.state("a", 1) is State.RUNNING
    again = env(world, "a", 1)
    assert again["TORPOR_ATTEMPT"] == "2"
    assert again["TORPOR_IDEMPOTENCY_KEY"] == environment["TORPOR_IDEMPOTENCY_KEY"]


def test_a_container_that_is_not_mapped_has_an_empty_index() -> None:
    assert env(PlanFixture(container("a")).settle(), "a")["TORPOR_INDEX"] == ""


def test_an_archived_result_cannot_be_passed_to_a_container() -> None:
    tasks = (container("a", args={"x": "${tasks.list.result}"}), shell("b", "${tasks.list.result}"))
    world = PlanFixture(python("list"), *tasks).settle()
    world.claim("list")
    run = world.run("list")
    stored: Json = {"size": 20_000, "digest": "d", "type": "string"}
    world.api.patch(run, transitions.succeed(run.pin(), None, stored=stored, now=world.now))
    world.settle()
    for name in ("a", "b"):
        message = world.task(name).message or ""
        assert "the result of task list has 20000 bytes and is in the archive" in message
        assert message.endswith("container tasks cannot read it either: pass the location of the data instead")

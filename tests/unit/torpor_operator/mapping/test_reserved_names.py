"""The keys of an item never replace what the author set, nor set a variable that steers a program."""

import json
from typing import Any

import pytest
from torpor_operator.mapping import reserved_names

from tests.support.builders import Body, container, python, wait
from tests.support.plan_fixture import PlanFixture

pytestmark = pytest.mark.attack

AUTHORS = {"url": "https://ours", "headers": {"Authorization": {"secretRef": {"name": "api", "key": "token"}}}}


def mapped_over(task: Body, answer: object) -> PlanFixture:
    """The run of a task that is mapped over the answer of a server."""
    world = PlanFixture(python("ask"), {**task, "expandKwargs": "${tasks.ask.result}"})
    return world.settle().succeed("ask", json.dumps(answer))


def refusal(world: PlanFixture, task: str) -> tuple[str | None, str | None]:
    assert task not in {run["spec"]["task"] for run in world.taskruns.values()}
    return world.task(task).reason, world.task(task).message


@pytest.mark.parametrize("name", ["url", "encrypted__url", "headers"])
def test_an_item_never_replaces_what_the_author_gave_a_trigger(name: str) -> None:
    world = mapped_over(wait("get", kwargs=AUTHORS), [{"body_condition": "true"}, {name: "https://theirs"}])
    message = f"expandKwargs: item 1: {name} is also in trigger.kwargs; remove one"
    assert refusal(world, "get") == ("ExpandInvalid", message)


def test_an_entry_of_expand_never_replaces_what_the_author_gave_a_trigger() -> None:
    task = wait("get", kwargs=AUTHORS, expand=[{"name": "url", "over": "${tasks.ask.result}"}])
    world = PlanFixture(python("ask"), task).settle().succeed("ask", '["https://theirs"]')
    assert refusal(world, "get") == ("ExpandInvalid", "expand url: url is also in trigger.kwargs; remove one")


@pytest.mark.parametrize("name", ["__type", "__var", "a-b", ""])
def test_an_item_names_only_arguments_of_a_trigger(name: str) -> None:
    world = mapped_over(wait("get", kwargs=AUTHORS), [{name: {"name": "api", "key": "token"}}])
    message = f"expandKwargs: item 0: {name!r} is not an identifier and cannot be an argument"
    assert refusal(world, "get") == ("ExpandInvalid", message)


def test_the_keys_of_an_item_are_no_reference_to_a_secret() -> None:
    world = mapped_over(wait("get", kwargs={"url": "https://ours"}), [{"secretRef": {"name": "api", "key": "token"}}])
    reason, message = refusal(world, "get")
    assert reason == "TriggerInvalid"
    assert "the value contains a secretRef that is not in the Workflow" in (message or "")


def test_an_item_never_replaces_a_variable_of_the_pod() -> None:
    task = container("load", pod={"env": [{"name": "server", "value": "ours"}]})
    message = "expandKwargs: item 0: server is also in pod.env; remove one"
    assert refusal(mapped_over(task, [{"server": "theirs"}]), "load") == ("ExpandInvalid", message)


STEERING = ["http_proxy", "HTTPS_PROXY", "No_Proxy", "grpc_proxy", "LD_PRELOAD", "PYTHONPATH", "PYTHON_GIL", "PATH"]
STEERING += ["HOME", "TORPOR_OUTCOME", "DYLD_INSERT_LIBRARIES", "BASH_ENV", "npm_config_script_shell"]


@pytest.mark.parametrize("name", STEERING)
def test_no_item_sets_a_variable_that_steers_a_program(name: str) -> None:
    message = f"{name} is a variable of a loader, shell or proxy: data must not set it; set it in pod.env"
    refused = refusal(mapped_over(container("load"), [{"path": "a"}, {name: "theirs"}]), "load")
    assert refused == ("ExpandInvalid", f"expandKwargs: item 1: {message}")


@pytest.mark.parametrize(
    "fields", [{"args": {"http_proxy": "${params.proxy}"}}, {"expand": [{"name": "http_proxy", "over": ["a"]}]}]
)
def test_no_argument_sets_a_variable_that_steers_a_program(fields: dict[str, Any]) -> None:
    world = PlanFixture(container("load", **fields), params={"proxy": "theirs"}).settle()
    _, message = refusal(world, "load")
    assert "http_proxy is a variable of a loader, shell or proxy" in (message or "")


def test_python_tasks_take_any_argument_since_it_is_no_variable() -> None:
    world = mapped_over(python("load"), [{"http_proxy": "x"}])
    assert [argument.name for argument in world.run("load", 0).spec.arguments] == ["http_proxy"]


@pytest.mark.parametrize("name", ["path", "home", "proxy", "env", "python", "ld"])
def test_ordinary_names_of_arguments_are_allowed(name: str) -> None:
    assert not reserved_names.steers_a_program(name)

"""What the policies say to a Workflow, and to a change of one, that its schema alone would let in."""

from typing import Any

import pytest

from tests.integration.conftest import Answer, Server

_TRIGGER = {"name": "a", "trigger": {"class": "time"}}
_PYTHON = {"name": "b", "python": "m:f", "image": "x"}


def workflow(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "torpor.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "run"},
        "spec": {"tasks": list(tasks)} | spec,
    }


REFUSED = {
    "a param with a dash": (
        workflow(_TRIGGER, params={"my-day": 1}),
        'param "my-day" is not an identifier: lower-case letters, digits and underscores, a letter first',
    ),
    "a param named n": (workflow(_TRIGGER, params={"false": 1}), "quote y, n, on, off"),
    "an argument with a dash": (
        workflow(_PYTHON | {"args": {"good": 1, "my-day": 1}}),
        'task b: argument "my-day" is not an identifier',
    ),
    "an argument named y": (
        workflow(_TRIGGER, _PYTHON | {"args": {"true": 1}}),
        "task b has an argument named true or false, as YAML reads a bare y, n, yes, no, on or off: quote y",
    ),
    "a kwarg named on": (workflow({"name": "a", "trigger": {"class": "time", "kwargs": {"true": 1}}}), "task a has an"),
    "after a task that is not there": (
        workflow(_TRIGGER, _PYTHON | {"after": ["a", "c", "d"]}),
        "task b is to come after c, d, and there is no such task",
    ),
    "expanded and constant": (
        workflow(_PYTHON | {"args": {"x": 1}, "expand": [{"name": "x", "over": [1, 2]}]}),
        "task b gives x both by expand and as a constant; remove one",
    ),
    "mapped over a text": (
        workflow(_PYTHON | {"expand": [{"name": "x", "over": "a, b"}]}),
        "task b: expand takes a list, an object, or an expression ${...} that yields one",
    ),
    "mapped over a number of arguments": (
        workflow(_PYTHON | {"expandKwargs": 3}),
        "task b: expandKwargs takes a list of objects, or an expression ${...} that yields one",
    ),
    "mapped in two ways": (
        workflow(_PYTHON | {"expand": [{"name": "x", "over": [1]}], "expandKwargs": [{"y": 1}]}),
        "task b: give expand (a product of lists) or expandKwargs (a list of objects), not both",
    ),
    "a limit for what is not mapped": (
        workflow(_PYTHON | {"maxActive": 2}),
        "task b: maxActive is of a task with expand or expandKwargs; parallelism limits the run",
    ),
    "a branch that is mapped": (
        workflow(_PYTHON | {"branch": True, "expandKwargs": "${params.x}"}),
        "task b: a branch task decides once, so it cannot be mapped",
    ),
    "arguments of a trigger": (
        workflow(_TRIGGER | {"args": {"x": 1}}),
        "task a is a trigger and calls no function: move its args to trigger.kwargs",
    ),
}


LET_IN: dict[str, dict[str, Any]] = {
    "expandKwargs with a limit": _PYTHON | {"maxActive": 2, "expandKwargs": [{"y": 1}]},
    "expand with a limit": _PYTHON | {"maxActive": 2, "expand": [{"name": "x", "over": [1]}]},
    "expand over an object and an expression": _PYTHON
    | {"expand": [{"name": "x", "over": {"k": 1}}, {"name": "y", "over": "${params.y}"}]},
    "a branch": _PYTHON | {"branch": True},
}


@pytest.mark.parametrize("case", LET_IN)
def test_the_door_lets_in(server: Server, namespace: str, case: str) -> None:
    server.create("workflows", namespace, workflow(LET_IN[case])).expect(201)


@pytest.mark.parametrize("case", REFUSED)
def test_the_door_refuses(server: Server, namespace: str, case: str) -> None:
    body, said = REFUSED[case]
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422, answer.message
    assert answer.body["reason"] == "Invalid"
    assert "torpor-door" in answer.message
    assert said in answer.message


def test_the_door_lets_a_whole_workflow_in(server: Server, namespace: str) -> None:
    tasks = (
        _TRIGGER | {"trigger": {"class": "kubernetes", "kwargs": {"apiVersion": "v1", "kind": "Pod"}}},
        _PYTHON | {"after": ["a"], "args": {"day_1": "${params.day}"}, "expand": [{"name": "x", "over": [1, 2]}]},
    )
    server.create("workflows", namespace, workflow(*tasks, params={"day": "2026-11-20"})).expect(201)


@pytest.fixture
def running(server: Server, namespace: str) -> str:
    """A namespace with a Workflow `run` in it."""
    body = workflow(_TRIGGER, _PYTHON, params={"day": 1})
    server.create("workflows", namespace, body).expect(201)
    return namespace


def merge(server: Server, namespace: str, patch: dict[str, Any]) -> Answer:
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{namespace}/workflows/run"
    return server.request("PATCH", path, patch, content_type="application/merge-patch+json")


@pytest.mark.parametrize(
    "change",
    [
        {"params": {"day": 2}},
        {"image": "y"},
        {"timeout": "1h"},
        {"tasks": [_TRIGGER]},
        {"ttlAfterFinished": "1d"},
        {"triggerPool": "gpu"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_run_is_not_edited(server: Server, running: str, change: dict[str, Any]) -> None:
    answer = merge(server, running, {"spec": change})
    assert answer.status == 422
    assert "torpor-change" in answer.message
    assert f"spec.{next(iter(change))} cannot change: a Workflow is one run" in answer.message
    assert "Only suspend, cancel and parallelism can" in answer.message


def test_every_edited_field_is_named(server: Server, running: str) -> None:
    answer = merge(server, running, {"spec": {"image": "y", "params": {"day": 2}, "suspend": True}})
    assert "spec.params, spec.image cannot change" in answer.message


@pytest.mark.parametrize(
    "change",
    [{"suspend": True}, {"suspend": False}, {"parallelism": 3}, {"cancel": True}, {"cancel": True, "suspend": True}],
    ids=str,
)
def test_a_run_is_suspended_cancelled_and_throttled(server: Server, running: str, change: dict[str, Any]) -> None:
    merge(server, running, {"spec": change}).expect(200)


@pytest.mark.parametrize("value", [False, None])
def test_a_cancel_is_not_taken_back(server: Server, running: str, value: bool | None) -> None:
    merge(server, running, {"spec": {"cancel": True}}).expect(200)
    answer = merge(server, running, {"spec": {"cancel": value}})
    assert answer.status == 422
    assert "spec.cancel cannot be taken back" in answer.message


def test_metadata_and_status_are_not_looked_at(server: Server, running: str) -> None:
    merge(server, running, {"metadata": {"finalizers": ["torpor.dev/cancel-first"]}}).expect(200)
    merge(server, running, {"metadata": {"finalizers": None, "labels": {"a": "b"}}}).expect(200)
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{running}/workflows/run/status"
    patch = {"status": {"state": "Running"}}
    server.request("PATCH", path, patch, content_type="application/merge-patch+json").expect(200)

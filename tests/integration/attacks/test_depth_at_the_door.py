"""Values of a Workflow that nest too deeply are refused when it is applied."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import Server, collection, eventually
from tests.support.manifests import manifest

pytestmark = pytest.mark.attack

Object = dict[str, Any]
LIMIT = 20


def nested(levels: int, *, as_object: bool = False) -> Any:
    value: Any = []
    for _ in range(levels - 1):
        value = {"a": value} if as_object else [value]
    return value


def workflow(name: str = "deep", **spec: Any) -> Object:
    tasks = spec.pop(
        "tasks", [{"name": "wait", "trigger": {"class": "time", "kwargs": {"moment": "2026-01-01T00:00:00Z"}}}]
    )
    body = {"params": {}, "tasks": tasks} | spec
    return manifest("Workflow", name, body)


# `params` and `args` are levels themselves.
PLACES: dict[str, Callable[[Any], Object]] = {
    "params": lambda value: workflow(params={"p": value}),
    "args": lambda value: workflow(tasks=[{"name": "t", "python": "m:f", "image": "i", "args": {"a": value}}]),
    "kwargs": lambda value: workflow(tasks=[{"name": "t", "trigger": {"class": "time", "kwargs": {"a": value}}}]),
    "expand": lambda value: workflow(
        tasks=[{"name": "t", "python": "m:f", "image": "i", "expand": [{"name": "a", "over": [value]}]}]
    ),
}


@pytest.fixture(scope="module")
def bounded(server: Server) -> Server:
    body = workflow(params={"p": nested(LIMIT + 1)})
    eventually(
        lambda: server.create("workflows", "default", body, dryRun="All").status == 422, "the policy is in force"
    )
    return server


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("as_object", [True, False])
def test_values_nest_as_deep_as_the_limit_and_no_deeper(bounded: Server, place: str, as_object: bool) -> None:
    for levels in (LIMIT + 1, 200):
        answer = bounded.create(
            "workflows", "default", PLACES[place](nested(levels, as_object=as_object)), dryRun="All"
        )
        assert answer.status == 422
        assert f"at most {LIMIT} levels deep" in answer.message, answer.message
    inside = 3 if place == "expand" else 1
    shallow = PLACES[place](nested(LIMIT - inside, as_object=as_object))
    assert bounded.create("workflows", "default", shallow, dryRun="All").status == 201


@pytest.mark.parametrize("levels", [1_100, 9_000])
def test_the_object_that_stopped_the_operator_is_refused(bounded: Server, levels: int) -> None:
    # As text: Python's own encoder does not go as deep.
    body = json.dumps(workflow(params={"p": "VALUE"})).replace('"VALUE"', "[" * levels + "]" * levels)
    url = f"{bounded.url}{collection('workflows', 'default')}?dryRun=All"
    answer = bounded.administrator.request("POST", url, body=body, headers={"Content-Type": "application/json"})
    assert answer.status == 422
    assert f"at most {LIMIT} levels deep" in answer.json()["message"]


def test_a_large_but_flat_value_passes(bounded: Server) -> None:
    rows = [{"name": f"row {number}", "size": number, "tags": ["a", "b"]} for number in range(4_000)]
    assert bounded.create("workflows", "default", workflow(params={"rows": rows}), dryRun="All").status == 201


def test_a_change_of_labels_passes_whatever_the_spec_holds(bounded: Server, namespace: str) -> None:
    bounded.create("workflows", namespace, workflow("flat")).expect(201)
    path = f"{collection('workflows', namespace)}/flat"
    patch = {"metadata": {"labels": {"a": "b"}}}
    bounded.request("PATCH", path, patch, content_type="application/merge-patch+json").expect(200)

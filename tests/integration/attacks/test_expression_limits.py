"""A Workflow with more expressions than the operator parses is refused when it is applied."""

from typing import Any

import pytest

from tests.integration.conftest import Server
from tests.support.manifests import manifest

pytestmark = pytest.mark.attack

LIMIT = 4_000
Object = dict[str, Any]


def task(name: str = "t", **fields: Any) -> Object:
    return {"name": name, "python": "m:f", **fields}


def workflow(*tasks: Object, **fields: Any) -> Object:
    spec = {"image": "x", "params": {"n": 1}, "tasks": list(tasks), **fields}
    return manifest("Workflow", "run", spec)


def many(count: int) -> list[Object]:
    """500 tasks that share so many expressions."""
    return [task(f"t{n}", args={f"a{m}": f"${{params.n + {n * m}}}" for m in range(count // 500)}) for n in range(500)]


def text(count: int) -> str:
    return "".join(f"${{{number}}}" for number in range(count))


PLACES: dict[str, Object] = {
    "args": workflow(task(args={"a": text(LIMIT + 1)})),
    "args of a list of objects": workflow(task(args={"a": [{"b": [text(LIMIT + 1)]}]})),
    "kwargs": workflow({"name": "t", "trigger": {"class": "http", "kwargs": {"url": text(LIMIT + 1)}}}),
    "expand": workflow(task(expand=[{"name": "x", "over": [text(LIMIT + 1)]}])),
    "expandKwargs": workflow(task(expandKwargs=[{"x": text(LIMIT + 1)}])),
    "a group": workflow(task(group="g"), groups=[{"name": "g", "expand": [{"name": "x", "over": [text(LIMIT + 1)]}]}]),
    "a command": workflow({"name": "t", "container": {"args": [text(500)] * 9}}),
    "variables": workflow(task(pod={"env": [{"name": f"X{n}", "value": text(500)} for n in range(9)]})),
    "1.2 MB of tasks": workflow(*many(20_000)),
}


@pytest.mark.parametrize("place", PLACES)
def test_too_many_expressions_are_refused(server: Server, namespace: str, place: str) -> None:
    answer = server.create("workflows", namespace, PLACES[place])
    assert answer.status == 422, answer.message
    assert "expressions ${...}; the limit is 4000: compute values in a task" in answer.message


def test_a_template_and_a_schedule_are_refused_as_well(server: Server, namespace: str) -> None:
    inner = {"image": "x", "tasks": [task(args={"a": text(LIMIT + 1)})]}
    template = {"kind": "WorkflowTemplate", "spec": {"workflow": inner}}
    schedule = {"kind": "Schedule", "spec": {"sources": [{"name": "a", "cron": "0 0 * * *"}], "workflow": inner}}
    for resource, body in (("workflowtemplates", template), ("schedules", schedule)):
        whole = {"apiVersion": "torpor.dev/v1alpha1", "metadata": {"name": "x"}, **body}
        answer = server.create(resource, namespace, whole)
        assert "the limit is 4000" in answer.message, answer.message


def test_as_many_as_the_limit_are_admitted_within_the_cost(server: Server, namespace: str) -> None:
    server.create("workflows", namespace, workflow(*many(LIMIT))).expect(201)


def test_an_escaped_opening_is_no_expression(server: Server, namespace: str) -> None:
    script = task(args={"a": "$${HOME}" * (LIMIT + 1)})
    server.create("workflows", namespace, workflow(script)).expect(201)


def test_values_without_expressions_may_be_many(server: Server, namespace: str) -> None:
    values = task(args={f"a{n}": [f"value {m}" for m in range(200)] for n in range(60)})
    server.create("workflows", namespace, workflow(values)).expect(201)

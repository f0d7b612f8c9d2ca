"""The API server rejects arguments of containers that would steer a program, or that `pod.env` has too."""

from typing import Any

import pytest

from tests.integration.conftest import Server

pytestmark = pytest.mark.attack

STEERS = "task a: an argument sets a variable of a proxy or of npm: data must not set it; set it in pod.env"
TWICE = "task a: argument day is also in pod.env; remove one"
DAY = {"env": [{"name": "day", "value": "monday"}]}


def workflow(*tasks: dict[str, Any]) -> dict[str, Any]:
    metadata = {"name": "run"}
    spec = {"image": "x", "params": {"x": 1}, "tasks": list(tasks)}
    return {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "metadata": metadata, "spec": spec}


def container(name: str = "a", **fields: Any) -> dict[str, Any]:
    return {"name": name, "container": {}, **fields}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"args": {"http_proxy": "${params.x}"}}, STEERS),
        ({"args": {"npm_config_registry": "x"}}, STEERS),
        ({"expand": [{"name": "no_proxy", "over": [1]}]}, STEERS),
        ({"args": {"day": 1}, "pod": DAY}, TWICE),
        ({"expand": [{"name": "day", "over": [1]}], "pod": DAY}, TWICE),
    ],
)
def test_such_an_argument_of_a_container_is_rejected(
    server: Server, namespace: str, fields: dict[str, Any], said: str
) -> None:
    answer = server.create("workflows", namespace, workflow(container(**fields)))
    assert answer.status == 422, answer.message
    assert said in answer.message


def test_a_python_task_has_arguments_of_any_name(server: Server, namespace: str) -> None:
    task = {"name": "a", "python": "m:f", "args": {"http_proxy": 1, "day": 1}, "pod": DAY}
    server.create("workflows", namespace, workflow(task)).expect(201)


def test_the_check_stays_within_its_cost_for_the_most_arguments(server: Server, namespace: str) -> None:
    env = [{"name": f"V{n}"} for n in range(100)]
    arguments = {f"a{n}": n for n in range(64)}
    tasks = [container(f"t{n}", args=arguments, pod={"env": env}) for n in range(500)]
    server.create("workflows", namespace, workflow(*tasks)).expect(201)

"""The API server rejects a container whose program, script and result contradict each other."""

from typing import Any

import pytest

from tests.integration.conftest import Server


def workflow(*tasks: dict[str, Any]) -> dict[str, Any]:
    spec = {"image": "x", "params": {"x": 1}, "tasks": list(tasks)}
    return {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": "run"}, "spec": spec}


@pytest.mark.parametrize(
    ("container", "fields", "message"),
    [
        ({"script": "x", "command": ["x"]}, {}, "script and command are two forms of the program: remove one"),
        ({"interpreter": ["sh"]}, {}, "interpreter runs a script: set container.script"),
        ({"result": "stdout"}, {}, "container.result needs an explicit command or script"),
        ({"result": {"path": "/x"}, "args": ["x"]}, {}, "container.result needs an explicit command or script"),
        ({"result": "stderr", "command": ["x"]}, {}, "container.result is stdout, exitCode, or {path: /absolute/path}"),
        ({"result": {"path": "x"}, "command": ["x"]}, {}, "container.result is stdout, exitCode, or"),
        ({"result": {"path": "/x", "y": 1}, "command": ["x"]}, {}, "container.result is stdout, exitCode, or"),
        ({"result": {"path": 3}, "command": ["x"]}, {}, "container.result is stdout, exitCode, or"),
        ({"result": ["stdout"], "command": ["x"]}, {}, "container.result is stdout, exitCode, or"),
        ({"result": 3, "command": ["x"]}, {}, "container.result is stdout, exitCode, or"),
        ({"result": {"path": "/" + "x" * 1024}, "command": ["x"]}, {}, "container.result is stdout, exitCode, or"),
        ({"result": {"path": "/a\nb"}, "command": ["x"]}, {}, "container.result is stdout, exitCode, or"),
        ({"result": "stdout", "command": ["x"], "outcome": True}, {}, "a program with outcome or tools writes its"),
        ({"result": "exitCode", "tools": True}, {}, "a program with outcome or tools writes its result itself"),
        ({"env": [{"name": "a", "value": "1"}]}, {"args": {"a": 1}}, "argument a is also in container.env; remove one"),
        (
            {"env": [{"name": "a", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
            {},
            "a variable of container.env has value and valueFrom; remove one",
        ),
        ({"script": "x" * 16_385}, {}, "may not be more than 16384"),
    ],
)
def test_a_program_that_contradicts_itself_is_rejected(
    server: Server, namespace: str, container: dict[str, Any], fields: dict[str, Any], message: str
) -> None:
    answer = server.create("workflows", namespace, workflow({"name": "a", "container": container, **fields}))
    assert answer.status == 422, answer.message
    assert message in answer.message


ONE: dict[str, Any] = {"name": "one", "command": ["x"]}


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"steps": []}, "container.steps is empty"),
        ({"steps": [ONE], "command": ["x"]}, "container has steps, so command, args, env, script, result"),
        ({"steps": [ONE], "outcome": True}, "container has steps"),
        ({"steps": [ONE | {"name": "main"}]}, "a step cannot have the name main"),
        ({"steps": [ONE | {"name": "torpor-x"}]}, "a step cannot have the name main, or one that begins with torpor-"),
        ({"steps": [ONE, ONE]}, "Duplicate value"),
        ({"steps": [ONE | {"script": "x"}]}, "a step has a command, or a script with an interpreter"),
        ({"steps": [ONE | {"result": "exitCode"}]}, "the result of a step is stdout or {path: /absolute/path}"),
        ({"steps": [{"name": "one", "result": "stdout"}]}, "the result of a step needs an explicit command or script"),
    ],
)
def test_steps_that_contradict_themselves_are_rejected(
    server: Server, namespace: str, container: dict[str, Any], message: str
) -> None:
    answer = server.create("workflows", namespace, workflow({"name": "a", "container": container}))
    assert answer.status == 422, answer.message
    assert message in answer.message


def test_the_check_of_steps_stays_within_its_cost(server: Server, namespace: str) -> None:
    steps = [{"name": f"s{n}", "script": "x", "result": {"path": "/x"}} for n in range(16)]
    tasks = [{"name": f"t{n}", "container": {"steps": steps}} for n in range(300)]
    server.create("workflows", namespace, workflow(*tasks)).expect(201)


OTHER = {"name": "db", "image": "db:1"}


@pytest.mark.attack
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"sidecars": [OTHER | {"name": "main"}]}, "main is the container of the task"),
        ({"initContainers": [OTHER | {"name": "torpor-runtime"}]}, "names of Torpor begin with torpor-"),
        ({"initContainers": [OTHER], "sidecars": [OTHER]}, "an init container and a sidecar have the name db"),
        ({"sidecars": [OTHER, OTHER]}, "Duplicate value"),
        (
            {"sidecars": [OTHER | {"volumeMounts": [{"name": "torpor-credentials", "mountPath": "/t"}]}]},
            "container db mounts a volume of Torpor, which is for the task alone",
        ),
    ],
)
def test_a_container_that_takes_the_place_of_another_is_rejected(
    server: Server, namespace: str, fields: dict[str, Any], message: str
) -> None:
    answer = server.create("workflows", namespace, workflow({"name": "a", "python": "m:f", "pod": fields}))
    assert answer.status == 422, answer.message
    assert message in answer.message


def test_the_check_of_other_containers_stays_within_its_cost(server: Server, namespace: str) -> None:
    mounts = [{"name": f"v{n}", "mountPath": f"/{n}"} for n in range(20)]
    kinds = {
        kind: [{"name": f"{kind[0]}{n}", "image": "x", "volumeMounts": mounts} for n in range(8)] for kind in KINDS
    }
    tasks = [{"name": f"t{n}", "python": "m:f", "pod": kinds} for n in range(100)]
    server.create("workflows", namespace, workflow(*tasks)).expect(201)


KINDS = ("initContainers", "sidecars")


@pytest.mark.parametrize(
    "container",
    [
        {"script": "echo 1", "args": ["x"], "result": "stdout"},
        {"script": "print(1)", "interpreter": ["python3"], "result": {"path": "/tmp/o"}},
        {"result": "exitCode"},
        {"command": ["x"], "result": "stdout", "env": [{"name": "PATH_IN", "value": "${params.x}"}]},
    ],
)
def test_each_form_of_a_program_is_admitted(server: Server, namespace: str, container: dict[str, Any]) -> None:
    server.create("workflows", namespace, workflow({"name": "a", "container": container})).expect(201)


def test_the_check_stays_within_its_cost_for_the_most_variables(server: Server, namespace: str) -> None:
    env = [{"name": f"V{n}"} for n in range(64)]
    arguments = {f"a{n}": n for n in range(64)}
    expand = [{"name": f"e{n}", "over": [1]} for n in range(8)]
    program = {"script": "x", "env": env, "result": {"path": "/x"}}
    tasks = [{"name": f"t{n}", "container": program, "args": arguments, "expand": expand} for n in range(200)]
    server.create("workflows", namespace, workflow(*tasks)).expect(201)

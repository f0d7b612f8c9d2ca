"""The API server rejects files that no pod could have."""

from typing import Any

import pytest

from tests.integration.conftest import Server

TEXT = {"text": "x"}
OUT = [{"name": "x", "path": "/tmp/x"}]


def workflow(**task: Any) -> dict[str, Any]:
    body = {} if "python" in task or "trigger" in task else {"container": {"command": ["true"]}}
    return {
        "apiVersion": "torpor.dev/v1alpha1",
        "kind": "Workflow",
        "metadata": {"name": "run"},
        "spec": {"image": "x", "tasks": [{"name": "a", **body, **task}]},
    }


def inputs(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"in": [{"name": f"x{number}", "from": TEXT} | entry for number, entry in enumerate(entries)]}


@pytest.mark.parametrize(
    ("task", "said"),
    [
        ({"files": inputs({"from": {}})}, "exactly one of task, text, configMap and http"),
        ({"files": inputs({"from": {"text": "x", "configMap": {"name": "c"}}})}, "exactly one of task, text"),
        ({"files": inputs({"from": {"task": "b"}})}, "from.task and from.file belong together"),
        ({"files": inputs({"from": {"text": "x", "file": "y"}})}, "from.task and from.file belong together"),
        ({"files": {"out": OUT}, "container": {"args": ["x"]}}, "files.out needs container.command or script"),
        (
            {"files": {"out": OUT}, "container": {"steps": [{"name": "a", "command": ["x"]}, {"name": "b"}]}},
            "files.out needs container.command or script",
        ),
        ({"files": {"out": OUT}, "trigger": {"class": "time"}}, "files are for tasks with a pod"),
        ({"files": {"out": [*OUT, *OUT]}}, "Duplicate value"),
        ({"files": {"out": [{"name": "x", "path": "/tmp/x", "compress": "zip"}]}}, "Unsupported value"),
    ],
)
def test_such_files_are_rejected(server: Server, namespace: str, task: dict[str, Any], said: str) -> None:
    answer = server.create("workflows", namespace, workflow(**task))
    assert answer.status == 422, answer.message
    assert said in answer.message


def test_the_last_of_several_steps_stores_the_outputs(server: Server, namespace: str) -> None:
    steps = [{"name": "one"}, {"name": "two", "command": ["run"]}]
    body = workflow(files={"out": OUT}, container={"steps": steps})
    server.create("workflows", namespace, body).expect(201)


@pytest.mark.attack
@pytest.mark.parametrize(
    "path",
    ["/", "relative", "/a/../etc", "/..", "/a/./b", "/a//b", "/a/", "/a:b", "/a\nb", "/.", "/a/..", "/a\x01b"],
)
def test_a_path_of_files_is_absolute_and_in_its_shortest_form(server: Server, namespace: str, path: str) -> None:
    for files in (inputs({"path": path}), {"out": [{"name": "x", "path": path}]}):
        answer = server.create("workflows", namespace, workflow(files=files))
        assert answer.status == 422, (path, answer.message)


def test_valid_files_are_accepted(server: Server, namespace: str) -> None:
    entries = ({"path": "/data/a b/ü"}, {"path": "/.x/..y/..."}, {"from": {"configMap": {"name": "c", "key": "k.txt"}}})
    server.create("workflows", namespace, workflow(files=inputs(*entries) | {"out": OUT})).expect(201)


def test_the_check_stays_within_its_cost_for_the_most_files(server: Server, namespace: str) -> None:
    files = {
        "in": [{"name": f"in{n}", "from": TEXT, "path": f"/data/{'x' * 60}{n}"} for n in range(16)],
        "out": [{"name": f"out{n}", "path": f"/tmp/{'x' * 60}{n}"} for n in range(16)],
    }
    body = workflow(files=files)
    (task,) = body["spec"]["tasks"]
    body["spec"]["tasks"] = [task | {"name": f"t{n}"} for n in range(300)]
    server.create("workflows", namespace, body).expect(201)

"""What the policies reject in bodies and in tasks that use them: the rules hold for complete tasks."""

import json
from typing import Any

import pytest

from tests.integration.conftest import Server
from tests.integration.policies.admission.test_change import merge
from tests.support.manifests import manifest

_SHELL = {"image": "busybox", "container": {"command": ["sh", "-c", "true"]}}
_PRIVILEGED = {"securityContext": {"privileged": True}}


def workflow(*tasks: dict[str, Any], **bodies: Any) -> dict[str, Any]:
    return manifest("Workflow", "run", {"bodies": bodies, "tasks": list(tasks)})


ADMITTED: dict[str, dict[str, Any]] = {
    "a body with a program": workflow({"name": "a", "use": "shell"}, shell=_SHELL),
    "a reference as an object": workflow({"name": "a", "use": {"body": "shell"}}, shell=_SHELL),
    "a body without a program": workflow({"name": "a", "use": "patient"} | _SHELL, patient={"timeout": "1h"}),
    "a body of a template": workflow(
        {"name": "a", "use": {"template": "platform", "body": "load"}, "retries": {"when": "exitCode == 3"}},
        {"name": "b", "use": {"template": "platform", "task": "load"}, "after": ["a"]},
    ),
    "a task that completes its body": workflow(
        {"name": "a", "use": "part", "container": {"result": "stdout"}, "retries": {"when": "exitCode == 3"}},
        part={"image": "busybox", "container": {"script": "date"}, "retries": {"limit": 2}},
    ),
}
REJECTED: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown body": (
        workflow({"name": "a", "use": "shel"}, shell=_SHELL),
        "task a: `use` names shel: no such body; bodies: shell",
    ),
    "a list as the name of a body": (
        workflow({"name": "a", "use": ["shell"]}, shell=_SHELL),
        "task a: `use` is the name of a body in `bodies`, or an object",
    ),
    "a number as the name of a body": (
        workflow({"name": "a", "use": 5}, shell=_SHELL),
        "task a: `use` is the name of a body in `bodies`, or an object",
    ),
    "no bodies": (workflow({"name": "a", "use": "shell"}), "task a: `use` names shell: no such body; bodies: none"),
    "a body without a program, and a task without one": (
        workflow({"name": "a", "use": "patient"}, patient={"timeout": "1h"}),
        "task a: a task has exactly one body",
    ),
    "a program of the task beside that of its body": (
        workflow({"name": "a", "use": "shell", "python": "m:f"}, shell=_SHELL),
        "task a: a task has exactly one body",
    ),
    "privileges of a body": (
        workflow({"name": "a", "use": "shell"}, shell=_SHELL | {"pod": _PRIVILEGED}),
        "task a: pod.securityContext.privileged needs Pod Security level privileged",
    ),
    "privileges of a task that merges them with its body": (
        workflow({"name": "a", "use": "shell", "pod": _PRIVILEGED}, shell=_SHELL | {"pod": {"labels": {"a": "b"}}}),
        "task a: pod.securityContext.privileged needs Pod Security level privileged",
    ),
    "a name that expressions could not have": (
        workflow(_SHELL | {"name": "a"}, **{"my-body": _SHELL}),
        'body "my-body"',
    ),
    "neither a body nor a task of a template": (
        workflow({"name": "a", "use": {"template": "platform"}}),
        "task a: `use` of a template has exactly one of body and task",
    ),
    "a task of no template": (
        workflow({"name": "a", "use": {"task": "b"}}),
        "task a: `use` is the name of a body in `bodies`, or has a template with body or task",
    ),
    "an unknown upstream task of a task with a body of a template": (
        workflow({"name": "a", "use": {"template": "platform", "body": "b"}, "after": ["c"]}),
        "task a: `after` names c: no such task or group",
    ),
    "arguments that nest too deep": (
        workflow({"name": "a", "use": "deep"}, deep=_SHELL | {"args": {"x": json.loads("[" * 22 + "]" * 22)}}),
        "may nest lists and objects at most 20 levels deep",
    ),
}


@pytest.mark.parametrize("case", ADMITTED)
def test_a_task_with_a_body_is_admitted(server: Server, namespace: str, case: str) -> None:
    server.create("workflows", namespace, ADMITTED[case]).expect(201)


def test_a_template_may_have_bodies_alone(server: Server, namespace: str) -> None:
    template = manifest("WorkflowTemplate", "platform", {"workflow": {"bodies": {"shell": _SHELL}}})
    server.create("workflowtemplates", namespace, template).expect(201)
    empty = manifest("WorkflowTemplate", "empty", {"workflow": {"bodies": {}}})
    assert "spec.workflow: set tasks" in server.create("workflowtemplates", namespace, empty).message


@pytest.mark.attack
@pytest.mark.parametrize("case", REJECTED)
def test_a_body_gives_a_task_nothing_that_it_may_not_have(server: Server, namespace: str, case: str) -> None:
    body, message = REJECTED[case]
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422, answer.message
    assert message in answer.message


@pytest.mark.attack
@pytest.mark.parametrize(
    "spec",
    [{"bodies": {"shell": _SHELL | {"image": "other"}}}, {"tasks": [{"name": "a", "use": "shell"} | _SHELL]}],
    ids=["the body", "the task"],
)
def test_a_user_cannot_change_a_body(server: Server, namespace: str, spec: dict[str, Any]) -> None:
    server.create("workflows", namespace, ADMITTED["a body with a program"]).expect(201)
    answer = merge(server, namespace, {"spec": spec})
    assert answer.status == 422
    assert "cannot change: a Workflow is one run" in answer.message


def test_five_hundred_tasks_with_a_body_are_within_the_limits(server: Server, namespace: str) -> None:
    pod = {"env": [{"name": f"V{n}", "value": "x"} for n in range(20)], "labels": {f"l{n}": "x" for n in range(20)}}
    tasks = [{"name": f"t{n}", "use": "shell", "args": {"n": n}, "pod": {"labels": {"a": "b"}}} for n in range(500)]
    server.create("workflows", namespace, workflow(*tasks, shell=_SHELL | {"pod": pod})).expect(201)

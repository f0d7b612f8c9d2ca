"""What the policies reject in a WorkflowTemplate, and in the spec of a Workflow within another kind."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import Answer, Server
from tests.integration.policies.admission.test_admission import REJECTED as INVALID_WORKFLOWS
from tests.support.builders import Body
from tests.support.manifests import manifest
from tests.support.templates import cases as template_cases
from tests.support.templates.cases import DECLARED

_TRIGGER = {"name": "a", "trigger": {"class": "time"}}
_MERGE = "application/merge-patch+json"


def create(server: Server, namespace: str, body: Body) -> Answer:
    return server.create("workflowtemplates", namespace, body)


def schedule(**spec: Any) -> Body:
    return manifest("Schedule", "nightly", {"sources": [{"name": "night", "cron": "0 2 * * *"}], **spec})


def deep(levels: int) -> Any:
    """A list nested this deep."""
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_a_template_with_every_type_is_admitted(server: Server, namespace: str) -> None:
    create(server, namespace, template_cases.template()).expect(201)


@pytest.mark.parametrize("case", DECLARED)
def test_a_parameter_that_contradicts_itself_is_rejected(server: Server, namespace: str, case: str) -> None:
    parameter, message = DECLARED[case]
    answer = create(server, namespace, template_cases.template([{"name": "ok"}, parameter]))
    assert answer.status == 422, answer.message
    assert message in answer.message


def test_an_invalid_pattern_is_rejected(server: Server, namespace: str) -> None:
    answer = create(server, namespace, template_cases.template([{"name": "p", "pattern": "[a"}]))
    assert answer.status == 422
    assert "missing closing ]: `[a`" in answer.message


def test_more_params_than_a_run_may_have_are_rejected(server: Server, namespace: str) -> None:
    workflow = template_cases.WORKFLOW | {"params": {f"c{n}": n for n in range(10)}}
    full = template_cases.template([{"name": f"p{n}"} for n in range(54)], workflow)
    create(server, namespace, full).expect(201)
    answer = create(server, namespace, template_cases.template([{"name": f"p{n}"} for n in range(55)], workflow))
    assert "more than 64 params together" in answer.message


def test_the_policy_stays_within_its_cost_for_the_largest_template(server: Server, namespace: str) -> None:
    enum = [f"value-{n}" for n in range(100)]
    params = [{"name": f"p{n}", "enum": enum, "pattern": "[a-z]+-[0-9]+", "default": enum[-1]} for n in range(63)]
    create(server, namespace, template_cases.template(params)).expect(201)


KINDS: dict[str, Callable[[Body], Body]] = {
    "workflowtemplates": lambda workflow: template_cases.template([], workflow),
    "schedules": lambda workflow: schedule(workflow=workflow),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "case",
    [
        "a param with a dash",
        "after an unknown task",
        "a cycle of two groups",
        "mapped over a text",
        "two bodies",
        "no image",
        "a host path",
    ],
)
def test_an_embedded_workflow_is_validated(server: Server, namespace: str, kind: str, case: str) -> None:
    body, message = INVALID_WORKFLOWS[case]
    answer = server.create(kind, namespace, KINDS[kind](body["spec"]))
    assert answer.status == 422, answer.message
    assert "torpor-workflow" in answer.message
    assert message in answer.message


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("workflow", "message"),
    [
        ({"params": {"a": 1}}, "spec.workflow: set tasks"),
        (
            {"tasks": [_TRIGGER], "templateRef": {"name": "x"}},
            "spec.workflow: templateRef, runOf and parent are fields of a run",
        ),
        (
            {"tasks": [_TRIGGER], "runOf": {"schedule": "s", "uid": "u", "at": "2026-11-01T00:00:00Z"}},
            "spec.workflow: templateRef, runOf and parent are fields of a run; remove them",
        ),
        *(
            ({"tasks": [_TRIGGER], field: True}, "spec.workflow: suspend, stop and cancel are fields of a run")
            for field in ("suspend", "stop", "cancel")
        ),
    ],
    ids=str,
)
def test_an_embedded_workflow_has_tasks_and_no_fields_of_a_run(
    server: Server, namespace: str, kind: str, workflow: Body, message: str
) -> None:
    answer = server.create(kind, namespace, KINDS[kind](workflow))
    assert answer.status == 422, answer.message
    assert message in answer.message


@pytest.mark.parametrize("kind", KINDS)
def test_an_edit_of_an_embedded_workflow_is_validated(server: Server, namespace: str, kind: str) -> None:
    body = KINDS[kind]({"tasks": [_TRIGGER]})
    server.create(kind, namespace, body).expect(201)
    path = f"/apis/torpor.dev/v1alpha1/namespaces/{namespace}/{kind}/nightly"
    patch = {"spec": {"workflow": {"tasks": [_TRIGGER | {"after": ["b"]}]}}}
    answer = server.request("PATCH", path, patch, content_type=_MERGE)
    assert "task a: `after` names b: no such task or group" in answer.message
    answer = server.request("PATCH", path, {"spec": {"workflow": {"stop": True}}}, content_type=_MERGE)
    assert "suspend, stop and cancel are fields of a run" in answer.message


def test_names_of_the_params_of_a_schedule_are_validated(server: Server, namespace: str) -> None:
    body = schedule(templateRef={"name": "x"}, params={"my-day": 1})
    assert 'param "my-day" is not an identifier' in server.create("schedules", namespace, body).message


def test_a_schedule_of_a_template_is_admitted(server: Server, namespace: str) -> None:
    body = schedule(templateRef={"name": "x"}, params={"day": "${at}"})
    server.create("schedules", namespace, body).expect(201)


_TOO_DEEP = "may nest lists and objects at most 20 levels deep"


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("workflowtemplates", template_cases.template([{"name": "p", "type": "array", "default": deep(21)}])),
        ("workflowtemplates", template_cases.template([{"name": "p", "type": "array", "enum": [deep(21)]}])),
        ("workflowtemplates", template_cases.template([], {"tasks": [_TRIGGER], "params": {"p": deep(21)}})),
        ("schedules", schedule(templateRef={"name": "x"}, params={"p": deep(21)})),
        ("schedules", schedule(workflow={"tasks": [_TRIGGER], "params": {"p": deep(21)}})),
        (
            "schedules",
            schedule(
                templateRef={"name": "x"},
                sources=[{"name": "s", "trigger": {"class": "http", "kwargs": {"p": deep(21)}}}],
            ),
        ),
    ],
    ids=["default", "enum", "constant", "params of a Schedule", "params of its workflow", "kwargs of a source"],
)
def test_values_that_are_nested_too_deep_are_rejected(server: Server, namespace: str, kind: str, body: Body) -> None:
    answer = server.create(kind, namespace, body)
    assert answer.status == 422
    assert _TOO_DEEP in answer.message

"""What the API server rejects, lint finds with the same message. The integration tests compare with a real server."""

from typing import Any

import pytest
from torpor_cli.linting import bundled, cel_rules
from torpor_cli.linting.finding import LintRule, Severity

from tests.integration.crds.test_schema import REFUSED
from tests.integration.policies.admission.test_admission import ADMITTED, REJECTED
from tests.support.manifests import manifest
from tests.unit.cli.linting.findings import lint, messages

# The server ignores the field; lint reports it as strict decoding does.
_STRICT = {"a host path": 'unknown field "spec.tasks[0].pod.volumes[0].hostPath"'}


def with_tasks(body: dict[str, Any]) -> dict[str, Any]:
    """A Workflow of the policy tests whose params exist and whose groups have tasks, as the operator requires."""
    spec = body["spec"]
    grouped = {task.get("group") for task in spec["tasks"]} | {group.get("in") for group in spec.get("groups", ())}
    fillers = [
        {"name": f"fill_{n}", "python": "m:f", "image": "x", "group": group["name"]}
        for n, group in enumerate(spec.get("groups", ()))
        if group["name"] not in grouped
    ]
    params = {"x": [1], "y": [1]} | spec.get("params", {})
    tasks = [time_given(task) for task in spec["tasks"]] + fillers
    return body | {"spec": spec | {"tasks": tasks, "params": params}}


def time_given(task: dict[str, Any]) -> dict[str, Any]:
    if task.get("trigger") != {"class": "time"}:
        return task
    return task | {"trigger": {"class": "time", "kwargs": {"at": "2026-11-20T00:00:00Z"}}}


@pytest.mark.parametrize("case", REFUSED)
def test_lint_finds_what_the_schema_refuses(case: str) -> None:
    body, expected = REFUSED[case]
    problems = messages(body)
    assert any(expected in message for message in problems), problems


@pytest.mark.parametrize("case", REJECTED)
def test_lint_finds_what_the_policies_reject(case: str) -> None:
    body, expected = REJECTED[case]
    problems = messages(body)
    assert any(expected in message for message in problems), problems
    assert _STRICT.get(case, "") in "\n".join(problems)


@pytest.mark.parametrize("case", ADMITTED)
def test_lint_has_no_error_in_what_the_policies_admit(case: str) -> None:
    assert [problem.message for problem in lint(with_tasks(ADMITTED[case])) if problem.severity is Severity.ERROR] == []


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("pyton", "python"),
        ("env", 'container.env" or "pod.env'),
        ("displayname", "displayName"),
        ("colour", ""),
        ("depends", "after"),
        ("synchronization", "pool"),
    ],
)
def test_an_unknown_field_names_the_one_that_is_meant(field: str, meant: str) -> None:
    task = {"name": "a", "python": "m:f", "image": "x", field: None}
    body = REFUSED["no tasks"][0] | {"spec": {"tasks": [task]}}
    hint = f'; did you mean "{meant}"?' if meant else ""
    assert [problem.message for problem in lint(body)] == [f'unknown field "spec.tasks[0].{field}"{hint}']


def test_a_group_in_itself_is_one_problem() -> None:
    body, _ = REJECTED["a group in itself"]
    messages = [problem.message for problem in lint(body) if problem.path == "spec.groups[0].in"]
    assert messages == ["group land contains itself: land in land; remove one `in`"]


def test_every_validation_of_the_policies_names_the_field_that_it_concerns() -> None:
    validations = [validation for policy in bundled.creation_policies() for validation in policy["spec"]["validations"]]
    names = {cel_rules.variable_of(validation["expression"]) for validation in validations}
    # torpor-clear concerns an annotation, torpor-origin the whole spec, and torpor-workflow names the field itself.
    assert names == {"", "invalidEntries", "unknownTasks", "fieldsOfTemplate", "tooDeep", "problems"} | {
        "ambiguousSources",
        "ambiguousTriggers",
        "ambiguousTasks",
    }


def test_every_item_that_is_wrong_is_reported_at_its_place() -> None:
    tasks = [{"name": name, "python": "m:f", "image": "x", "after": ["lost"]} for name in ("a", "b")]
    body = manifest("Workflow", "x", {"tasks": tasks})
    assert [(problem.path, problem.message) for problem in lint(body)] == [
        ("spec.tasks[0].after", "task a: `after` names lost: no such task or group"),
        ("spec.tasks[1].after", "task b: `after` names lost: no such task or group"),
    ]


@pytest.mark.parametrize(
    ("case", "field"),
    [
        ("a param with a dash", "spec.params.my-day"),
        ("a param named n", "spec.params"),
        ("neither tasks nor a template", "spec.tasks"),
        ("an image for a trigger", "spec.tasks[0].image"),
        ("no body", "spec.tasks[0]"),
        ("a host path", "spec.tasks[0].pod.volumes"),
        ("an argument named y", "spec.tasks[1].args"),
        ("a header that the client owns", "spec.tasks[0].trigger.kwargs.headers"),
        ("a group named as a task", "spec.groups[1].name"),
        ("a group in an unknown group", "spec.groups[1].in"),
        ("after its own group", "spec.tasks[1].after"),
    ],
)
def test_a_rule_of_a_policy_is_reported_at_the_field_that_it_names(case: str, field: str) -> None:
    body, expected = REJECTED[case]
    paths = [problem.path for problem in lint(body) if problem.rule is LintRule.POLICY and expected in problem.message]
    assert paths == [field]

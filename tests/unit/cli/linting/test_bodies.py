"""Lint of bodies: what the policies reject, and problems at the place where the field is written."""

from typing import Any

import pytest
from torpor_cli.linting.finding import Severity

from tests.integration.policies.admission.templates.test_bodies import ADMITTED, REJECTED
from tests.support.manifests import manifest
from tests.unit.cli.linting.findings import lint, messages

_OF_THE_NAMESPACE = {"privileges of a body", "privileges of a task that merges them with its body"}


@pytest.mark.parametrize("case", sorted(REJECTED.keys() - _OF_THE_NAMESPACE))
def test_lint_finds_what_the_policies_reject_in_bodies(case: str) -> None:
    body, expected = REJECTED[case]
    assert any(expected in message for message in messages(body))


@pytest.mark.parametrize("case", ADMITTED)
def test_lint_has_no_error_in_bodies_that_the_policies_admit(case: str) -> None:
    assert [problem.message for problem in lint(ADMITTED[case]) if problem.severity is Severity.ERROR] == []


def places(tasks: list[dict[str, Any]], kind: str = "Workflow", **bodies: Any) -> dict[str, str]:
    spec = {"image": "x", "bodies": bodies, "tasks": tasks}
    body = manifest(kind, "a", spec if kind == "Workflow" else {"workflow": spec})
    return {problem.path: problem.message for problem in lint(body)}


def test_a_problem_of_a_body_is_reported_in_the_body() -> None:
    found = places(
        [{"name": "a", "use": "shell", "args": {"x": "${params.y}"}}, {"name": "b", "use": "wait"}],
        shell={"container": {"script": "echo ${params.z}"}},
        wait={"trigger": {"class": "duration", "kwargs": {"secs": 1}}},
    )
    assert set(found) == {
        "spec.tasks[0].args.x",
        "spec.bodies.shell.container.script",
        "spec.bodies.wait.trigger.kwargs",
    }


def test_a_body_that_no_task_uses_is_a_warning() -> None:
    task = {"name": "a", "container": {}}
    assert places([task], spare={"timeout": "1h"}) == {"spec.bodies.spare": "body spare: no task uses it"}
    assert places([task], "WorkflowTemplate", spare={"timeout": "1h"}) == {}


def test_a_body_cannot_use_a_body() -> None:
    found = places([{"name": "a", "use": "b", "container": {}}], b={"use": "c"})
    assert found == {"spec.bodies.b.use": 'unknown field "spec.bodies.b.use"'}

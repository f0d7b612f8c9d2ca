"""What the API server rejects in a Schedule, a Backfill and a WorkflowTemplate, lint finds with the same message."""

from typing import Any

import pytest
from torpor_cli.linting import bundled, cel_rules
from torpor_cli.linting.finding import Severity

from tests.integration.policies.admission.schedules import test_backfill, test_schedule
from tests.support.templates import cases as template_cases
from tests.unit.cli.linting.findings import lint, messages

# The server rejects null as a value that has no type; in lint it counts as a missing value.
REJECTED: dict[str, tuple[Any, str]] = {
    **{f"schedule: {case}": rejected for case, rejected in test_schedule.REJECTED.items()},
    **{
        f"cron {expression!r}": (test_schedule.schedule(test_schedule.cron(expression)), message)
        for expression, message in test_schedule.REJECTED_CRON.items()
    },
    **{f"backfill: {case}": rejected for case, rejected in test_backfill.REJECTED.items()},
    **{
        f"template: {case}": (template_cases.template([parameter]), message)
        for case, (parameter, message) in template_cases.DECLARED.items()
    },
}


@pytest.mark.parametrize("case", REJECTED)
def test_lint_finds_what_the_api_server_rejects(case: str) -> None:
    body, message = REJECTED[case]
    problems = messages(body)
    assert any(message in text for text in problems), problems


@pytest.mark.parametrize("expression", test_schedule.ADMITTED_CRON)
def test_lint_accepts_a_cron_expression_that_the_api_server_admits(expression: str) -> None:
    tasks = {"tasks": [{"name": "a", "python": "m:f", "image": "x"}]}
    problems = lint(test_schedule.schedule(test_schedule.cron(expression), workflow=tasks))
    assert [problem for problem in problems if problem.severity is Severity.ERROR] == []


def test_every_validation_names_the_field_that_it_concerns() -> None:
    places = {
        cel_rules.variable_of(validation["expression"])
        for plural in ("workflowtemplates", "schedules", "backfills")
        for policy in bundled.creation_policies(plural)
        for validation in policy["spec"]["validations"]
    }
    known = cel_rules.PARAM_VARIABLES | set(cel_rules.SOURCE_FIELDS)
    assert places - known == {"", "ambiguousTasks", "booleanNames", "problems", "tooDeep"}
    assert places >= cel_rules.PARAM_VARIABLES
    assert set(cel_rules.SOURCE_FIELDS) <= places

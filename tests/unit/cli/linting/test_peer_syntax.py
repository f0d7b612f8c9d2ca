"""Expressions of Argo, Tekton and Airflow in a manifest are warnings, with the form that Torpor has."""

from typing import Any

import pytest
from torpor_cli.linting import peer_syntax
from torpor_cli.linting.finding import LintRule, Severity

from tests.support.manifests import manifest
from tests.unit.cli.linting.findings import lint

FORMS = {
    "{{inputs.parameters.day}}": "${params.day}",
    "{{ workflow.parameters.log-level }}": "${params.log_level}",
    "{{tasks.load-all.outputs.result}}": "${tasks.load_all.result}",
    "{{steps.list.outputs.parameters.paths}}": "${tasks.list.result}",
    "{{tasks.a.status}}": "${tasks.a.state}",
    "{{item}}": "${mapping.value}",
    "{{item.path}}": "${mapping.value.path}",
    "{{workflow.name}}": "${run.name}",
    "{{workflow.status}}": "${run.state}",
    "{{ params.day }}": "${params.day}",
    "{{ ds }}": "${run.at}",
    "$(params.day)": "${params.day}",
    "$(params.flags[*])": "${params.flags}",
    "$(params['day'])": "${params.day}",
    "$(tasks.build.results.digest)": "${tasks.build.result.digest}",
    "$(tasks.status)": "${run.state}",
    "$(context.pipelineRun.name)": "${run.name}",
}
OTHERS = ("{{=sprig.trim(inputs.parameters.x)}}", "{{ ti.xcom_pull('a') }}", "$(workspaces.source.path)")
"""Expressions without a single form in Torpor."""
NONE = (
    "$(path)",
    "$(date)",
    "${params.x}",
    "$${HOME}",
    "docker inspect --format '{{.Id}}'",
    "$((1 + 2))",
    "{}",
    "{{}}",
)


@pytest.mark.parametrize("written", FORMS)
def test_an_expression_of_another_engine_names_the_form_of_torpor(written: str) -> None:
    (problem,) = peer_syntax.problems(f"a {written} b", ("spec",))
    assert (
        problem.message
        == f"{written} is not evaluated, since it is not an expression of Torpor; write {FORMS[written]}"
    )
    assert (problem.severity, problem.rule) == (Severity.WARNING, LintRule.PEER_SYNTAX)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("spec", "tasks", 0, "when"), "tasks.flip.result, with texts in quotes"),
        (("spec", "tasks", 0, "retries", "when"), "tasks.flip.result, with texts in quotes"),
        (("spec", "when"), "tasks.flip.result, with texts in quotes"),
        (("spec", "tasks", 0, "args", "when"), "${tasks.flip.result}"),
    ],
)
def test_a_field_that_is_one_expression_has_no_braces(path: tuple[str | int, ...], expected: str) -> None:
    (problem,) = peer_syntax.problems("{{tasks.flip.outputs.result}} == heads", path)
    assert problem.message.endswith(f"; write {expected}")


@pytest.mark.parametrize("written", OTHERS)
def test_an_expression_without_a_form_names_the_reference(written: str) -> None:
    (problem,) = peer_syntax.problems([written], ("spec",))
    assert problem.message.endswith("write ${...}, see docs/reference/expressions.md")


@pytest.mark.parametrize("text", NONE)
def test_texts_of_shells_and_of_torpor_are_no_expressions_of_others(text: str) -> None:
    assert list(peer_syntax.problems({"x": text}, ())) == []


@pytest.mark.parametrize(
    "field", [{"command": ["{{item}}"]}, {"script": "echo {{item}}"}, {"env": [{"name": "A", "value": "{{item}}"}]}]
)
def test_lint_warns_at_the_field(field: dict[str, Any]) -> None:
    task = {"name": "a", "image": "busybox:1.37", "container": field}
    findings = lint(manifest("Workflow", "run", {"tasks": [task]}))
    assert [(finding.rule, finding.severity) for finding in findings] == [(LintRule.PEER_SYNTAX, Severity.WARNING)]
    assert findings[0].path.startswith(f"spec.tasks[0].container.{next(iter(field))}")


@pytest.mark.attack
@pytest.mark.parametrize(
    "text", ["{{" + " " * 100_000, "{{a" * 50_000, "$(params." * 50_000, "{{a" + " " * 100_000 + "}}"]
)
def test_a_long_text_without_an_end_has_no_match(text: str) -> None:
    assert list(peer_syntax.problems(text, ())) == []


def test_arguments_of_an_operator_are_rendered_by_it() -> None:
    args = {"operator": "pkg.SomeOperator", "arguments": {"query": "day = {{ ds }}"}}
    assert list(peer_syntax.problems({"args": args}, ())) == []
    assert [problem.path for problem in peer_syntax.problems({"args": {"arguments": "{{ ds }}"}}, ())] == [
        ("args", "arguments")
    ]

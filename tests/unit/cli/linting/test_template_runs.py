"""Params of runs against their template in the same file."""

from collections.abc import Sequence

import pytest

from tests.unit.cli.linting.findings import lint_text

TEMPLATE = """\
apiVersion: torpor.dev/v1alpha1
kind: WorkflowTemplate
metadata: {name: load}
spec:
  params:
  - {name: city, required: true}
  - {name: rows, type: integer, default: 10}
  - {name: mode, enum: [full, delta], default: full}
  workflow:
    image: i:1
    params: {bucket: b}
    tasks:
    - {name: a, python: "m:f", args: {city: "${params.city}"}}
---
"""
RUN = """\
apiVersion: torpor.dev/v1alpha1
kind: Workflow
metadata: {name: run}
spec:
  tasks:
  - name: load
    run: {templateRef: {name: load}%s}
    %s
"""


def messages(text: str) -> Sequence[tuple[str, str]]:
    return [(finding.path, finding.message) for finding in lint_text(text)]


@pytest.mark.parametrize(
    ("params", "more"),
    [
        (", params: {city: Rome}", ""),
        (", params: {city: Rome, rows: 5, mode: delta}", ""),
        (', params: {city: "${params.x}", rows: "${params.x}", mode: "${params.x}"}', "displayName: x"),
        ("", "expand: [{name: city, over: [Rome, Oslo]}]"),
        ("", 'expandKwargs: "${params.x}"'),
    ],
)
def test_params_that_fit_have_no_finding(params: str, more: str) -> None:
    text = TEMPLATE + (RUN % (params, more)).replace("spec:\n", "spec:\n  params: {x: 1}\n")
    assert messages(text) == []


@pytest.mark.parametrize(
    ("params", "more", "path", "message"),
    [
        ("", "", "", "param city is missing: template load requires it"),
        (", params: {city: Rome, rwos: 5}", "", ".params.rwos", "there is no param 'rwos'; did you mean rows?"),
        (", params: {city: Rome, rows: many}", "", ".params.rows", 'param rows must be an integer, not "many"'),
        (
            ", params: {city: Rome, mode: fast}",
            "",
            ".params.mode",
            'param mode must be one of "full", "delta", not "fast"',
        ),
        (
            ", params: {city: Rome, bucket: c}",
            "",
            ".params.bucket",
            "param bucket cannot be set: it is a constant of template load",
        ),
        (
            ", params: {city: Rome}",
            "expand: [{name: rwos, over: [1]}]",
            "",
            "there is no param 'rwos'; did you mean rows?",
        ),
    ],
)
def test_a_param_that_does_not_fit_is_a_finding(params: str, more: str, path: str, message: str) -> None:
    assert messages(TEMPLATE + RUN % (params, more)) == [(f"spec.tasks[0].run{path}", message)]


def test_a_run_of_a_template_is_checked_as_well() -> None:
    head = "apiVersion: torpor.dev/v1alpha1\nkind: Workflow\nmetadata: {name: run}\nspec:\n"
    text = TEMPLATE + head + "  templateRef: {name: load}\n  params: {city: 5}\n"
    assert messages(text) == [("spec.params.city", "param city must be a string, not 5")]


def test_a_template_of_another_kind_or_file_is_not_compared() -> None:
    run = RUN % (", params: {any: 1}", "")
    assert messages(run) == []
    assert messages(TEMPLATE + run.replace("{name: load}", "{kind: ClusterWorkflowTemplate, name: load}")) == []


@pytest.mark.attack
@pytest.mark.parametrize(
    "spec",
    [
        "7",
        "{workflow: 7}",
        "{params: 7, workflow: {}}",
        "{params: [7], workflow: {}}",
        "{params: [{name: city, enum: 7}], workflow: {}}",
    ],
)
def test_a_template_that_cannot_be_read_is_not_compared(spec: str) -> None:
    head = "apiVersion: torpor.dev/v1alpha1\nkind: WorkflowTemplate\nmetadata: {name: load}\n"
    found = messages(f"{head}spec: {spec}\n---\n" + RUN % ("", ""))
    assert not [message for path, message in found if "run" in path]

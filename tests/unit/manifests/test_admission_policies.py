"""Which writes of a Workflow each policy checks: a new rule must not block a run that an older policy admitted."""

import ast
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_crds.crdgen import definitions

_POLICIES = Path(__file__).resolve().parents[3] / "manifests/base/policies"


def operations(file: str) -> list[str]:
    """The operations that the policy of this file checks."""
    policy: dict[str, Any] = next(iter(yaml.safe_load_all((_POLICIES / file).read_text())))
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    operations: list[str] = rule["operations"]
    return operations


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("workflow.yaml", ["CREATE", "UPDATE"]),
        ("change.yaml", ["UPDATE"]),
        ("origin.yaml", ["CREATE"]),
        ("params.yaml", ["CREATE"]),
        ("template.yaml", ["CREATE", "UPDATE"]),
    ],
)
def test_the_operations_that_a_policy_checks(file: str, expected: list[str]) -> None:
    assert operations(file) == expected


@pytest.mark.parametrize(
    ("file", "read"),
    [
        (
            "workflow.yaml",
            [
                *[
                    "templateRef",
                    "image",
                    "params",
                    "groups",
                    "tasks",
                    "bodies",
                    "workflow",
                    "defaults",
                    "volumeClaims",
                ],
                *["notify", "metrics"],
            ],
        ),
        ("bounds.yaml", ["params", "groups", "tasks", "bodies", "workflow", "sources", "defaults"]),
    ],
)
def test_an_update_that_keeps_the_fields_that_a_policy_reads_is_not_checked(file: str, read: list[str]) -> None:
    assert match_condition(file) == (
        "oldObject == null || (dyn(object).metadata.generation != dyn(oldObject).metadata.generation "
        f"&& {read}.exists(f, dyn(object.spec)[?f] != dyn(oldObject.spec)[?f]))"
    )


@pytest.mark.parametrize("file", ["change.yaml", "template.yaml", "schedule.yaml"])
def test_an_update_of_metadata_is_recognized_by_its_generation(file: str) -> None:
    assert match_condition(file).endswith("dyn(object).metadata.generation != dyn(oldObject).metadata.generation")


def test_the_workflow_policy_is_evaluated_if_a_field_it_reads_changed() -> None:
    policy: dict[str, Any] = next(iter(yaml.safe_load_all((_POLICIES / "workflow.yaml").read_text())))
    text = " ".join(each["expression"] for each in policy["spec"]["variables"])
    read = set(re.findall(r"variables\.spec\.\??(\w+)", text)) | set(re.findall(r"dyn\(object\.spec\)\.\??(\w+)", text))
    # A template and a Schedule have runOf in their workflow only.
    assert read - {"runOf"} == set(
        ast.literal_eval(match_condition("workflow.yaml").partition("&& ")[2].partition(".")[0])
    )


def match_condition(file: str) -> str:
    """The only matchCondition of the policy of this file."""
    policy: dict[str, Any] = next(iter(yaml.safe_load_all((_POLICIES / file).read_text())))
    (condition,) = policy["spec"]["matchConditions"]
    return str(condition["expression"])


def test_a_run_of_a_template_may_have_the_defaults_of_the_schema() -> None:
    policy: dict[str, Any] = next(iter(yaml.safe_load_all((_POLICIES / "origin.yaml").read_text())))
    variables = {each["name"]: each["expression"] for each in policy["spec"]["variables"]}
    listed = ast.literal_eval(variables["defaults"])
    schema = definitions.workflows()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    defaults = {name: field["default"] for name, field in schema["properties"].items() if "default" in field}
    del defaults["suspend"]  # a run of a template may set it
    assert listed == {name: str(value).lower() for name, value in defaults.items()}


def test_a_policy_that_needs_templates_fails_open() -> None:
    policy, binding = yaml.safe_load_all((_POLICIES / "params.yaml").read_text())
    assert policy["spec"]["failurePolicy"] == "Ignore", "the operator checks params again"
    assert binding["spec"]["paramRef"] == {"selector": {}, "parameterNotFoundAction": "Allow"}


def test_no_message_uses_the_authorizer_which_messages_do_not_have() -> None:
    for path in _POLICIES.glob("*.yaml"):
        for document in filter(
            lambda each: "validations" in each.get("spec", {}), yaml.safe_load_all(path.read_text())
        ):
            variables = {each["name"]: each["expression"] for each in document["spec"].get("variables", [])}
            messages = [each.get("messageExpression", "") for each in document["spec"]["validations"]]
            assert not any("authorizer" in text for text in _closure(messages, variables)), path.name


def _closure(texts: list[str], variables: dict[str, str]) -> list[str]:
    """The texts and the expressions of the variables that they use, directly or not."""
    names, queue = set[str](), list(texts)
    result: list[str] = []
    while queue:
        text = queue.pop()
        result.append(text)
        new = set(re.findall(r"variables\.(\w+)", text)) - names
        names |= new
        queue += [variables[name] for name in new]
    return result

"""Lint says what a real API server says, in the same words."""

import functools
import json
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from torpor_cli.linting.finding import Finding, LintRule

from tests.integration.conftest import Answer, Server
from tests.integration.crds.test_schema import REFUSED, workflow
from tests.integration.policies.admission.test_admission import REJECTED
from tests.support import schema_values
from tests.unit.cli.linting.findings import lint, messages

_TRIGGER = {"name": "a", "trigger": {"class": "time"}}
_PYTHON = {"name": "a", "python": "m:f", "image": "x"}
_DEEP: Any = functools.reduce(lambda value, _: [value], range(25), 1)  # type: ignore[arg-type,return-value]
_UNCHECKED = "some validation rules were not checked because the object was invalid"
_DENIED = "denied request: "


def named(**metadata: Any) -> dict[str, Any]:
    return workflow(_PYTHON) | {"metadata": metadata}


MORE: dict[str, dict[str, Any]] = {
    "a long image": workflow(_PYTHON | {"image": "x" * 600}),
    "no parallelism": workflow(_PYTHON, parallelism=0),
    "much parallelism": workflow(_PYTHON, parallelism=10**6),
    "half a parallelism": workflow(_PYTHON, parallelism=1.5),
    "no spec": {key: value for key, value in workflow().items() if key != "spec"},
    "spec null": workflow() | {"spec": None},
    "an empty spec": workflow() | {"spec": {}},
    "a list of arguments": workflow(_PYTHON | {"args": [1]}),
    "many params": workflow(_PYTHON, params={f"p{n}": 1 for n in range(65)}),
    "an empty name": workflow(_PYTHON | {"name": ""}),
    "no name of a task": workflow({"python": "a:b", "image": "x"}),
    "a text for a boolean": workflow(_PYTHON, suspend="yes"),
    "a null image": workflow({"name": "a", "python": "m:f", "image": None}),
    "a capital in the name": named(name="Run_1"),
    "no name": named(),
    "a long name": named(name="a" * 254),
    "a capital in the prefix": named(generateName="Run_"),
    "labels": named(name="a", labels={"a b": "x y"}),
    "annotations": named(name="a", annotations={"a b": "x"}),
    "a clear at creation": named(name="a", annotations={"torpor.dev/clear": "failed"}),
    "an unknown field of the metadata": named(name="a", nmae="b"),
    "an unknown field of the object": workflow(_PYTHON) | {"sepc": {}},
    "an unknown field of an item": workflow(_PYTHON | {"pod": {"env": [{"name": "a", "valu": "c"}]}}),
    "unknown fields with other characters": workflow(_PYTHON | {"a-b.c": 1, "b c": 2}),
    "a long word": workflow({"name": "a", "image": "x", "container": {"command": ["x" * 5000]}}),
    "a variable without a name": workflow(_PYTHON | {"pod": {"env": [{"value": "a"}]}}),
    "a trigger without a class": workflow({"name": "a", "trigger": {}}),
    "deep arguments": workflow(_PYTHON | {"args": {"a": _DEEP}}),
    "wrong retries": workflow(_PYTHON | {"retries": {"limit": -1, "backoff": "a"}}),
    "several problems": workflow({"name": "a"}, {"name": "b-c"}),
    "an empty condition": workflow(_PYTHON | {"when": ""}),
    "two policies": workflow(_PYTHON | {"after": ["z"], "maxActive": 3}),
}
CASES = {name: body for name, (body, _) in (REFUSED | REJECTED).items()} | MORE


def server_messages(answer: Answer) -> list[str]:
    """Each sentence of the server about the object."""
    causes = [f"{cause['field']}: {cause['message']}" for cause in answer.causes if "field" in cause]
    if causes:
        return [cause for cause in causes if _UNCHECKED not in cause]
    _, denied, sentence = answer.message.partition(_DENIED)
    return [sentence] if denied else answer.message.partition("strict decoding error: ")[2].split(", unknown")


@pytest.mark.parametrize("case", CASES)
def test_lint_says_what_the_server_says(server: Server, namespace: str, case: str) -> None:
    body = json.loads(json.dumps(CASES[case]))
    answer = server.create("workflows", namespace, body, fieldValidation="Strict")
    assert answer.status in {400, 422}, answer.message
    lint_messages = "\n".join(messages(body))
    # Only the server knows the name that it makes of a prefix.
    sentences = [
        item for item in server_messages(answer) if not (case == "a capital in the prefix" and "metadata.name" in item)
    ]
    assert sentences
    assert [sentence for sentence in sentences if sentence not in lint_messages] == [], lint_messages


_WORKFLOW = schema_values.spec_of("workflows")
_NO_RUN_OF = frozenset({"tasks", "templateRef", "runOf", "parent"})
"""A run of a template has no tasks, and who may operate, as these tests may, can create one with other fields."""
SPECS = st.tuples(
    st.one_of(st.just({}), schema_values.objects(_WORKFLOW, without=_NO_RUN_OF)),
    schema_values.tasks(_WORKFLOW["properties"]["tasks"]["items"]),
).map(lambda parts: parts[0] | {"image": "tests", "tasks": parts[1]})
_ADMISSION = {LintRule.SCHEMA, LintRule.CRD_RULE, LintRule.POLICY, LintRule.UNKNOWN_FIELD, LintRule.METADATA}


def of_admission(finding: Finding) -> bool:
    """Whether the API server reports it at once, and not only of the pod."""
    return finding.rule in _ADMISSION and ": Not found: " not in finding.message and "quantities" not in finding.message


@settings(
    max_examples=int(os.environ.get("TORPOR_FUZZ_EXAMPLES", "40")),
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=list(HealthCheck),
    derandomize="TORPOR_FUZZ_EXAMPLES" not in os.environ,
    database=None,
)
@given(spec=SPECS)
def test_lint_agrees_with_the_server_on_workflows_of_any_shape(
    server: Server, namespace: str, spec: dict[str, Any]
) -> None:
    body = workflow() | {"spec": spec}
    answer = server.create("workflows", namespace, body, fieldValidation="Strict", dryRun="All")
    assert answer.status in {201, 400, 422}, answer.message
    findings = lint(body)
    if answer.status == 201:
        assert [finding.message for finding in findings if of_admission(finding)] == []
        return
    lint_messages = "\n".join(finding.message for finding in findings)
    assert [item for item in server_messages(answer) if item not in lint_messages] == []

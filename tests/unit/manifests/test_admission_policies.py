"""Which writes of a Workflow each policy checks: a new rule must not block a run that an older policy admitted."""

from pathlib import Path
from typing import Any

import pytest
import yaml

_POLICIES = Path(__file__).resolve().parents[3] / "manifests/base/policies"


def operations(file: str) -> list[str]:
    """The operations that the policy of this file checks."""
    policy: dict[str, Any] = next(iter(yaml.safe_load_all((_POLICIES / file).read_text())))
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    found: list[str] = rule["operations"]
    return found


@pytest.mark.parametrize(("file", "expected"), [("workflow.yaml", ["CREATE", "UPDATE"]), ("change.yaml", ["UPDATE"])])
def test_the_operations_that_a_policy_checks(file: str, expected: list[str]) -> None:
    assert operations(file) == expected


def test_an_update_that_keeps_params_and_tasks_is_not_checked() -> None:
    policy: dict[str, Any] = next(iter(yaml.safe_load_all((_POLICIES / "workflow.yaml").read_text())))
    (condition,) = policy["spec"]["matchConditions"]
    assert condition["expression"] == (
        "oldObject == null || object.spec.?params != oldObject.spec.?params "
        "|| object.spec.tasks != oldObject.spec.tasks"
    )

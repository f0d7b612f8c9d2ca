"""What each of the policies over Workflows looks at: a new rule must not hold up a run that an older door let in."""

from pathlib import Path
from typing import Any

import pytest
import yaml

_POLICIES = Path(__file__).resolve().parents[3] / "manifests/base/policies"


def operations(file: str) -> list[str]:
    """Which writes the file's policy is asked about."""
    policy: dict[str, Any] = next(iter(yaml.safe_load_all((_POLICIES / file).read_text())))
    (rule,) = policy["spec"]["matchConstraints"]["resourceRules"]
    found: list[str] = rule["operations"]
    return found


@pytest.mark.parametrize(("file", "asked"), [("workflow.yaml", ["CREATE", "UPDATE"]), ("change.yaml", ["UPDATE"])])
def test_the_door_judges_what_comes_and_what_of_a_run_is_changed(file: str, asked: list[str]) -> None:
    assert operations(file) == asked


def test_a_run_whose_params_and_tasks_stay_is_not_judged_again() -> None:
    policy: dict[str, Any] = next(iter(yaml.safe_load_all((_POLICIES / "workflow.yaml").read_text())))
    (condition,) = policy["spec"]["matchConditions"]
    assert condition["expression"] == (
        "oldObject == null || object.spec.?params != oldObject.spec.?params "
        "|| object.spec.tasks != oldObject.spec.tasks"
    )

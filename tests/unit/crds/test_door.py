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


@pytest.mark.parametrize(("file", "asked"), [("door.yaml", ["CREATE"]), ("change.yaml", ["UPDATE"])])
def test_the_door_judges_what_comes_and_no_run_that_is_there(file: str, asked: list[str]) -> None:
    assert operations(file) == asked

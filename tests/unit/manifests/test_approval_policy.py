"""Policy torpor-approval lists the built-in triggers that take no approval."""

import ast
from pathlib import Path

import yaml
from torpor_triggerer.usercode.registry import BUILT_IN
from torpor_wire import trigger

_POLICY = Path(__file__).resolve().parents[3] / "manifests/base/policies/approval.yaml"


def test_all_built_in_triggers_but_approval_and_composites_take_no_approval() -> None:
    policy = next(yaml.safe_load_all(_POLICY.read_text()))
    variables = {each["name"]: each["expression"] for each in policy["spec"]["variables"]}
    listed = ast.literal_eval(variables["impersonal"])
    assert sorted(listed) == sorted(BUILT_IN.keys() - {"approval"} - trigger.SEVERAL)

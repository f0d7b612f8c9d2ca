"""The policy on a person's word says what the rest of Torpor says: which waits are certainly for no person's."""

import ast
from pathlib import Path

import yaml
from torpor_triggerer.usercode.registry import BUILT_IN
from torpor_wire import trigger

_POLICY = Path(__file__).resolve().parents[3] / "manifests/base/policies/approval.yaml"


def test_the_waits_that_take_no_word_are_the_librarys_but_for_those_for_a_person() -> None:
    policy = next(yaml.safe_load_all(_POLICY.read_text()))
    variables = {each["name"]: each["expression"] for each in policy["spec"]["variables"]}
    listed = ast.literal_eval(variables["impersonal"])
    assert sorted(listed) == sorted(BUILT_IN.keys() - {"approval"} - trigger.SEVERAL)

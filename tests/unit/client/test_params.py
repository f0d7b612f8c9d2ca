import pytest
from torpor_client.changes import params
from torpor_client.errors import UsageError

_DECLARED = {"day": "2026-11-20", "n": 3, "deep": {"a": 1}, "flag": True, "free": None}


@pytest.mark.parametrize(
    ("pair", "value"),
    [
        ("day=2026-11-21", {"day": "2026-11-21"}),
        ("day=1", {"day": "1"}),
        ("day=a=b", {"day": "a=b"}),
        ("day=", {"day": ""}),
        ("n=4.5", {"n": 4.5}),
        ('deep={"a": 2}', {"deep": {"a": 2}}),
        ("flag=false", {"flag": False}),
        ("free=text", {"free": "text"}),
        ("free=[1]", {"free": [1]}),
    ],
)
def test_a_value_has_the_type_of_its_default(pair: str, value: object) -> None:
    assert params.parse([pair], _DECLARED) == value


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ("dya=1", "there is no param 'dya'; did you mean day"),
        ("x=1", "spec.params has day, n, deep, flag, free"),
        ("n", "write -p NAME=VALUE"),
        ("n=three", "the default is 3; write JSON of this type"),
        ("flag=1", "the default is true"),
    ],
)
def test_a_wrong_param_says_what_to_write(pair: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        params.parse([pair], _DECLARED)

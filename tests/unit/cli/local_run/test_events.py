"""Events from the command line."""

import pytest
from torpor_cli.errors import UsageError
from torpor_cli.local_run import folders


def test_events_are_json_by_task_or_instance() -> None:
    given = ['drop={"a": "b=c"}', "load/3=null", "load/0.1=[1]", "load=2"]
    assert folders.parse_events(given, ["drop", "load"]) == {
        "drop": {"a": "b=c"},
        "load/3": None,
        "load/0.1": [1],
        "load": 2,
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{}", "--event {}: write --event TASK=JSON, such as --event drop='{}'"),
        ("drpo={}", "there is no task 'drpo'; did you mean drop?"),
        ("drop={", "--event drop={: the event is not JSON: "),
    ],
)
def test_other_texts_are_refused(text: str, expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        folders.parse_events([text], ["drop"])
    assert str(raised.value).startswith(expected)

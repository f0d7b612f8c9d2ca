"""Events and answers from the command line."""

import pytest
from torpor_cli.errors import UsageError
from torpor_cli.local_run import given
from torpor_local.options import GivenAnswer


def test_events_are_json_by_task_or_instance() -> None:
    texts = ['drop={"a": "b=c"}', "load/3=null", "load/0.1=[1]", "load=2"]
    assert given.parse_events(texts, ["drop", "load"]) == {
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
        given.parse_events([text], ["drop"])
    assert str(raised.value).startswith(expected)


def test_answers_are_words_or_json() -> None:
    texts = ["ask=approved", "ask/0=rejected", 'load={"fields": {"n": 1}, "options": "a", "note": "go"}']
    assert given.parse_answers(texts, ["ask", "load"]) == {
        "ask": GivenAnswer(),
        "ask/0": GivenAnswer(approved=False),
        "load": GivenAnswer(fields={"n": 1}, options=("a",), note="go"),
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ask", "--answer ask: write --answer TASK=ANSWER, such as --answer ask=approved"),
        ("aks=approved", "there is no task 'aks'; did you mean ask?"),
        ("ask=yes", "--answer ask=yes: write approved, rejected, or a JSON object of "),
        ("ask=[", "--answer ask=[: write approved, rejected, or a JSON object of "),
        ('ask={"by": "ann"}', '--answer ask={"by": "ann"}: write approved, rejected, or a JSON object of '),
        ('ask={"approved": 1}', '--answer ask={"approved": 1}: approved must be true or false, fields an object, '),
        ('ask={"options": [1]}', '--answer ask={"options": [1]}: approved must be true or false, fields an object, '),
        ('ask={"note": 1}', '--answer ask={"note": 1}: note must be a text of up to 1024 characters'),
    ],
)
def test_other_answers_are_refused(text: str, expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        given.parse_answers([text], ["ask"])
    assert str(raised.value).startswith(expected)

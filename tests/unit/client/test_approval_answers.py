"""The answers of `torpor approve` to the form of an approval."""

import json
from typing import Any

import pytest
from torpor_client.changes import approvals
from torpor_client.errors import UsageError

FORM = {
    "question": "Deploy?",
    "fields": [
        {"name": "version", "description": "What to deploy"},
        {"name": "count", "type": "integer", "default": 2},
    ],
    "options": ["canary", "all"],
}


def asking(kwargs: dict[str, Any], **annotations: str) -> dict[str, Any]:
    trigger = {"class": "approval", "kwargs": json.dumps(kwargs)}
    return {"metadata": {"annotations": annotations}, "status": {"state": "Deferred", "trigger": trigger}}


def test_fields_are_text_or_json_by_their_type() -> None:
    text = approvals.answers(asking(FORM), ["version=1.4", "count=3"], ["all"])
    assert json.loads(text or "") == {"version": "1.4", "count": 3, "options": ["all"]}


def test_an_approval_without_a_form_has_no_answers() -> None:
    assert approvals.answers(asking({"question": "Deploy?"}), [], []) is None
    with pytest.raises(UsageError, match="version is not a field"):
        approvals.answers(asking({}), ["version=1"], [])


@pytest.mark.parametrize(
    ("pairs", "options", "words"),
    [
        (
            [],
            ["all"],
            "version is missing; answer with --field version=STRING \\(What to deploy\\) --field count=INTEGER",
        ),
        (["version"], ["all"], "'version' has no value; write --field NAME=VALUE"),
        (["version=1", "count=two"], ["all"], "count=two: the value must be of type integer, as JSON"),
        (["version=1"], [], "choose one of the options canary, all; .* --option canary|all"),
    ],
)
def test_an_answer_that_does_not_fit_names_the_options(pairs: list[str], options: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        approvals.answers(asking(FORM), pairs, options)


def test_an_answer_without_values_replaces_those_of_an_earlier_one() -> None:
    earlier = {"torpor.dev/approval-fields": '{"version":"1"}'}
    written = approvals.annotations(asking({}, **earlier), "rejected", "ann", None)
    assert written["torpor.dev/approval-fields"] == "{}"
    assert "torpor.dev/approval-fields" not in approvals.annotations(asking({}), "rejected", "ann", None)


def test_a_form_of_a_newer_version_is_left_to_the_triggerer() -> None:
    taskrun = asking({"fields": [{"name": "x", "type": "matrix"}]})
    assert approvals.answers(taskrun, [], []) is None

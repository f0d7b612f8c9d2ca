"""Persons who may answer a wait, in the kwargs of a trigger and on the TaskRun, and the form of an answer."""

from typing import Any

import pytest
from torpor_wire import approvers, trigger
from torpor_wire.approvers import Approvers, FormAnswers, parse_form
from torpor_wire.trigger import TriggerError

ANN = {"users": ["ann"]}


def build(class_name: str, kwargs: Any) -> trigger.DeferredTrigger:
    return trigger.build(class_name, kwargs, namespace="n", pool="default", now=0.0, taskrun="t")


def test_the_approvers_of_a_wait_are_fields_of_the_taskrun() -> None:
    given = {"users": ["ann"], "groups": ["sre", "ops"]}
    assert build("approval", {"question": "Go?", "approvers": given}).on_status()["approvers"] == given
    assert build("approval", {"approvers": ANN}).on_status()["approvers"] == ANN
    assert "approvers" not in build("approval", {"question": "Go?"}).on_status()
    assert "approvers" not in build("http", {"url": "a", "approvers": ANN}).on_status()


def test_the_approvers_of_a_nested_approval_are_fields_of_the_taskrun() -> None:
    part = {"class": "approval", "kwargs": {"approvers": ANN}}
    inner = {"class": "all_of", "kwargs": {"triggers": [part, {"class": "http", "kwargs": {"url": "a"}}]}}
    assert build("any_of", {"triggers": [inner, part]}).approvers == Approvers(("ann",))


def test_several_approvals_with_different_approvers_are_refused() -> None:
    parts = [{"class": "approval", "kwargs": {"approvers": {"users": [name]}}} for name in ("ann", "bob")]
    with pytest.raises(TriggerError, match="one answer applies to all its approvals"):
        build("any_of", {"triggers": parts})


def test_approvers_that_an_encoding_hides_are_seen() -> None:
    def as_dict(value: object) -> Any:
        return {"__type": "dict", "__var": value}

    for hidden in (as_dict({"approvers": ANN}), {"approvers": as_dict(ANN)}):
        assert build("approval", hidden).approvers == Approvers(("ann",))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "approvers must be"),
        ({}, "approvers must be"),
        ("ann", "approvers must be"),
        ({"user": ["ann"]}, "approvers must be"),
        ({"users": []}, "is empty"),
        ({"users": "ann"}, "users must be a list of up to 32 names"),
        ({"groups": ["g"] * 33}, "groups must be a list of up to 32 names"),
        ({"users": [""]}, "a name has 1 to 253 characters"),
        ({"users": ["a\nb"]}, "a name has 1 to 253 characters"),
        ({"users": [1]}, "a name has 1 to 253 characters"),
    ],
)
def test_approvers_that_make_no_sense_are_refused(value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        approvers.parse_approvers(value)
    with pytest.raises(TriggerError, match=words):
        build("approval", {"approvers": value})


def test_they_are_shown_as_people_say_it() -> None:
    assert Approvers(("ann", "bob"), ("sre",)).shown() == "ann, bob or members of sre"


VERSION = {"name": "version", "description": "What to deploy", "min": 3, "max": 10}
COUNT = {"name": "count", "type": "integer", "min": 1, "max": 5, "default": 2}
RATIO = {"name": "ratio", "type": "number", "required": False}
DRY = {"name": "dry", "type": "boolean", "default": False}
PLACE = {"name": "place", "enum": ["eu", "us"], "required": False}
FORM = parse_form([VERSION, COUNT, RATIO, DRY, PLACE], ["canary", "all"])
CHOICE = {"version": "1.4", "options": ["all"]}


@pytest.mark.parametrize(
    ("given", "fields", "options"),
    [
        (CHOICE, {"version": "1.4", "count": 2, "dry": False}, ("all",)),
        (CHOICE | {"options": "canary"}, {"version": "1.4", "count": 2, "dry": False}, ("canary",)),
        (
            CHOICE | {"count": 5, "ratio": 1, "dry": True, "place": "us"},
            {"version": "1.4", "count": 5, "ratio": 1, "dry": True, "place": "us"},
            ("all",),
        ),
    ],
)
def test_answers_that_fit_are_completed_by_defaults(given: Any, fields: Any, options: Any) -> None:
    assert FORM.answers(given) == FormAnswers(fields, options)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"version": None}, "version is missing"),
        ({"version": 1}, "version must be of type string"),
        ({"version": "1"}, "version must have at least 3 characters"),
        ({"version": "1" * 11}, "version must have at most 10 characters"),
        ({"version": "1.4\x1b[2J"}, "version contains a control character"),
        ({"version": "1.4\u202e"}, "version contains a control character"),
        ({"count": "2"}, "count must be of type integer"),
        ({"count": True}, "count must be of type integer"),
        ({"count": 2.5}, "count must be of type integer"),
        ({"count": 0}, "count is below 1"),
        ({"count": 6}, "count is above 5"),
        ({"dry": "yes"}, "dry must be of type boolean"),
        ({"place": "asia"}, "place must be one of eu, us"),
        ({"surprise": 1}, "surprise is not a field; fields: count, dry, options, place, ratio, version"),
        ({"options": []}, "choose one of the options canary, all"),
        ({"options": ["canary", "all"]}, "choose one of the options canary, all"),
        ({"options": ["none"]}, "none is not an option; options: canary, all"),
        ({"options": {"all": 1}}, "options must be a list of options"),
    ],
)
def test_an_answer_that_does_not_fit_is_refused_with_the_cause(change: Any, words: str) -> None:
    with pytest.raises(ValueError, match="^" + words.replace(".", r"\.")):
        FORM.answers(CHOICE | change)


@pytest.mark.parametrize("given", [[], "text", 1, None])
def test_an_answer_that_is_no_object_is_refused(given: Any) -> None:
    with pytest.raises(ValueError, match="must be a JSON object"):
        FORM.answers(given)


def test_several_options_are_chosen_in_the_order_of_the_form() -> None:
    form = parse_form(None, ["a", "b", "c"], multiple=True)
    assert form.answers({"options": ["c", "a", "c"]}).options == ("a", "c")
    with pytest.raises(ValueError, match="choose at least one of the options a, b, c"):
        form.answers({})


def test_a_form_without_fields_takes_no_values() -> None:
    assert approvers.NO_FORM.answers({}) == FormAnswers({}, ())
    with pytest.raises(ValueError, match="x is not a field; fields: none"):
        approvers.NO_FORM.answers({"x": 1})


@pytest.mark.parametrize(
    ("fields", "options", "multiple", "words"),
    [
        ({}, None, False, "fields must be a list of up to 16 fields"),
        ([VERSION] * 17, None, False, "fields must be a list of up to 16 fields"),
        ([VERSION, VERSION], None, False, "two fields have the same name"),
        ([{"name": "Version"}], None, False, "is not an identifier"),
        ([{"name": "options"}], None, False, "is not an identifier, or is taken"),
        ([{"name": "a", "kind": "x"}], None, False, "a field has default, description, enum"),
        ([{"name": "a", "type": "object"}], None, False, "type must be one of string, integer, number, boolean"),
        ([{"name": "a", "min": "1"}], None, False, "min and max numbers"),
        ([{"name": "a", "type": "integer", "default": "x"}], None, False, "a must be of type integer"),
        ([{"name": "a", "enum": [1]}], None, False, "a must be of type string"),
        (None, ["a", "a"], False, "32 different texts"),
        (None, ["a\n"], False, "an option is a text of 1 to 253 characters"),
        (None, None, True, "multiple must be true or false, and needs options"),
    ],
)
def test_an_invalid_form_is_refused_with_its_field(fields: Any, options: Any, multiple: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_form(fields, options, multiple)

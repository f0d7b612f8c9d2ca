"""Persons who may answer a wait, in the kwargs of a trigger and on the TaskRun."""

from typing import Any

import pytest
from torpor_wire import approvers, trigger
from torpor_wire.approvers import Approvers
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

"""Each rule of .vale/ finds a bad sentence, and leaves a good one alone."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

_RULES = Path(__file__).parents[3] / ".vale/styles/Torpor"
_LONG = " ".join(["word"] * 31) + "."


def rule(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((_RULES / f"{name}.yml").read_text())
    return loaded


def matches(name: str, sentence: str) -> bool:
    """What Vale does for the three kinds of rules that we use."""
    match rule(name):
        case {"extends": "existence", "tokens": tokens}:
            return any(re.search(rf"\b(?:{token})\b", sentence, re.IGNORECASE) for token in tokens)
        case {"extends": "substitution", "swap": swap}:
            return any(re.search(rf"\b(?:{token})\b", sentence, re.IGNORECASE) for token in swap)
        case {"extends": "occurrence", "token": token, "max": most}:
            return len(re.findall(token, sentence)) > int(most)
    raise AssertionError(f"{name} is of a kind that this test does not know")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Inversions", "The value is no list."),
        ("Metaphors", "The run is woken at noon."),
        ("Metaphors", "A broken object says so."),
        ("Passive", "The triggerer is told of it."),
        ("Passive", "Each source was looked at."),
        ("PrivateWords", "Whoever writes it lets go."),
        ("PrivateWords", "A task stands in two groups."),
        ("SentenceLength", _LONG),
    ],
)
def test_a_rule_finds_a_bad_sentence(name: str, sentence: str) -> None:
    assert matches(name, sentence)


def test_no_rule_finds_a_plain_sentence() -> None:
    sentence = "The API server rejects a patch whose preconditions do not hold."
    assert [path.stem for path in _RULES.glob("*.yml") if matches(path.stem, sentence)] == []


def test_each_rule_is_tried() -> None:
    rules = {"Inversions", "Metaphors", "Passive", "PrivateWords", "SentenceLength"}
    assert {path.stem for path in _RULES.glob("*.yml")} == rules

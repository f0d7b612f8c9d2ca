"""What is written as YAML is read as the same object, as kubectl reads it."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_cli import yaml_format
from torpor_cli.linting import yaml_documents
from torpor_cli.linting.yaml_documents import Document

_ODD = [
    "n",
    "y",
    "on",
    "No",
    "1e3",
    "0o7",
    "0x1f",
    "1_000",
    "~",
    "<<",
    "=",
    "2026-11-20",
    "1:30",
    "",
    " a",
    "- a",
    "a: b",
]
_TEXT = st.sampled_from(_ODD) | st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXT, inner, max_size=3),
    max_leaves=10,
)


def read(text: str) -> Any:
    (document,) = yaml_documents.read(text)
    assert isinstance(document, Document), document
    assert document.problems == ()
    return document.value


@pytest.mark.parametrize("text", _ODD)
def test_a_text_stays_a_text_as_a_value_and_as_a_key(text: str) -> None:
    assert read(yaml_format.dump({text: text, "list": [text]})) == {text: text, "list": [text]}


@given(st.dictionaries(_TEXT, _VALUES, min_size=1, max_size=3))
def test_any_object_is_read_as_it_was(body: dict[str, Any]) -> None:
    assert json.dumps(read(yaml_format.dump(body))) == json.dumps(body)


def test_equal_parts_have_no_anchors() -> None:
    part = ["a", "b"]
    assert yaml_format.dump({"x": part, "y": part}) == "x:\n- a\n- b\n'y':\n- a\n- b\n"


def test_a_text_for_people_is_a_block_and_has_its_letters() -> None:
    value = {"table": "A B\n1 2", "name": "Köln", "flag": "n"}
    assert yaml_format.dump(value, readable=True) == "table: |-\n  A B\n  1 2\nname: Köln\nflag: 'n'\n"
    assert read(yaml_format.dump(value, readable=True)) == value


@given(st.dictionaries(_TEXT, _VALUES, min_size=1, max_size=3))
def test_any_object_for_people_is_read_as_it_was(body: dict[str, Any]) -> None:
    assert json.dumps(read(yaml_format.dump(body, readable=True))) == json.dumps(body)

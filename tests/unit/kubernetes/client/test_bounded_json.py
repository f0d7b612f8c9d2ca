"""The nesting of JSON is bounded before it is decoded, exactly, whatever its strings hold."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_kubernetes.client import decoding
from torpor_kubernetes.client.decoding import TooDeepError, is_too_deep, loads

VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(alphabet='[]{}"\\,:aé\n', max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(alphabet='[]{}"\\', max_size=4), inner, max_size=4)
    ),
    max_leaves=30,
)


def depth(value: object) -> int:
    match value:
        case list():
            return 1 + max(map(depth, value), default=0)
        case dict():
            return 1 + max(map(depth, value.values()), default=0)
        case _:
            return 0


@given(VALUES, st.integers(min_value=1, max_value=6), st.booleans())
def test_it_refuses_exactly_the_values_that_are_deeper_than_the_limit(
    value: object, limit: int, ascii_only: bool
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only).encode()
    assert is_too_deep(text, limit) == (depth(value) > limit)


@given(VALUES)
def test_it_decodes_what_the_standard_decoder_decodes(value: object) -> None:
    assert loads(json.dumps(value).encode()) == value


@pytest.mark.parametrize("levels", [decoding.MAX_DEPTH + 1, 1_100, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")])
def test_any_depth_is_a_value_error(levels: int, opening: str, closing: str) -> None:
    with pytest.raises(TooDeepError, match="more than 100 levels"):
        loads((opening * levels + "1" + closing * levels).encode())


@pytest.mark.parametrize("text", ["[" * 5_000, "{" * 500, "]" * 500, "[" * 200 + "]" * 100, '["' + "[" * 300, ""])
def test_broken_text_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        loads(text.encode())

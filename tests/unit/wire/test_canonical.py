"""Canonical JSON against the vectors of RFC 8785, and what it refuses."""

import enum
import json
import math
import struct
from collections import UserList
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import canonical

# RFC 8785, appendix B, and the neighbours of every switch of notation.
NUMBERS = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
values = st.recursive(scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20)


@pytest.mark.parametrize(("bits", "text"), NUMBERS.items())
def test_a_double_is_written_as_the_standard_says(bits: str, text: str) -> None:
    (number,) = struct.unpack(">d", bytes.fromhex(bits))
    assert canonical.text(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [(1.0, "1"), (-1.0, "-1"), (1e20, "100000000000000000000"), (1e22, "1e+22"), (0.001, "0.001"), (120.5, "120.5")],
)
def test_a_double_that_is_an_integer_is_written_as_one(number: float, text: str) -> None:
    assert canonical.text(number) == text


def test_the_sample_of_the_standard_is_written_byte_by_byte() -> None:
    sample = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert canonical.text(sample) == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_in_the_order_of_their_utf16_units() -> None:
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    ordered = list(json.loads(canonical.text(dict.fromkeys(keys, 0))))
    assert ordered == ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]


def test_an_integer_keeps_all_its_digits() -> None:
    assert canonical.text(2**63 - 1) == "9223372036854775807"


def test_plain_text_keeps_the_order_of_keys_and_the_type_of_numbers() -> None:
    assert canonical.plain({"b": 1.0, "a": "é"}) == '{"b":1.0,"a":"é"}'


@given(values)
def test_reading_and_writing_again_changes_nothing(value: Any) -> None:
    text = canonical.text(value)
    assert canonical.text(json.loads(text)) == text


@given(values)
def test_plain_text_is_read_as_what_was_meant(value: Any) -> None:
    assert json.loads(canonical.plain(value)) == value


@given(st.integers(), st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_is_read_as_what_was_meant(integer: int, double: float) -> None:
    assert int(canonical.text(integer)) == integer
    assert float(canonical.text(double)) == double


@given(st.dictionaries(st.text(), scalars, min_size=2))
def test_the_order_in_which_keys_were_given_does_not_matter(value: dict[str, Any]) -> None:
    assert canonical.digest(dict(reversed(value.items()))) == canonical.digest(value)


class Colour(str, enum.Enum):  # noqa: UP042, the old way of writing it prints differently, and users still have it
    RED = "red"


class Celsius(float):
    def __repr__(self) -> str:
        return f"Celsius({float(self)})"


@pytest.mark.parametrize("write", [canonical.text, canonical.plain])
@pytest.mark.parametrize(("value", "text"), [(Colour.RED, '"red"'), (Celsius(1.5), "1.5"), ((1, 2), "[1,2]")])
def test_a_subclass_is_written_as_the_value_it_is(write: Any, value: object, text: str) -> None:
    assert write(value) == text


@pytest.mark.parametrize("write", [canonical.text, canonical.plain])
@pytest.mark.parametrize(
    ("value", "message"),
    [
        (math.nan, r"\$ is nan"),
        ({"a": [1, math.inf]}, r"\$\.a\[1\] is inf"),
        ({"a": b"x"}, r"\$\.a is of type bytes"),
        ({1: "a"}, r"\$ has the key 1;"),
        ({"a": {"x"}}, r"\$\.a is of type set"),
        (["\ud800"], r"\$\[0\] contains an unpaired surrogate"),
        ({"\udfff": 1}, r"\$ contains an unpaired surrogate"),
        (10**5000, r"\$ is an integer of 16610 bits"),
    ],
    ids=["nan", "infinity", "bytes", "integer key", "set", "surrogate", "surrogate key", "integer"],
)
def test_what_json_cannot_say_is_refused_by_its_path(write: Any, value: object, message: str) -> None:
    with pytest.raises(canonical.NotJsonError, match=message):
        write(value)


@pytest.mark.parametrize("write", [canonical.text, canonical.plain])
def test_a_value_within_itself_is_refused(write: Any) -> None:
    ring: list[Any] = []
    ring.append(ring)
    with pytest.raises(canonical.NotJsonError, match="contains itself"):
        write({"a": ring})


@pytest.mark.parametrize("write", [canonical.text, canonical.plain])
def test_a_value_nested_too_deeply_is_refused(write: Any) -> None:
    deep: Any = 0
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(canonical.NotJsonError, match="nested too deeply"):
        write(deep)


def test_a_digest_never_changes_since_shards_are_part_of_the_api() -> None:
    assert canonical.digest("http", {"url": "https://example.org"}, "default", "ns") == (
        "0cbef399f3c5003732b0dda568912f173c44f35568341e558f885c0b96a7aa73"
    )


@pytest.mark.parametrize("value", [range(3), UserList([0, 1, 2]), (0, 1, 2)])
def test_any_sequence_is_a_list(value: object) -> None:
    assert canonical.plain({"all": value}) == '{"all":[0,1,2]}'


@pytest.mark.parametrize("value", [b"a", bytearray(b"a"), memoryview(b"a")])
def test_bytes_are_no_list_of_numbers(value: object) -> None:
    with pytest.raises(canonical.NotJsonError, match=r"\$\[2\] is of type \w+, which is not JSON"):
        canonical.plain(value, "$[2]")


def test_an_entry_of_an_object_is_two_texts() -> None:
    assert canonical.entry("ü", [1.0, None]) == ('"ü"', "[1.0,null]")


@pytest.mark.parametrize(("key", "value", "message"), [(1, 2, "the key 1"), ("a", {1}, r"\$\.a is of type set")])
def test_an_entry_is_held_to_json(key: object, value: object, message: str) -> None:
    with pytest.raises(canonical.NotJsonError, match=message):
        canonical.entry(key, value)

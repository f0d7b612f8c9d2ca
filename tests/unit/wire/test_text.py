"""Text that is safe to print."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import retry, text, transitions, trigger
from torpor_wire.reason import Reason
from torpor_wire.state import State, succeeded_condition
from torpor_wire.transitions import Pin

CLEAR = "\x1b[2J\x1b]0;owned\x07"
PIN = Pin("u", "2026-01-01T00:00:00Z", State.RUNNING, 1, 0)


@pytest.mark.parametrize(
    ("given_", "expected"),
    [
        ("all is well", "all is well"),
        ("é 😀 日本 👩‍👩‍👧 \\x1b", "é 😀 日本 👩‍👩‍👧 \\x1b"),
        ("\x1b[31mred\x1b[0m", "\\x1b[31mred\\x1b[0m"),
        ("\x9b2J", "\\x9b2J"),
        ("a\r\nb\tc\x7f\0", "a\\r\nb\tc\\x7f\\x00"),
        ("safe\u202etxt.exe", "safe\\u202etxt.exe"),
        ("a\u2028b", "a\\u2028b"),
        ("half \ud800", "half \\ud800"),
    ],
)
def test_what_a_terminal_obeys_is_written_as_an_escape(given_: str, expected: str) -> None:
    assert text.printable(given_) == expected


def test_in_one_line_and_in_a_log_no_further_line_begins() -> None:
    assert text.printable_line("a\nb\x1b") == "a\\nb\\x1b"
    assert text.log_text("a\n2026-01-01 INFO all is well") == "a\n    2026-01-01 INFO all is well"


@given(st.text())
def test_printable_text_is_kept_and_fits_the_pattern_of_the_api_server(sample: str) -> None:
    result = text.printable(sample)
    assert text.printable(result) == result
    assert re.fullmatch(text.PRINTABLE_PATTERN, result)
    assert re.fullmatch(text.PRINTABLE_LINE_PATTERN, text.printable_line(sample))


def test_no_transition_writes_a_control_character() -> None:
    patch = transitions.fail(PIN, retry.Policy(), reason=Reason.ERROR, message=CLEAR, log=f"line\n{CLEAR}", now=0.0)
    patch += transitions.explain(PIN, reason=Reason.WAITING, message=CLEAR)
    patch += transitions.cancel(PIN, message=CLEAR, now=0.0)
    assert "\x1b" not in str([str(op["value"]).encode().decode() for op in patch])
    assert all("\x1b" not in str(op["value"]) and "\x07" not in str(op["value"]) for op in patch)
    assert {op["path"]: op["value"] for op in patch}["/status/message"] == "\\x1b[2J\\x1b]0;owned\\x07"


def test_what_is_waited_for_is_printable() -> None:
    wait = trigger.build("http", {"url": f"http://h/{CLEAR}"}, namespace="ns", pool="default", now=0.0)
    assert wait.waits_for == "http://h/\\x1b[2J\\x1b]0;owned\\x07"
    assert trigger.describe("http", {"url": "\x1b" * 500}).isprintable()
    assert len(trigger.describe("http", {"url": "\x1b" * 500})) <= 120


def test_a_condition_is_printable() -> None:
    condition = succeeded_condition(State.FAILED, completed="t", reason=None, message=CLEAR)
    assert condition["message"] == "\\x1b[2J\\x1b]0;owned\\x07"

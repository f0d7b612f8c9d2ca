import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_client.logs import log_text, severity
from torpor_client.logs.line_cutter import LineCutter


def cut(cutter: LineCutter, body: bytes, size: int) -> list[str]:
    lines = [line for start in range(0, len(body), size) for line in cutter.feed(body[start : start + size])]
    return lines + cutter.finish()


@given(st.binary(max_size=200), st.integers(1, 50), st.integers(3, 40))
def test_lines_that_are_divided_are_those_of_the_command_line(body: bytes, size: int, limit: int) -> None:
    ascii_body = bytes(byte & 0x7F for byte in body).replace(b"\r", b"")
    divided = cut(LineCutter(limit, divide=True), ascii_body, size)
    assert "".join(divided) == "".join(log_text.split([ascii_body], limit))
    assert max(map(len, divided), default=0) <= limit


def test_a_line_without_end_is_cut_with_a_note() -> None:
    lines = cut(LineCutter(10), b"short\n" + b"x" * 8_000_000 + b"\nnext", 65_536)
    assert lines[0] == "short"
    assert lines[1] == "xxxxxxxxxx … (7,999,990 more bytes; the download has the whole line)"
    assert lines[2] == "next"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-22 10:00:00 ERROR etl: no such row", "error"),
        ("[WARNING] disk is full", "warning"),
        ('{"time": 1, "level": "info", "msg": "an ERROR of before"}', "info"),
        ("level=debug msg=x", "debug"),
        ("severity: Critical", "error"),
        ("E1122 10:00:00.1 main.go:1] x", "error"),
        ("Traceback (most recent call last):", "error"),
        ("ValueError: row 17 has no date", "error"),
        ("warning: unused", "warning"),
        ("no errors were found", ""),
        ("TERRORS", ""),
        ("", ""),
    ],
)
def test_a_line_says_how_severe_it_is(text: str, expected: str) -> None:
    assert severity.severity(text) == expected


@pytest.mark.attack
@pytest.mark.parametrize("text", ["level" * 200_000, " " * 1_000_000, "[" * 1_000_000, "E" * 1_000_000, "a." * 500_000])
def test_only_the_beginning_of_a_line_is_read(text: str) -> None:
    assert severity.severity(f"{text} ERROR") == ""

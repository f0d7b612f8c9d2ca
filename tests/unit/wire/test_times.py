"""Moments and durations, between text and seconds."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import times

END_OF_TIME = "9999-12-31T23:59:59.000Z"


def test_a_time_is_written_in_utc_with_milliseconds() -> None:
    assert times.rfc3339(1_700_000_000.5) == "2023-11-14T22:13:20.500Z"


@given(st.integers(min_value=0, max_value=253_402_300_799_000))
def test_a_time_of_whole_milliseconds_survives_a_round_trip(milliseconds: int) -> None:
    assert round(times.epoch(times.rfc3339(milliseconds / 1000)) * 1000) == pytest.approx(milliseconds, abs=1)


@pytest.mark.parametrize("moment", [2.6e11, 1e20, 1e300, float("inf")])
def test_a_time_beyond_the_maximum_is_the_maximum(moment: float) -> None:
    assert times.rfc3339(moment) == END_OF_TIME


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:01Z", 1.0),
        ("1970-01-01T01:00:01+01:00", 1.0),
        ("1970-01-01T00:00:01.250000Z", 1.25),
        ("1970-01-01T00:00:01.250000123Z", 1.25),
    ],
)
def test_a_time_is_read_with_any_offset_and_fraction(text: str, seconds: float) -> None:
    assert times.epoch(text) == pytest.approx(seconds)


def test_a_time_without_an_offset_is_refused() -> None:
    with pytest.raises(ValueError, match="write Z for UTC"):
        times.epoch("2026-11-20T12:00:00")


@pytest.mark.parametrize("text", ["", "tomorrow", "12:00"])
def test_an_invalid_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        times.epoch(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("5m", 300), ("1h30m", 5400), ("7d", 604_800), ("1.5s", 1.5), ("500ms", 0.5), ("1m500ms", 60.5)],
)
def test_a_duration_is_a_row_of_numbers_with_units(text: str, seconds: float) -> None:
    assert times.seconds(text) == seconds


@pytest.mark.parametrize("text", ["", "30", "s", "-5s", "5 m", "30m1h", "1h30", "30s\n", "1.5h", "P1D"])
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="write 30s, 5m, 1h30m or 7d"):
        times.seconds(text)


@pytest.mark.parametrize(
    ("duration", "text"),
    [(-1.0, "0s"), (0.4, "0s"), (59.9, "59s"), (60.0, "1m"), (125.4, "2m5s"), (3_605.0, "1h"), (90_061.0, "1d1h")],
)
def test_a_duration_shows_its_two_largest_units(duration: float, text: str) -> None:
    assert times.human(duration) == text

"""`time` and `duration`."""

import time
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from torpor.triggers import Duration, Time
from torpor_wire import times


def test_a_time_is_stored_as_text_in_utc() -> None:
    expected = ("time", {"at": "2026-11-20T07:00:00.000Z"})
    assert Time(datetime(2026, 11, 20, 8, tzinfo=timezone(timedelta(hours=1)))).serialize() == expected
    assert Time("2026-11-20T08:00:00+01:00").serialize() == expected
    assert Time(at="2026-11-20T07:00:00Z").serialize() == expected


def test_it_reads_back_what_it_wrote() -> None:
    name, kwargs = Time("2026-11-20T07:00:00.125Z").serialize()
    again = Time(**kwargs)
    assert (name, again.serialize()) == ("time", (name, kwargs))
    assert again.due() == times.epoch("2026-11-20T07:00:00.125Z")
    assert again.payload() == "2026-11-20T07:00:00.125Z"


@pytest.mark.parametrize("length", [90, 90.0, "90s", "1m30s", timedelta(seconds=90)])
def test_a_duration_is_stored_as_its_end_time(length: Any) -> None:
    before = time.time()
    name, kwargs = Duration(length).serialize()
    assert name == "time"
    assert before + 89.9 < times.epoch(kwargs["at"]) < time.time() + 90.1


@pytest.mark.parametrize(
    ("at", "error", "words"),
    [
        (datetime(2026, 11, 20), ValueError, "has no time zone"),  # noqa: DTZ001
        ("2026-11-20T08:00:00", ValueError, "no offset"),
        ("tomorrow", ValueError, "'tomorrow' is not an RFC 3339 time"),
        ("0001-01-01T00:00:00+23:59", ValueError, "not an RFC 3339 time"),
        (1_700_000_000, TypeError, "not int"),
        (None, TypeError, "not NoneType"),
    ],
)
def test_an_invalid_time_is_refused(at: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Time(at)


@pytest.mark.parametrize(
    ("length", "error", "words"),
    [
        (-1, ValueError, "must be 0 or more"),
        (float("nan"), ValueError, "nan seconds"),
        ("soon", ValueError, "'soon' is not a duration"),
        (True, TypeError, "not bool"),
        (None, TypeError, "not NoneType"),
    ],
)
def test_what_is_no_duration_is_refused(length: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Duration(length)


async def test_who_knows_nothing_of_due_can_run_it() -> None:
    class Lent:
        slept = 0.0

        def now(self) -> float:
            return times.epoch("2026-11-20T07:00:00Z")

        async def sleep(self, seconds: float) -> None:
            self.slept += seconds

    waiting, lent = Time("2026-11-20T07:00:05Z"), Lent()
    waiting.services = lent  # type: ignore[assignment]
    assert [event.payload async for event in waiting.run()] == ["2026-11-20T07:00:05.000Z"]
    assert lent.slept == 5.0


def test_an_endless_duration_ends_at_the_maximum_time() -> None:
    assert Duration(1e300).serialize() == ("time", {"at": "9999-12-31T23:59:59.000Z"})


def test_the_present_year_is_not_special() -> None:
    assert Time(datetime(1960, 1, 1, tzinfo=UTC)).due() < 0

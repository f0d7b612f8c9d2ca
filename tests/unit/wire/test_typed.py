"""Values among a trigger's arguments that JSON cannot say."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import canonical, trigger, typed

MOMENT = datetime(2026, 11, 20, 8, 30, 0, 5, tzinfo=UTC)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC))
    | st.dates()
    | st.timedeltas(timedelta(days=-1000), timedelta(days=1000)),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text() | st.sampled_from(["__type", "__var"]), inner, max_size=3)
        | st.fixed_dictionaries({"__type": st.sampled_from(["datetime", "dict", "odd"]), "__var": inner})
    ),
    max_leaves=8,
)


@given(value=VALUES)
def test_what_was_encoded_and_stored_is_what_is_decoded(value: Any) -> None:
    stored = canonical.plain(typed.encode(value))

    assert typed.decode(json.loads(stored)) == value


def test_equal_moments_are_written_alike_wherever_they_were_written() -> None:
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=9)))

    assert typed.encode(elsewhere) == typed.encode(MOMENT)
    assert typed.encode(MOMENT) == {"__type": "datetime", "__var": "2026-11-20T08:30:00.000005+00:00"}


def test_a_moment_without_a_time_zone_stays_without_one() -> None:
    naive = datetime(2026, 11, 20, 8)  # noqa: DTZ001 - such as a library may pass

    assert typed.decode(typed.encode(naive)) == naive


def test_a_datetime_is_not_taken_for_a_date() -> None:
    assert typed.decode(typed.encode([date(2026, 11, 20), MOMENT])) == [date(2026, 11, 20), MOMENT]


def test_a_workflow_may_write_them_as_people_do() -> None:
    assert typed.decode({"__type": "datetime", "__var": "2026-11-20T08:30:00Z"}) == MOMENT.replace(microsecond=0)
    assert typed.decode({"__type": "timedelta", "__var": "1h30m"}) == timedelta(minutes=90)


@pytest.mark.parametrize(
    "written",
    [
        {"__type": "set", "__var": [1]},
        {"__type": "datetime", "__var": 5},
        {"__type": "datetime", "__var": "soon"},
        {"__type": "timedelta", "__var": True},
        {"__type": "timedelta", "__var": 1e300},
        {"__type": ["datetime"], "__var": {}},
    ],
)
def test_what_is_no_value_of_its_type_is_refused(written: Any) -> None:
    with pytest.raises(ValueError, match=r"set|datetime|soon|timedelta|too long|isoformat"):
        typed.decode({"moment": written})


def test_what_refers_to_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)

    with pytest.raises(canonical.NotJsonError):
        typed.encode(loop)


def test_people_are_shown_the_value_alone() -> None:
    kwargs = typed.encode({"moment": MOMENT, "poll": timedelta(seconds=5)})

    assert trigger.describe("pkg.DateTimeTrigger", kwargs) == "DateTimeTrigger 2026-11-20T08:30:00.000005+00:00 5.0"

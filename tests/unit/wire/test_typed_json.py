"""Values among a trigger's arguments that JSON cannot say."""

from __future__ import annotations

import json
import math
from collections import deque
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from enum import Enum
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import canonical, trigger, typed_json

MOMENT = datetime(2026, 11, 20, 8, 30, 0, 5, tzinfo=UTC)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text()
    | st.datetimes()
    | st.datetimes(timezones=st.just(UTC))
    | st.dates()
    | st.timedeltas(timedelta(days=-1000), timedelta(days=1000))
    | st.binary(max_size=30)
    | st.decimals(allow_nan=False)
    | st.uuids()
)
HASHABLE = SCALARS | st.lists(SCALARS, max_size=2).map(tuple) | st.frozensets(SCALARS, max_size=2)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.sets(HASHABLE, max_size=3)
        | st.frozensets(HASHABLE, max_size=3)
        | st.dictionaries(st.text() | st.sampled_from(["__type", "__var"]), inner, max_size=3)
        | st.fixed_dictionaries({"__type": st.sampled_from(["datetime", "dict", "odd"]), "__var": inner})
    ),
    max_leaves=8,
)


@given(value=VALUES)
def test_what_was_encoded_and_stored_is_what_is_decoded(value: Any) -> None:
    read = typed_json.decode(json.loads(typed_json.text(value)))

    assert read == value
    assert type(read) is type(value)


@given(value=VALUES)
def test_what_is_shown_to_people_and_expressions_is_plain_json(value: Any) -> None:
    shown = typed_json.readable(typed_json.encode(value))

    assert json.loads(canonical.plain(shown)) == shown


@given(values=st.sets(HASHABLE, min_size=2, max_size=5).map(list), data=st.data())
def test_a_set_is_written_in_the_same_order_however_it_was_filled(values: list[Any], data: st.DataObject) -> None:
    others = data.draw(st.permutations(values))

    assert canonical.text(typed_json.encode(set(values))) == canonical.text(typed_json.encode(set(others)))


def test_values_are_written_as_a_person_reads_them() -> None:
    given = {
        "of": (Decimal("1.10"), UUID(int=5)),
        "names": {"b", "a"},
        "raw": b"\xff\x00",
        "rest": deque([timedelta(minutes=1)]),
    }

    assert typed_json.readable(typed_json.encode(given)) == {
        "of": ["1.10", "00000000-0000-0000-0000-000000000005"],
        "names": ["a", "b"],
        "raw": "/wA=",
        "rest": [60.0],
    }


@pytest.mark.parametrize("key", ["__type", "__var"])
def test_data_that_looks_like_a_type_is_data(key: str) -> None:
    foreign = [{"__type": "set", "__var": [1]}, {"__type": "os.system", "__var": "true"}, {key: 1}]

    assert typed_json.decode(json.loads(typed_json.text(foreign))) == foreign
    assert typed_json.readable(typed_json.encode(foreign)) == foreign


def test_nothing_is_imported_or_made_by_the_name_of_a_class() -> None:
    with pytest.raises(ValueError, match=r"__type 'subprocess\.Popen'"):
        typed_json.decode({"__type": "subprocess.Popen", "__var": ["true"]})


@pytest.mark.parametrize("shape", [lambda inner: [inner], lambda inner: {"a": inner}, lambda inner: (inner,)])
def test_what_is_nested_too_deeply_is_refused_in_writing_and_in_reading(shape: Any) -> None:
    deep: Any = 1
    for _ in range(typed_json.DEPTH_MAX):
        deep = shape(deep)
    written = json.loads(typed_json.text(deep))

    assert typed_json.decode(written) == deep
    with pytest.raises(canonical.NotJsonError, match="nested more than 100 deep"):
        typed_json.encode(shape(deep))
    with pytest.raises(ValueError, match="nested more than 100 deep"):
        typed_json.decode([written])


@pytest.mark.parametrize(
    ("value", "where"), [({"a": [object()]}, r"\$\.a\[0\] is of type object"), ({1, print}, r"\$\[\]")]
)
def test_what_cannot_be_written_is_named_by_its_path(value: Any, where: str) -> None:
    with pytest.raises(canonical.NotJsonError, match=where):
        typed_json.text(value)


def test_a_nested_approval_is_never_shared_even_inside_typed_json() -> None:
    approval: Any = {"class": "approval", "kwargs": {}}
    dressed: list[Any] = [
        {"triggers": [approval]},
        {"triggers": {"__type": "tuple", "__var": [approval]}},
        {"triggers": [{"__type": "dict", "__var": approval}]},
        {"__type": "dict", "__var": {"triggers": [approval]}},
        {"triggers": [{"class": "all_of", "kwargs": {"__type": "dict", "__var": {"triggers": [approval]}}}]},
    ]

    assert all(trigger.is_alone("any_of", kwargs) for kwargs in dressed)


def test_a_nested_duration_becomes_a_time_even_inside_typed_json() -> None:
    part: Any = {"class": "duration", "kwargs": {"duration": "1h"}}
    hidden: Any = {"triggers": {"__type": "tuple", "__var": [{"__type": "dict", "__var": part}]}}

    assert trigger.absolute("any_of", hidden, 0.0)[1] == {
        "triggers": [{"class": "time", "kwargs": {"at": "1970-01-01T01:00:00.000Z"}}]
    }


def test_equal_moments_are_written_alike_wherever_they_were_written() -> None:
    elsewhere = MOMENT.astimezone(timezone(timedelta(hours=9)))

    assert typed_json.encode(elsewhere) == typed_json.encode(MOMENT)
    assert typed_json.encode(MOMENT) == {"__type": "datetime", "__var": "2026-11-20T08:30:00.000005+00:00"}


def test_a_time_without_a_zone_stays_without_one() -> None:
    naive = datetime(2026, 11, 20, 8)  # noqa: DTZ001 - such as a library may pass

    assert typed_json.decode(typed_json.encode(naive)) == naive


def test_a_datetime_is_not_taken_for_a_date() -> None:
    assert typed_json.decode(typed_json.encode([date(2026, 11, 20), MOMENT])) == [date(2026, 11, 20), MOMENT]


def test_types_can_be_written_in_their_usual_forms() -> None:
    assert typed_json.decode({"__type": "datetime", "__var": "2026-11-20T08:30:00Z"}) == MOMENT.replace(microsecond=0)
    assert typed_json.decode({"__type": "timedelta", "__var": "1h30m"}) == timedelta(minutes=90)


@pytest.mark.parametrize(
    "written",
    [
        {"__type": "set", "__var": [[1]]},
        {"__type": "set", "__var": "ab"},
        {"__type": "frozenset", "__var": [{"__type": "set", "__var": []}]},
        {"__type": "bytes", "__var": "x"},
        {"__type": "bytes", "__var": "\u00e4"},
        {"__type": "decimal", "__var": "1.1.1"},
        {"__type": "decimal", "__var": "1" * 5000},
        {"__type": "uuid", "__var": "5"},
        {"__type": "dict", "__var": [1]},
        {"__type": "dict", "__var": ["ab"]},
        {"__type": "dict", "__var": [[[1], 2]]},
        {"__type": "float", "__var": "1e5"},
        {"__type": "time", "__var": "25:00"},
        {"__type": "datetime", "__var": 5},
        {"__type": "datetime", "__var": "soon"},
        {"__type": "timedelta", "__var": True},
        {"__type": "timedelta", "__var": 1e300},
        {"__type": ["datetime"], "__var": {}},
    ],
)
def test_what_is_no_value_of_its_type_is_refused(written: Any) -> None:
    with pytest.raises(
        ValueError, match=r"set|datetime|soon|timedelta|too long|isoformat|base64|ASCII|decimal|UUID|dict|float|hour"
    ):
        typed_json.decode({"moment": written})


def test_what_refers_to_itself_is_refused() -> None:
    loop: list[object] = []
    loop.append(loop)

    with pytest.raises(canonical.NotJsonError):
        typed_json.encode(loop)


def test_people_are_shown_the_value_alone() -> None:
    kwargs = typed_json.encode({"moment": MOMENT, "poll": timedelta(seconds=5)})

    assert (
        trigger.describe("pkg.DateTimeTrigger", kwargs) == "DateTimeTrigger 2026-11-20T08:30:00.000005+00:00 poll=5.0"
    )


class Color(Enum):
    RED = "red"


@pytest.mark.parametrize(
    "value",
    [
        {1: "a", 2: {True: None}},
        {1: "int", "1": "text"},
        {None: 1, 2.5: 2, (1, "a"): 3, date(2026, 11, 20): 4},
        {"__type": 1, 2: 3},
        time(8, 30),
        time(8, 30, tzinfo=UTC),
        [math.inf, -math.inf],
    ],
)
def test_what_python_has_and_json_lacks_returns_as_it_was(value: Any) -> None:
    returned = typed_json.decode(json.loads(typed_json.text(value)))
    assert returned == value
    assert not isinstance(value, dict) or list(map(type, returned)) == list(map(type, value))


def test_not_a_number_returns_as_it_was() -> None:
    assert math.isnan(typed_json.decode(json.loads(typed_json.text([math.nan])))[0])


def test_a_path_is_its_text_and_an_enum_its_value() -> None:
    assert typed_json.encode({"at": Path("/data/a.csv"), "color": Color.RED}) == {"at": "/data/a.csv", "color": "red"}


def test_people_and_expressions_see_keys_as_texts() -> None:
    value = {1: "b", None: math.nan, date(2026, 11, 20): time(8, 30)}
    shown = {"1": "b", "null": "nan", "2026-11-20": "08:30:00"}
    assert typed_json.readable(typed_json.encode(value)) == shown


@pytest.mark.attack
def test_pairs_of_a_server_are_data() -> None:
    data = {"__type": "dict", "__var": [[1, {"__type": "secretRef", "__var": {"name": "a", "key": "b"}}]]}
    assert typed_json.decode(json.loads(typed_json.text(data))) == data
    with pytest.raises(ValueError, match="dict with a list, a set or an object as a key"):
        typed_json.decode({"__type": "dict", "__var": [[{}, 1]]})

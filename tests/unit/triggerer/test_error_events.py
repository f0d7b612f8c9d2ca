"""Events that report an error and are too large to be stored whole."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_triggerer import error_events, outcome
from torpor_triggerer.outcome import Fired
from torpor_wire import keys, typed

from tests.unit.triggerer.world import begun, world

LOG = "a line of a log\n" * 1000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=20,
)

LONG = st.text(min_size=1, max_size=9).map(lambda text: text * 900)


@pytest.mark.parametrize(
    "event",
    [
        {"status": "error", "message": LOG},
        {"status": "FAILED", "message": LOG},
        {"state": "timeout", "log": LOG},
        {"success": False, "stderr": LOG},
        {"error": LOG},
        {"status": "done", "exception": ["ValueError", LOG]},
    ],
)
def test_an_event_that_reports_an_error_is_shortened_and_not_refused(event: Mapping[str, Any]) -> None:
    fired = outcome.of_payload(event)

    assert isinstance(fired, Fired)
    found = json.loads(fired.event)
    assert found["truncated"] is True
    assert found.keys() == event.keys() | {"truncated"}
    assert "a line of a log" in fired.event
    assert len(fired.event.encode()) <= keys.EVENT_MAX


@pytest.mark.parametrize("event", [{"status": "success", "rows": LOG}, {"error": None, "rows": LOG}, [LOG], LOG])
def test_an_event_that_reports_none_is_left_whole(event: Any) -> None:
    fired = outcome.of_payload(event)

    assert isinstance(fired, Fired)
    assert typed.decode(json.loads(fired.event)) == event


def test_an_error_that_fits_is_left_as_it_is() -> None:
    event = {"status": "error", "at": datetime(2026, 1, 1, tzinfo=UTC), "message": "x" * 2000}
    fired = outcome.of_payload(event)

    assert isinstance(fired, Fired)
    assert typed.decode(json.loads(fired.event)) == event


@pytest.mark.parametrize(
    "event",
    [
        {"status": "error", "message": "the reason", **{f"key{number}": "x" * 50 for number in range(500)}},
        {"status": "error", "message": "the reason", "x" * 5000: 1},
        {"status": "error", "message": "the reason", "deep": {"log": ["\x00" * 5000] * 100}},
        {"state": "failed", "error": {"because": "the reason", "k" * 9000: 1}},
    ],
)
def test_where_all_else_is_too_much_the_state_and_the_message_are_left(event: Mapping[str, Any]) -> None:
    found = json.loads(error_events.shortened(event))

    assert found["status"] in {"error", "failed"}
    assert "the reason" in found["message"]


@given(extra=st.dictionaries(st.text(max_size=9), JSON | LONG, max_size=5), message=JSON | LONG)
def test_a_shortened_event_fits_and_still_reports_an_error(extra: dict[str, Any], message: Any) -> None:
    text = error_events.shortened({**extra, "status": "error", "message": message})

    assert len(text.encode()) <= keys.EVENT_MAX
    assert error_events.is_error(typed.decode(json.loads(text)))


async def test_the_task_goes_on_with_a_shortened_error() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "yields an error of 1 MB"})
        assert made.stands("a") == ("Scheduled", None)
        assert json.loads(made.status("a")["event"])["status"] == "error"

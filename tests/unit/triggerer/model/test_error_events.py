"""Events that report an error and are too large to be stored whole."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_triggerer.logs import redaction
from torpor_triggerer.model import error_events, outcome
from torpor_triggerer.model.outcome import Fired
from torpor_wire import constants, typed_json

from tests.support.triggerer_fixture import start_with_wait, triggerer_fixture

LOG = "a line of a log\n" * 1000
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=20,
)

LONG = st.text(min_size=1, max_size=9).map(lambda text: text * 900)


class RedactedText:
    """What a trigger said, and the secrets that it knows."""

    def __init__(self, *secrets: str) -> None:
        self._blots = redaction.spellings(secrets)
        self.lines: Sequence[str] = ()

    def redact(self, text: str) -> str:
        return redaction.redact(text, self._blots)

    def redact_event(self, event: str) -> str:
        return redaction.redact_json(event, self._blots)


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
    fired = outcome.from_payload(event)

    assert isinstance(fired, Fired)
    shown = outcome.shorten_error(fired, RedactedText()).event
    document = json.loads(shown)
    assert document["truncated"] is True
    assert document.keys() == event.keys() | {"truncated"}
    assert "a line of a log" in shown
    assert len(shown.encode()) <= constants.EVENT_MAX


@pytest.mark.parametrize(
    "event",
    [
        {"status": "error", "message": LOG * 200},
        {
            "status": "error",
            "message": "the reason",
            "lines": ["x" * 20_000] * 900,
            **dict.fromkeys(map(str, range(99)), LOG * 9),
        },
    ],
)
def test_one_that_even_the_archive_would_not_take_is_shortened_too(event: Mapping[str, Any]) -> None:
    fired = outcome.from_payload(event)

    assert isinstance(fired, Fired)
    assert len(fired.event.encode()) <= constants.EVENT_STORED_MAX
    assert json.loads(outcome.shorten_error(fired, RedactedText()).event)["status"] == "error"


def test_no_half_of_a_secret_is_left_where_an_error_is_cut() -> None:
    half = 1024 // 2 - 4
    message = "x" * (half - 7) + "hunter2hunter2" + "y" * 9000
    fired = outcome.from_payload({"status": "error", "message": message})

    assert isinstance(fired, Fired)
    assert "hunter" not in outcome.shorten_error(fired, RedactedText("hunter2hunter2")).event
    assert "hunter" in outcome.shorten_error(fired, RedactedText()).event


@pytest.mark.parametrize("event", [{"status": "success", "rows": LOG}, {"error": None, "rows": LOG}, [LOG], LOG])
def test_an_event_that_reports_none_is_left_whole(event: Any) -> None:
    fired = outcome.from_payload(event)

    assert isinstance(fired, Fired)
    assert typed_json.decode(json.loads(fired.event)) == event


def test_an_error_that_fits_is_left_as_it_is() -> None:
    event = {"status": "error", "at": datetime(2026, 1, 1, tzinfo=UTC), "message": "x" * 2000}
    fired = outcome.from_payload(event)

    assert isinstance(fired, Fired)
    assert typed_json.decode(json.loads(fired.event)) == event


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
    document = json.loads(error_events.shortened(event))

    assert document["status"] in {"error", "failed"}
    assert "the reason" in document["message"]


@given(extra=st.dictionaries(st.text(max_size=9), JSON | LONG, max_size=5), message=JSON | LONG)
def test_a_shortened_event_fits_and_still_reports_an_error(extra: dict[str, Any], message: Any) -> None:
    text = error_events.shortened({**extra, "status": "error", "message": message})

    assert len(text.encode()) <= constants.EVENT_MAX
    assert error_events.is_error(typed_json.decode(json.loads(text)))


async def test_the_task_goes_on_with_a_shortened_error() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "yields an error of 1 MB"})
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert json.loads(world.status("a")["event"])["status"] == "error"

"""How long a server is left in peace."""

from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor.triggers.services import Answer
from torpor.triggers.support.http_request import RequestDelays, retry_after

NOW = 1_700_000_000.0


def answer(status: int, asked: str = "") -> Answer:
    return Answer(status, {"retry-after": asked} if asked else {}, b"", False)


@pytest.mark.parametrize(
    ("status", "asked", "seconds"),
    [
        (503, "120", 120),
        (429, " 7 ", 7),
        (503, formatdate(NOW + 30, usegmt=True), 30),
        (503, formatdate(NOW - 30, usegmt=True), 0),
        (503, "999999999", 3600),
        (503, "soon", 0),
        (503, "-5", 0),
        (503, "²", 0),
        (503, "", 0),
        (500, "120", 0),
        (200, "120", 0),
    ],
)
def test_a_server_that_has_no_time_says_when(status: int, asked: str, seconds: float) -> None:
    assert retry_after(answer(status, asked), NOW) == seconds


def test_pauses_grow_while_a_server_is_in_trouble_and_shrink_at_once_when_it_is_well() -> None:
    pace = RequestDelays(5)
    pauses = []
    for told in (answer(200), None, answer(500), answer(429), None, answer(503), None, answer(404)):
        pace.note(told, NOW)
        pauses.append(pace.pause(0.5))
    assert pauses == [5, 5, 10, 20, 40, 60, 60, 5]


@given(
    st.floats(0.1, 1e5),
    st.lists(st.sampled_from([None, answer(200), answer(500), answer(503, "40")]), max_size=40),
    st.floats(0, 1),
)
def test_a_pause_is_never_shorter_than_asked_nor_longer_than_its_limit(
    interval: float, told: list[Answer | None], jitter: float
) -> None:
    pace = RequestDelays(interval)
    for one in told:
        pace.note(one, NOW)
        asked = 40 if one and one.status == 503 else 0
        assert max(asked, 0.9 * interval) <= pace.pause(jitter) <= 1.1 * max(asked, interval, 60)

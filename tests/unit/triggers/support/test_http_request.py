"""Conditional requests and the delays between the requests of a deferral."""

from email.utils import formatdate
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor.triggers.services import HttpResponse
from torpor.triggers.support import http_request
from torpor.triggers.support.http_request import RequestDelays, retry_after

NOW = 1_700_000_000.0
BEFORE, AT, AFTER = (f"Tue, 14 Nov 2023 22:13:{second} GMT" for second in ("18", "20", "21"))


@pytest.mark.parametrize(
    ("headers", "asks"),
    [
        ({}, {}),
        ({"etag": 'W/"1"'}, {"If-None-Match": 'W/"1"'}),
        ({"last-modified": BEFORE, "date": AT}, {"If-Modified-Since": BEFORE}),
        ({"etag": '"1"', "last-modified": BEFORE, "date": AT}, {"If-None-Match": '"1"', "If-Modified-Since": BEFORE}),
        ({"etag": '"1"', "last-modified": AT, "date": AT}, {}),
        ({"last-modified": AT, "date": AFTER}, {}),
        ({"last-modified": BEFORE}, {}),
        ({"last-modified": "yesterday", "date": AT}, {}),
        ({"last-modified": BEFORE.replace("GMT", "-0000"), "date": AT}, {}),
    ],
)
def test_a_reliable_validator_makes_the_next_request_conditional(headers: dict[str, str], asks: dict[str, str]) -> None:
    assert http_request.conditional_headers(HttpResponse(200, headers, b"", False)) == asks


@pytest.mark.parametrize("other", [{"status": 404}, {"status": 206}, {"truncated": True}])
def test_an_incomplete_response_makes_no_conditional_request(other: dict[str, Any]) -> None:
    assert http_request.conditional_headers(HttpResponse(200, {"etag": '"1"'}, b"", False)._replace(**other)) == {}


def test_conditions_among_the_authors_headers_are_found_in_any_case() -> None:
    assert http_request.has_conditions(["Accept", "IF-NONE-MATCH"])
    assert http_request.has_conditions(["range"])
    assert not http_request.has_conditions(["Accept", "If"])


def answer(status: int, header: str = "") -> HttpResponse:
    return HttpResponse(status, {"retry-after": header} if header else {}, b"", False)


@pytest.mark.parametrize(
    ("status", "header", "seconds"),
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
def test_retry_after_is_seconds_or_a_date(status: int, header: str, seconds: float) -> None:
    assert retry_after(answer(status, header), NOW) == seconds


def test_delays_grow_while_a_server_fails_and_reset_when_it_recovers() -> None:
    pace = RequestDelays(5)
    delays = []
    for response in (answer(200), None, answer(500), answer(429), None, answer(503), None, answer(404)):
        pace.note(response, NOW)
        delays.append(pace.pause(0.5))
    assert delays == [5, 5, 10, 20, 40, 60, 60, 5]


@given(
    st.floats(0.1, 1e5),
    st.lists(st.sampled_from([None, answer(200), answer(500), answer(503, "40")]), max_size=40),
    st.floats(0, 1),
)
def test_a_delay_is_within_retry_after_and_the_limit(
    interval: float, responses: list[HttpResponse | None], jitter: float
) -> None:
    pace = RequestDelays(interval)
    for response in responses:
        pace.note(response, NOW)
        least = 40 if response and response.status == 503 else 0
        assert max(least, 0.9 * interval) <= pace.pause(jitter) <= 1.1 * max(least, interval, 60)

"""What an answer is compared by."""

from typing import Any

import pytest
from torpor.triggers.services import Answer
from torpor.triggers.support import http_request

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
def test_only_what_tells_two_answers_apart_is_used(headers: dict[str, str], asks: dict[str, str]) -> None:
    assert http_request.conditional_headers(Answer(200, headers, b"", False)) == asks


@pytest.mark.parametrize("other", [{"status": 404}, {"status": 206}, {"truncated": True}])
def test_what_is_no_whole_answer_is_not_compared_with(other: dict[str, Any]) -> None:
    assert http_request.conditional_headers(Answer(200, {"etag": '"1"'}, b"", False)._replace(**other)) == {}


def test_conditions_of_an_authors_own_are_noticed_however_they_are_spelled() -> None:
    assert http_request.has_conditions(["Accept", "IF-NONE-MATCH"])
    assert http_request.has_conditions(["range"])
    assert not http_request.has_conditions(["Accept", "If"])

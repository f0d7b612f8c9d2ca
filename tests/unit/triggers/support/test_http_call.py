"""`http_call`: its arguments, what it stores, and the event that it makes of a response."""

import json
from typing import Any

import pytest
from torpor.triggers import HttpCall, http_call
from torpor.triggers.services import HttpResponse, TaskRunRef
from torpor.triggers.support.metering import AnswerTooLargeError
from torpor_wire import trigger

REFERENCE = {"secretRef": {"name": "s", "key": "k"}}


def response(body: bytes, status: int = 200, **headers: str) -> HttpResponse:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return HttpResponse(status, named, body, truncated=False)


def test_it_stores_only_arguments_that_differ_from_the_defaults() -> None:
    call = HttpCall("http://x/", method="get", headers={}, success="200-299", timeout="30s")
    assert call.serialize() == ("http_call", {"url": "http://x/"})


def test_it_restores_every_stored_argument() -> None:
    kwargs: dict[str, Any] = {
        "url": REFERENCE,
        "method": "PATCH",
        "headers": {"Authorization": REFERENCE},
        "json": {"token": REFERENCE, "rows": [1, 2.5, None]},
        "success": [201, "400-404"],
        "timeout": 2.5,
        "as_result": True,
    }
    assert HttpCall(**kwargs).serialize() == ("http_call", kwargs)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"url": "example.org"}, "is not a URL"),
        ({"url": "ftp://example.org/"}, "is not a URL"),
        ({"url": "http://ann:pw@example.org/"}, "contains credentials"),
        ({"method": "TRACE"}, "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"),
        ({"headers": {"Authorization": "Bearer x"}}, "write {Authorization: {secretRef: "),
        ({"headers": {"Host": "other"}}, "the HTTP client writes it"),
        ({"headers": {"X": "a\r\nY: b"}}, "printable text"),
        ({"method": "POST", "body": "x", "json": 1}, "give body or json, not both"),
        ({"body": "x"}, "GET has no body"),
        ({"method": "HEAD", "json": 1}, "HEAD has no body"),
        ({"method": "POST", "body": "x" * 4097}, "body has 4097 characters"),
        ({"success": []}, "status is empty"),
        ({"success": 99}, "neither a code such as 200"),
        ({"timeout": 0}, "timeout is 0 seconds"),
    ],
)
def test_invalid_arguments_are_refused_with_what_is_allowed(kwargs: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        HttpCall(**{"url": "http://x/", **kwargs})


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (b'{"a": 1}', {"json": {"a": 1}}),
        (b"null", {"text": "null"}),
        (b"plain \xff", {"text": "plain \ufffd"}),
        (b"NaN", {"text": "NaN"}),
        (b"", {}),
        (b"[" * 2_000, {"text": "[" * 2_000}),
    ],
)
def test_the_event_has_json_or_text_or_no_body(body: bytes, wanted: Any) -> None:
    answer = response(body, 201, content_type="a/b", set_cookie="s3cret")
    assert http_call.event(answer) == {"status": 201, "headers": {"content-type": "a/b"}, **wanted}


@pytest.mark.parametrize(("body", "wanted"), [(b"[1]", [1]), (b"x", "x"), (b"", None)])
def test_the_result_is_the_body_alone(body: bytes, wanted: Any) -> None:
    assert http_call.content(response(body)) == wanted


@pytest.mark.attack
def test_json_of_too_many_values_is_refused_before_it_is_parsed() -> None:
    with pytest.raises(AnswerTooLargeError, match="more than 100000 values"):
        http_call.content(response(json.dumps([0] * 100_001).encode()))


def test_the_key_of_a_request_is_the_same_within_an_attempt_only() -> None:
    taskrun = TaskRunRef("run-t-abcde", "0b5d7c1a", 1, 0)
    key = http_call.idempotency_key(taskrun)
    assert key == http_call.idempotency_key(taskrun._replace(name="other"))
    assert key != http_call.idempotency_key(taskrun._replace(attempt=2))
    assert key != http_call.idempotency_key(taskrun._replace(uid="other"))


def test_two_equal_requests_of_two_tasks_are_two_requests() -> None:
    def key(taskrun: str) -> str:
        return trigger.key("http_call", {"url": "http://x/"}, namespace="n", pool="p", taskrun=taskrun)

    assert key("one") != key("two")
    assert HttpCall.shareable is False


def test_the_description_of_a_request_is_its_method_and_url() -> None:
    words = trigger.describe("http_call", {"url": "http://x/", "method": "POST", "json": {"password": "p"}})
    assert words == "POST http://x/"
    assert trigger.describe("http_call", {"url": "http://x/"}) == "GET http://x/"

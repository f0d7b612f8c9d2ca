"""`http`: what it takes, what it stores, and that its event stays small."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor.triggers import Http
from torpor.triggers.cursors import UNSET
from torpor.triggers.http import payload
from torpor.triggers.services import HttpResponse
from torpor.triggers.support.arguments import Revealed
from torpor.triggers.support.http_request import SHOWN_HEADERS
from torpor_wire import canonical


def test_only_what_differs_from_the_defaults_is_stored() -> None:
    assert Http("http://x/").serialize() == ("http", {"url": "http://x/"})
    assert Http("http://x/", method="get", status=[200], interval="5s", timeout=10, headers={}).serialize() == (
        "http",
        {"url": "http://x/"},
    )


def test_it_reads_back_what_it_wrote() -> None:
    given = Http(
        "https://x:8443/a?b=c",
        method="head",
        headers={"Accept": "text/plain"},
        status=[404, "200-299"],
        body_condition="response.status == 404",
        interval="1m",
        timeout=2.5,
    )
    name, kwargs = given.serialize()
    assert kwargs["status"] == ["200-299", 404]
    assert Http(**json.loads(json.dumps(kwargs))).serialize() == (name, kwargs)


@pytest.mark.parametrize("cursor", [None, '"v1"', 'W/"v1"', "sha256:0"])
def test_a_cursor_is_stored(cursor: str | None) -> None:
    name, kwargs = Http("http://x/", cursor=cursor).serialize()
    assert kwargs == {"url": "http://x/", "cursor": cursor}
    assert Http(**kwargs).serialize() == (name, kwargs)


@pytest.mark.parametrize(
    ("given", "headers"),
    [
        ({"cursor": '"v1"'}, {"If-None-Match": '"v1"'}),
        ({"cursor": 'W/"v1"'}, {"If-None-Match": 'W/"v1"'}),
        ({"cursor": None}, {}),
        ({"cursor": "sha256:0"}, {}),
        ({"cursor": '"v1\r\nX: y"'}, {}),
        ({"cursor": '"ü"'}, {}),
        ({"cursor": '"v1"', "method": "POST"}, {}),
        ({"cursor": '"v1"', "headers": {"If-Match": "x"}}, {}),
    ],
)
def test_the_first_request_is_conditional_on_a_cursor_that_is_an_etag(given: Any, headers: dict[str, str]) -> None:
    assert Http("http://x/", **given).known == headers


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"url": 7}, TypeError, "url must be text"),
        ({"url": ""}, ValueError, "is not a URL"),
        ({"url": "example.org"}, ValueError, "is not a URL"),
        ({"url": "file:///etc/passwd"}, ValueError, "is not a URL"),
        ({"url": "http://"}, ValueError, "is not a URL"),
        ({"url": "http://x/\r\nHost: y"}, ValueError, "is not a URL"),
        ({"url": "http://x:99999/"}, ValueError, "Port out of range"),
        ({"url": "http://[::1/"}, ValueError, "url"),
        ({"url": "http://x/" + "a" * 3000}, ValueError, "is not a URL"),
        ({"url": "https://user:secret@x/"}, ValueError, "credentials"),
        ({"headers": {"Authorization": "Bearer x"}}, ValueError, "Authorization is a secret"),
        ({"headers": {"X": "a\r\nY: b"}}, ValueError, "printable"),
        ({"headers": {"X": 1}}, ValueError, "quote numbers"),
        ({"headers": "X: y"}, TypeError, "headers must be"),
        ({"headers": {"X Y": "z"}}, ValueError, "'X Y' is not a valid header name"),
        *(
            ({"headers": {name: "1"}}, ValueError, f"headers: {name} cannot be set")
            for name in ("Content-Length", "transfer-encoding", "Host", "Connection", "Upgrade", "Proxy-Authorization")
        ),
        ({"headers": {f"X-{number}": "y" for number in range(33)}}, ValueError, "32 are allowed"),
        ({"headers": {"X": {"secretRef": {"name": "s"}}}}, ValueError, "headers: X: a secretRef must be"),
        ({"url": {"secretRef": {"name": "s"}}}, ValueError, "url: a secretRef must be"),
        ({"url": Revealed("ftp://user:s3cret@x/")}, ValueError, "^the url is not a URL"),
        ({"headers": {"Cookie": Revealed("a\nb")}}, ValueError, "^headers: the value of Cookie must be printable"),
        ({"cursor": 1}, TypeError, "cursor must be text or null"),
        ({"method": "DELETE"}, ValueError, "GET, HEAD, POST"),
        ({"status": []}, ValueError, "status is empty"),
        ({"status": "2xx"}, ValueError, "neither a code"),
        ({"status": [99]}, ValueError, "neither a code"),
        ({"status": "299-200"}, ValueError, "ends before"),
        ({"status": True}, TypeError, "codes such as"),
        ({"interval": 0}, ValueError, "interval is 0 seconds"),
        ({"interval": "often"}, ValueError, "interval: 'often'"),
        ({"timeout": None}, TypeError, "timeout must be"),
        ({"body_condition": True}, TypeError, "CEL expression as text"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_does(kwargs: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Http(**{"url": "http://x/", **kwargs})


def test_a_header_and_an_address_may_come_from_a_secret() -> None:
    reference = {"secretRef": {"name": "s", "key": "k"}}
    kwargs: dict[str, Any] = {"url": reference, "headers": {"Authorization": reference, "Accept": "text/plain"}}
    assert Http(**kwargs).serialize() == ("http", kwargs)
    Http(Revealed("https://user:s3cret@x/"), headers={"Authorization": Revealed("Bearer s3cret")})


@given(
    st.binary(max_size=9000),
    st.dictionaries(st.sampled_from(["etag", "location", "x"]), st.text(max_size=5000)),
    st.sampled_from([UNSET, '"v1"', "x" * 256]),
)
def test_an_event_is_within_its_limit_for_every_answer(body: bytes, headers: dict[str, str], cursor: Any) -> None:
    event = payload(HttpResponse(200, headers, body, False), None, cursor=cursor)
    assert len(canonical.plain(event).encode()) <= 4096
    assert event.get("cursor", UNSET) == cursor
    assert event["status"] == 200
    assert body.decode(errors="replace").startswith(event["text"])
    assert event.get("truncated", False) == (event["text"] != body.decode(errors="replace"))


def test_headers_that_do_not_fit_are_left_out() -> None:
    headers = dict.fromkeys(SHOWN_HEADERS, "\N{SLEEPING FACE}" * 200)
    event = payload(HttpResponse(200, headers, b"x" * 9000, False), None, cursor='"' + "v" * 254 + '"')
    assert len(canonical.plain(event).encode()) <= 4096
    assert (event["headers"], event["truncated"]) == ({}, True)


def test_a_large_document_is_left_out_and_said_to_be() -> None:
    document = {"rows": ["x" * 100] * 100}
    event = payload(HttpResponse(200, {}, json.dumps(document).encode(), False), document)
    assert "json" not in event
    assert event["truncated"] is True

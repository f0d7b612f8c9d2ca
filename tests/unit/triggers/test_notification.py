"""`notification` and `mail`: what they take and store, and what a service gets."""

from typing import Any

import pytest
from torpor.triggers import Mail, Notification
from torpor.triggers.support import notification_payloads
from torpor.triggers.support.delivery import ReceiverPace
from torpor.triggers.support.notification_payloads import Message

REF = {"secretRef": {"name": "s", "key": "k"}}
MESSAGE = Message(id="1", event="failure", title="load failed", text="see <!channel> & <http://x|y>", source="ns/run")
MAIL: dict[str, Any] = {
    "server": "smtp.example.org",
    "sender": "a@example.org",
    "to": ["b@example.org"],
    "subject": "load failed",
}


def test_a_notification_reads_back_what_it_wrote() -> None:
    kwargs: dict[str, Any] = {
        "service": "webhook",
        "title": "load failed",
        "text": "line\nline",
        "url": "https://example.org/",
        "headers": {"Authorization": REF},
        "event": "failure",
        "origin": "ns/run",
        "id": "7",
        "timeout": 3.0,
    }
    assert Notification(**kwargs).serialize() == ("notification", kwargs)


def test_a_mail_reads_back_what_it_wrote() -> None:
    kwargs: dict[str, Any] = {**MAIL, "text": "x", "port": 465, "tls": "tls", "user": "u", "password": REF, "id": "7"}
    assert Mail(**kwargs).serialize() == ("mail", kwargs)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"service": "icq"}, "slack, teams, pagerduty, webhook"),
        ({"url": None}, "slack needs url"),
        ({"url": "https://hooks.example.org/x"}, "the url of slack is a secret"),
        ({"key": REF}, "key is for pagerduty"),
        ({"service": "pagerduty"}, "pagerduty needs key"),
        ({"service": "pagerduty", "key": "readable"}, "key is a secret"),
        ({"headers": {"x-a": "1"}}, "headers are for webhook"),
        ({"title": ""}, "title has 0 characters"),
        ({"text": "x" * 4001}, "text has 4001 characters"),
    ],
)
def test_a_notification_refuses_what_its_service_does_not_have(kwargs: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Notification(**{"service": "slack", "title": "x", "url": REF, **kwargs})


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"server": "http://x"}, "is not a host name"),
        ({"to": []}, "to has 0 addresses"),
        ({"to": ["b@example.org\r\nBcc: c@example.org"]}, "is not a mail address"),
        ({"sender": "Torpor <a@example.org>"}, "is not a mail address"),
        ({"tls": "no"}, "starttls, tls, none"),
        ({"user": "u"}, "belong together"),
        ({"user": "u", "password": "readable"}, "is a secret: use a secretRef"),
        ({"user": "u", "password": REF, "tls": "none"}, "a login without TLS"),
    ],
)
def test_a_mail_refuses_what_makes_no_sense(kwargs: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Mail(**{**MAIL, **kwargs})


@pytest.mark.attack
def test_text_from_a_server_mentions_nobody_in_slack() -> None:
    body = notification_payloads.slack(MESSAGE)
    assert body["text"] == "*load failed*\nsee &lt;!channel&gt; &amp; &lt;http://x|y&gt;"


@pytest.mark.attack
def test_text_from_a_server_is_no_markup_in_teams() -> None:
    card = notification_payloads.teams(MESSAGE)["attachments"][0]["content"]
    assert [block["type"] for block in card["body"]] == ["RichTextBlock", "RichTextBlock"]
    assert card["body"][1]["inlines"][0]["text"] == MESSAGE.text


@pytest.mark.attack
def test_a_title_is_one_line_wherever_it_comes_from() -> None:
    title = "failed\r\nBcc: everyone@example.org\x00"
    with pytest.raises(ValueError, match="not printable"):
        Mail(**{**MAIL, "subject": title})
    assert notification_payloads.single_line(title).isprintable()


def test_pagerduty_joins_what_has_the_same_id() -> None:
    event = notification_payloads.pagerduty(MESSAGE, "key")
    assert (event["routing_key"], event["event_action"], event["dedup_key"]) == ("key", "trigger", "1")
    assert event["payload"]["severity"] == "error"


def test_messages_to_one_receiver_take_turns() -> None:
    pace = ReceiverPace(interval=1.0)
    assert [pace.reserve(100.0) for _ in range(3)] == [0.0, 1.0, 2.0]


def test_a_receiver_that_names_a_time_is_left_alone_until_then() -> None:
    pace = ReceiverPace(interval=1.0)
    assert pace.fail(100.0, 3600.0, 0.0) == 3600.0
    assert pace.is_closed(3699.0)
    assert not pace.is_closed(3700.0)
    assert [pace.reserve(100.0) for _ in range(2)] == [3600.0, 3601.0]


def test_pauses_without_a_time_grow_up_to_five_minutes() -> None:
    pace = ReceiverPace(interval=1.0)
    pauses = [pace.fail(0.0, 0.0, 1.0) for _ in range(12)]
    assert pauses[:4] == [1.0, 2.0, 4.0, 8.0]
    assert pauses[-1] == 300.0
    pace.accept()
    assert pace.fail(0.0, 0.0, 1.0) == 1.0

"""`webhook`: what it takes and stores, and by what a call is known again."""

from typing import Any

import pytest
from torpor.triggers import Webhook
from torpor.triggers.services import TaskRunRef
from torpor.triggers.webhook import idempotency_key

TASKRUN = TaskRunRef("run-t-abcde", "0b5d7c1a", 1, 0)


def test_only_what_differs_from_the_defaults_is_stored() -> None:
    webhook = Webhook("http://x/", method="post", headers={}, interval="5s", timeout=10)
    assert webhook.serialize() == ("webhook", {"url": "http://x/"})


def test_it_reads_back_what_it_wrote() -> None:
    reference = {"secretRef": {"name": "s", "key": "k"}}
    kwargs: dict[str, Any] = {
        "url": reference,
        "body": {"text": "done", "rows": [1, 2.5, None], "token": reference},
        "method": "PUT",
        "headers": {"Authorization": reference},
        "interval": 60.0,
        "timeout": 2.5,
    }
    assert Webhook(**kwargs).serialize() == ("webhook", kwargs)


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"url": "example.org"}, "is not a URL"),
        ({"method": "GET"}, "POST, PUT"),
        ({"body": {"at": b"x"}}, r"body is not JSON: \$\.at is of type bytes"),
        ({"headers": {"Authorization": "Bearer x"}}, "write {Authorization: {secretRef: "),
        ({"interval": 0}, "interval is 0 seconds"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_does(kwargs: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Webhook(**{"url": "http://x/", **kwargs})


def test_a_call_is_known_again_by_its_wait_and_what_it_says() -> None:
    key = idempotency_key(TASKRUN, "POST", "http://x/", b"{}")
    assert key == idempotency_key(TASKRUN._replace(name="other"), "POST", "http://x/", b"{}")
    others = [
        idempotency_key(TASKRUN._replace(uid="other"), "POST", "http://x/", b"{}"),
        idempotency_key(TASKRUN._replace(attempt=2), "POST", "http://x/", b"{}"),
        idempotency_key(TASKRUN._replace(segment=1), "POST", "http://x/", b"{}"),
        idempotency_key(TASKRUN, "PUT", "http://x/", b"{}"),
        idempotency_key(TASKRUN, "POST", "http://y/", b"{}"),
        idempotency_key(TASKRUN, "POST", "http://x/", None),
    ]
    assert len({key, *others}) == 7

"""Whatever is wrong with a wait fails its TaskRun with a reason, a sentence and an Event, and no other."""

from typing import Any

import pytest

pytestmark = pytest.mark.integration

SECRET = {"api_version": "v1", "kind": "Secret", "name": "s"}

BAD = [
    ("nope", {}, {}, "TriggerUnknown", "no trigger is registered as 'nope'"),
    ("os:system", {"command": "true"}, {}, "TriggerUnknown", "there are "),
    ("time", {"at": "tomorrow"}, {}, "TriggerInvalid", "'tomorrow' is not an RFC 3339 time"),
    ("http", {"uri": "http://x/"}, {}, "TriggerInvalid", "it takes url, method"),
    ("http", {"url": "http://x/", "body_condition": "response.json =="}, {}, "TriggerInvalid", "response.json =="),
    (
        "kubernetes",
        {**SECRET, "kind": "Pod", "namespace": "kube-system"},
        {},
        "TriggerInvalid",
        "is not that of the TaskRun",
    ),
    ("kubernetes", {**SECRET, "kind": "Wombat"}, {}, "TriggerFailed", "has no kind 'Wombat'"),
    ("kubernetes", SECRET, {}, "TriggerFailed", "the triggerer may not watch Secret"),
    ("raises", {}, {}, "TriggerFailed", "LookupError: no such row (at bad_triggers.py:"),
    ("ends", {}, {}, "TriggerEnded", "without an event"),
    ("too_much", {}, {}, "EventInvalid", "2097154 bytes of JSON; 4096 fit"),
    ("raises", {}, {"key": "0" * 32, "shard": 0}, "TriggerInvalid", "do not follow from its class and kwargs"),
    ("raises", {}, {"kwargs": "{"}, "TriggerInvalid", "are not JSON"),
]


def test_each_bad_wait_fails_with_its_reason_and_an_event(pool: Any) -> None:
    healthy = pool.deferred("duration", {"duration": "3s"})
    names = [pool.deferred(cls, kwargs, trigger=over) for cls, kwargs, over, _, _ in BAD]
    for name, (_, _, _, reason, words) in zip(names, BAD, strict=True):
        status = pool.ends(name)
        assert (status.state, status.reason) == ("Failed", reason), status.message
        assert words in status.message
        assert status.conditions[0].reason == reason
        pool.until(lambda name=name: bool(pool.events(name)), "there is an Event")
        assert pool.events(name) == [(reason, status.message)]
    assert pool.ends(healthy).state == "Scheduled"


def test_a_failed_wait_is_tried_again_as_the_task_says(pool: Any) -> None:
    spec = {"python": "m:f", "image": "i", "retries": {"limit": 1, "delay": "5s"}}
    status = pool.ends(pool.deferred("raises", {}, spec=spec))
    assert (status.state, status.reason) == ("UpForRetry", "TriggerFailed")
    assert status.retry_at is not None

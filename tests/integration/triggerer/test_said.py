"""A real API server: what people can read of a wait while it lasts, and when it has ended."""

import time
from typing import Any

import pytest

pytestmark = pytest.mark.integration

FAILING: list[tuple[str, dict[str, Any], str, str]] = [
    ("raises", {}, "TriggerFailed", "LookupError: no such row"),
    ("ends", {}, "TriggerEnded", ""),
    ("too_much", {}, "EventInvalid", ""),
    ("pkg.Gone", {}, "TriggerUnknown", "ModuleNotFoundError: No module named 'pkg'"),
]


def test_a_wait_says_what_it_waits_for_and_its_lines_can_be_read_meanwhile(empty_pool: Any) -> None:
    pool = empty_pool
    replica = pool.start()
    name = pool.deferred("tcp", {"host": "127.0.0.1", "port": 9, "interval": "1s"})
    pool.until(lambda: pool.status(name).reason == "Waiting", "it says what it waits for")
    status = pool.status(name)
    assert status.state == "Deferred"
    assert status.message.startswith("Waiting for tcp 127.0.0.1 9")
    assert " tries, last at " in status.message
    assert status.conditions == ()
    tag = f"[{pool.namespace}/{name} a1 s0] "

    def lines() -> list[str]:
        return [line.partition(tag)[2] for line in replica.text().splitlines() if tag in line]

    pool.until(lambda: status.message in lines(), "the log says so too")
    assert lines()[0].startswith("waits for tcp 127.0.0.1 9")
    pool.until(lambda: pool.events(name, "Normal") == [("Waiting", lines()[0])], "there is an Event")


@pytest.mark.parametrize(("class_name", "kwargs", "reason", "words"), FAILING)
def test_what_fails_leaves_its_traceback_and_is_tried_again(
    pool: Any, class_name: str, kwargs: dict[str, Any], reason: str, words: str
) -> None:
    spec = {"python": "m:f", "image": "i", "retries": {"limit": 1}}
    status = pool.ends(pool.deferred(class_name, kwargs, spec=spec))
    assert (status.state, status.reason) == ("UpForRetry", reason)
    assert words in (status.log or "")
    assert (status.log or "").startswith("Traceback") is bool(words)


def test_a_wait_that_took_too_long_goes_on_where_its_task_said(pool: Any) -> None:
    name = pool.deferred("tcp", {"host": "127.0.0.1", "port": 9}, timeout=2, on_timeout="m:late")
    status = pool.ends(name)
    assert (status.state, status.segment, status.timed_out, status.event) == ("Scheduled", 1, True, None)
    pool.until(lambda: "TimedOut" in dict(pool.events(name, "Normal")), "there is an Event")


def test_a_task_that_only_waits_succeeds_or_fails_by_its_event(pool: Any) -> None:
    spec: dict[str, Any] = {"trigger": {"class": "pkg.Foreign"}, "result": "event.slept * 2.0"}
    assert pool.ends(pool.deferred("pkg.Foreign", {"seconds": 0.5}, spec=spec)).result == "1.0"
    failing = {**spec, "failWhen": "event.slept > 0.1"}
    status = pool.ends(pool.deferred("pkg.Foreign", {"seconds": 0.5}, spec=failing))
    assert (status.state, status.reason) == ("Failed", "FailWhen")
    assert status.message == 'failWhen is true: event.slept > 0.1; the event: {"slept":0.5}'


def test_many_failures_at_once_are_all_reported_in_time(pool: Any) -> None:
    names = [pool.deferred("raises", {}) for _ in range(40)]
    assert {pool.ends(name).reason for name in names} == {"TriggerFailed"}
    time.sleep(1)
    pool.until(lambda: all(pool.events(name) for name in names), "each has its Event")

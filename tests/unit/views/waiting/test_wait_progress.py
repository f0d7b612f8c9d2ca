"""The views read the progress message exactly as the triggerer writes it."""

from types import SimpleNamespace
from typing import Any

import pytest
from torpor_triggerer.running import progress
from torpor_views.waiting.wait_progress import WaitProgress

from tests.unit.views.objects import NOW


def written(look: str, *, tries: int = 0, last: float = 0, following: float = 0, awaited: str = "for http x") -> str:
    poll_stats = SimpleNamespace(tries=tries, last_at=last, next_at=following)
    run: Any = SimpleNamespace(wait=SimpleNamespace(awaited=awaited), poll_stats=poll_stats, asks="")
    return progress.message(run, look, NOW)


def test_a_poll_has_result_tries_and_both_times() -> None:
    message = written("answered 404, retrying", tries=12, last=NOW - 20, following=NOW + 40)
    assert WaitProgress.parse(message, "http x") == WaitProgress(
        look="answered 404, retrying", tries=12, last_at=NOW - 20, next_at=NOW + 40
    )


def test_one_try_is_read() -> None:
    assert WaitProgress.parse(written("404", tries=1, last=NOW), "http x").tries == 1


def test_a_watch_has_the_time_at_which_it_was_seen() -> None:
    progress = WaitProgress.parse(written("ConfigMap x does not exist"), "http x")
    assert (progress.look, progress.last_at, progress.next_at, progress.interval) == (
        "ConfigMap x does not exist",
        NOW,
        None,
        None,
    )


def test_the_interval_is_that_between_two_polls() -> None:
    assert WaitProgress.parse(written("404", tries=2, last=NOW - 10, following=NOW + 20)).interval == 30


def test_a_wait_until_a_time_has_no_for() -> None:
    assert WaitProgress.parse(written("soon", awaited="until noon"), "until noon").look == "soon"


@pytest.mark.parametrize("message", ["", "Queued: 10 waits run", "Waiting for x", "404, last at 2026-11-22T10:00:00Z"])
def test_another_message_has_no_polls(message: str) -> None:
    assert WaitProgress.parse(message) == WaitProgress()


@pytest.mark.parametrize(("now", "expected"), [(NOW, 20), (NOW + 20, 20), (NOW + 21, 50), (NOW + 600, 620)])
def test_the_next_poll_follows_at_the_interval(now: float, expected: float) -> None:
    progress = WaitProgress.parse(written("404", tries=2, last=NOW - 10, following=NOW + 20))
    assert progress.next_after(now) == NOW + expected


def test_the_next_poll_of_a_watch_is_not_known() -> None:
    assert WaitProgress.parse(written("ConfigMap x does not exist"), "http x").next_after(NOW) is None

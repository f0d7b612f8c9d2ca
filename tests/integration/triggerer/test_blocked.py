"""A real API server and the triggerer as a process: a class that blocks the event loop, and the waits beside it."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from torpor_wire import times

from tests.support.machine import slowness

pytestmark = pytest.mark.integration

SECONDS = 4.0
"""How long it blocks: long enough for a loop that is kept to lose its Lease, which lasts 3 s here."""


def late(pool: Any, name: str) -> float:
    """By how many seconds a duration fired after its moment."""
    status = pool.ends(name)
    return float(times.epoch(status.fired_at) - times.epoch(json.loads(status.event)))


def blocking(pool: Any, tmp_path: Path, class_name: str = "blocks") -> tuple[str, Path]:
    """A wait that blocks again and again until a file is there."""
    until = tmp_path / "until"
    kwargs = {"seconds": SECONDS, "every": 0.2, "name": pool.name, "until": str(until)}
    return pool.deferred(class_name, kwargs), until


def moved(pool: Any, name: str) -> tuple[str, str]:
    """The Event that a trigger runs in a thread of its own. A busy machine may take a few blocks for short ones."""
    matches: list[tuple[str, str]] = []

    def has_moved() -> bool:
        matches[:] = [
            event
            for event in pool.events(name, blocks=True)
            if event[1].endswith("it runs in a thread of its own from now on")
        ]
        return bool(matches)

    pool.until(has_moved, "an Event says that it moved")
    return matches[0]


def test_who_blocks_is_named_on_its_taskrun_and_holds_up_the_others_once(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    replica = pool.start()
    name, until = blocking(pool, tmp_path)
    first = [pool.deferred("duration", {"duration": "2s"}) for _ in range(3)]
    reason, note = moved(pool, name)
    assert reason == "LoopBlocked"
    assert note.startswith("trigger blocks blocked the event loop for ")
    assert ", at blocks.py:" in note
    assert "in Blocks.run" in note
    assert max(late(pool, name) for name in first) > SECONDS / 4

    later = [pool.deferred("duration", {"duration": f"{number / 4 + 1}s"}) for number in range(40)]
    pool.until(lambda: "its thread has been blocked for" in (pool.status(name).message or ""), "it says so")
    assert replica.health == "ok\n"
    assert max(late(pool, name) for name in later) < SECONDS / 4 * slowness()
    assert [name for name in later if pool.events(name, blocks=True)] == []
    until.touch()
    assert pool.ends(name).event == '"fired"'


def test_what_computes_without_end_is_moved_too(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    replica = pool.start()
    name, _ = blocking(pool, tmp_path, "spins")
    moved(pool, name)
    later = [pool.deferred("duration", {"duration": f"{number / 4 + 1}s"}) for number in range(20)]
    assert max(late(pool, name) for name in later) < SECONDS / 2 * slowness()
    assert replica.health == "ok\n"


def test_a_wait_whose_thread_hangs_can_be_cancelled_and_time_out(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    replica = pool.start()
    name, _ = blocking(pool, tmp_path)
    moved(pool, name)
    hanging = pool.deferred("blocks", {"seconds": 1e6, "name": pool.name})
    limited = pool.deferred("blocks", {"seconds": 1.0, "name": f"{pool.name} too"}, timeout=3)
    time.sleep(2)
    pool.cancel(hanging)
    assert pool.ends(limited).reason == "DeferralTimeout"
    assert pool.ends(hanging).state == "Cancelled"
    replica.process.send_signal(signal.SIGTERM)
    assert replica.process.wait(timeout=180) == 0


def test_a_class_that_is_known_to_block_begins_apart(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    pool.start(more=("--apart", "blocks"))
    name, until = blocking(pool, tmp_path)
    later = [pool.deferred("duration", {"duration": f"{number / 4 + 1}s"}) for number in range(20)]
    assert max(late(pool, name) for name in later) < SECONDS / 4 * slowness()
    until.touch()
    assert pool.ends(name).event == '"fired"'
    assert pool.events(name, blocks=True) == []

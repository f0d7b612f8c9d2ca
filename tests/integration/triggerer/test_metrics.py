"""A real process: what it says of itself, and that it says nothing while its loop hangs."""

from pathlib import Path
from typing import Any

import pytest
from torpor_wire import times

from tests.integration.triggerer.scrape import ask, total

pytestmark = pytest.mark.integration


def test_a_replica_counts_what_waits_and_what_came_of_it(empty_pool: Any) -> None:
    pool = empty_pool
    replica = pool.start()
    pool.until(lambda: total(replica, "torpor_shards_owned") == 256, "it owns all shards")
    assert total(replica, "torpor_members") == 1
    waiting = [pool.deferred("time", {"at": times.rfc3339(4e9)}) for _ in range(3)]
    soon = pool.deferred("duration", {"duration": "1s"})
    failing = pool.deferred("raises", {})
    assert (pool.ends(soon).state, pool.ends(failing).reason) == ("Scheduled", "TriggerFailed")
    pool.until(lambda: total(replica, "torpor_triggers_running", **{"class": "time"}) == len(waiting), "three wait")
    pool.until(lambda: total(replica, "torpor_triggers_fired_total", **{"class": "time"}) == 1, "one has fired")
    pool.until(lambda: total(replica, "torpor_triggers_failed_total", reason="TriggerFailed") == 1, "one has failed")
    pool.until(lambda: total(replica, "torpor_fire_lateness_seconds_count") == 1, "its lateness is measured")
    assert total(replica, "torpor_process_resident_memory_bytes") > 10 * 2**20
    assert "_created" not in ask(replica, "/metrics")[1]


def test_waits_beyond_capacity_are_queued_and_fire_when_there_is_room(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    replica = pool.start(more=["--capacity", "1"])
    go = tmp_path / "go"
    first = pool.deferred("appears", {"path": str(go)})
    pool.until(lambda: total(replica, "torpor_triggers_running") == 1, "the first runs")
    second = pool.deferred("duration", {"duration": "2s"})
    pool.until(lambda: total(replica, "torpor_triggers_queued") == 1, "the second queues")
    pool.until(lambda: pool.status(second).reason == "Queued", "it says so")
    assert pool.status(second).message.startswith("Queued: 1 wait runs on this replica")
    go.touch()
    assert pool.ends(first).state == "Scheduled"
    assert (pool.ends(second).state, pool.ends(second).segment) == ("Scheduled", 1)


def test_health_says_nothing_while_the_loop_hangs_and_all_is_well_after(empty_pool: Any) -> None:
    pool = empty_pool
    replica = pool.start()
    assert ask(replica, "/livez") == ask(replica, "/healthz") == (200, "ok\n")
    pool.deferred("blocks", {"seconds": 8.0, "every": 1000.0})
    pool.until(lambda: is_silent(replica), "nothing is answered")
    pool.until(lambda: not is_silent(replica), "it answers again")
    pool.until(lambda: ask(replica, "/healthz") == (200, "ok\n"), "it is a member again")
    assert ask(replica, "/livez") == (200, "ok\n")
    pool.until(lambda: late_beats(replica) > 0, "one beat was late by more than 3 s")
    pool.until(lambda: total(replica, "torpor_loop_blocked_total", **{"class": "blocks"}) >= 1, "who did it is named")


def late_beats(replica: Any) -> float:
    beats = total(replica, "torpor_loop_lag_seconds_count")
    return beats - total(replica, "torpor_loop_lag_seconds_bucket", le="3.0")


def is_silent(replica: Any) -> bool:
    try:
        ask(replica, "/livez", seconds=1.5)
    except TimeoutError:
        return True
    return False

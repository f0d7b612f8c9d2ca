"""As `kubectl scale` does it: replicas as processes come and go while waits are due."""

import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from torpor_triggerer.sharding import assignment
from torpor_wire import times

from tests.integration.triggerer.scrape import total

pytestmark = pytest.mark.integration

LEASE = ["--lease-duration", "600"]
"""Nobody takes over what is not handed over."""
WAITS = 60
SHARDS = frozenset(range(256))
MOST = 77
"""Half as many again as the mean of five."""


def due_one_after_another(pool: Any, seconds: float) -> list[str]:
    """Waits that are due in the next seconds."""
    began = time.time() + 1
    moments = [times.rfc3339(began + number * seconds / WAITS) for number in range(WAITS)]
    return [pool.deferred("time", {"at": moment}) for moment in moments]


def uneven(pool: Any) -> list[str]:
    """Five identities of which the first, by weight alone, would own more shards than any may."""
    candidates = (five_around(f"r{number}", f"torpor-triggerer-{pool.name}-") for number in range(1000))
    return next(identities for identities, first_owns in candidates if first_owns > MOST)


def five_around(first: str, prefix: str) -> tuple[list[str], int]:
    """Those of a hundred others that together leave the first most shards, and how many."""
    members = {f"s{number}": [prefix + first, f"{prefix}s{number}"] for number in range(100)}
    wins = {name: assignment.owned(prefix + first, both) for name, both in members.items()}
    chosen, left = [first], SHARDS
    for _ in range(4):
        best = max(wins, key=lambda name: len(left & wins[name]))
        left &= wins.pop(best)
        chosen.append(best)
    return chosen, len(left)


def terminate(replicas: Sequence[Any]) -> None:
    for replica in replicas:
        replica.process.send_signal(signal.SIGTERM)
    assert [replica.process.wait(timeout=180) for replica in replicas] == [0] * len(replicas)


def fired(replicas: Sequence[Any], name: str) -> int:
    """The number of log lines that report a wait as fired."""
    return sum(
        f"/{name} a1 s0] " in line and line.endswith("] fired") for replica in replicas for line in said(replica)
    )


def said(replica: Any) -> list[str]:
    return list(replica.text().splitlines())


def test_from_one_replica_to_five_to_two_each_wait_fires_once(empty_pool: Any) -> None:
    pool = empty_pool
    identities = uneven(pool)
    first = pool.start(more=LEASE, identity=identities[0])
    names = due_one_after_another(pool, 10)
    for identity in identities[1:]:
        pool.start(more=LEASE, identity=identity)
    pool.until(lambda: all(total(replica, "torpor_members") == 5 for replica in pool.replicas), "five know five")
    pool.until(lambda: shards(pool.replicas) == 256, "five share the shards")
    assert all(0 < total(replica, "torpor_shards_owned") <= MOST for replica in pool.replicas)

    names += due_one_after_another(pool, 8)
    terminate([first, *pool.replicas[1:3]])
    staying = pool.replicas[3:]
    pool.until(lambda: shards(staying) == 256, "two have taken over at once")
    assert {(pool.ends(name).state, pool.ends(name).segment) for name in names} == {("Scheduled", 1)}
    pool.until(lambda: all(fired(pool.replicas, name) for name in names), "a log line reports each as fired")
    assert {fired(pool.replicas, name) for name in names} == {1}
    assert not [line for replica in pool.replicas for line in said(replica) if "Traceback" in line]


def test_what_a_killed_replica_waited_for_runs_elsewhere(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    killed, other = pool.start(), pool.start()
    pool.until(lambda: shards(pool.replicas) == 256 and shards([other]) > 0, "they share the shards")
    seen = tmp_path / "seen"
    names = [pool.deferred("appears", {"path": f"{seen.parent}/./{'/' * number}seen"}) for number in range(WAITS)]
    pool.until(lambda: runs(killed) + runs(other) == WAITS and runs(killed) > 0, "both have some")
    killed.process.kill()
    killed.process.wait()
    pool.until(lambda: runs(other) == WAITS, "the other runs them all")
    seen.touch()
    assert {(pool.ends(name).state, pool.ends(name).segment) for name in names} == {("Scheduled", 1)}
    assert {pool.ends(name).event for name in names} == {str(other.process.pid)}


def shards(replicas: Sequence[Any]) -> float:
    return sum(total(replica, "torpor_shards_owned") for replica in replicas)


def runs(replica: Any) -> float:
    return total(replica, "torpor_triggers_running")

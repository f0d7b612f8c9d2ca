"""Triggerers as processes that both believe a wait is theirs, and waits that move from one to another."""

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from torpor_wire import times

pytestmark = pytest.mark.integration

WAITS = 40
OVER = "The wait has already ended"


def lines(replica: Any, name: str, words: str) -> list[str]:
    """What a replica said of one wait."""
    return [line for line in replica.text().splitlines() if f"/{name} a1 s0]" in line and words in line]


def hold_leases(pool: Any) -> None:
    """Let the triggerers' account hold Leases in the pool's own namespace too."""
    metadata = {"name": "leases", "namespace": pool.namespace}
    verbs = ["get", "list", "watch", "create", "patch", "delete"]
    rule = {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": verbs}
    group = "rbac.authorization.k8s.io"
    reference = {"apiGroup": group, "kind": "Role", "name": "leases"}
    account = {"kind": "ServiceAccount", "name": "torpor-triggerer", "namespace": "torpor-system"}
    head = {"apiVersion": f"{group}/v1", "metadata": metadata}
    pool.server.apply({**head, "kind": "Role", "rules": [rule]})
    pool.server.apply({**head, "kind": "RoleBinding", "roleRef": reference, "subjects": [account]})


def test_of_two_owners_of_every_shard_only_one_fires_each_wait(empty_pool: Any) -> None:
    pool = empty_pool
    hold_leases(pool)
    replicas = pool.start(), pool.start(leases_in=pool.namespace)
    for replica in replicas:
        pool.until(lambda one=replica: "This replica owns 256 shards" in one.text(), "it owns all", replica)
    moment = times.rfc3339(time.time() + 5)
    names = [pool.deferred("time", {"at": moment}) for _ in range(WAITS)]
    ended = [pool.ends(name) for name in names]
    assert {(status.state, status.segment, json.loads(status.event)) for status in ended} == {("Scheduled", 1, moment)}
    for name in names:
        pool.until(
            lambda name=name: sum(len(lines(replica, name, "] fired")) for replica in replicas) == 1, "one has fired it"
        )
    pool.until(
        lambda: any(lines(replica, name, OVER) for replica in replicas for name in names),
        "both tried at the same moment, and one heard that it lost",
    )
    assert not [
        name
        for name in names
        if any(lines(replica, name, "] fired") and lines(replica, name, OVER) for replica in replicas)
    ]
    time.sleep(1)
    assert {pool.status(name).segment for name in names} == {1}


def test_a_triggerer_suspended_beyond_its_lease_fires_nothing_again(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    replicas = pool.start(), pool.start()
    pool.until(
        lambda: all(replica.text().count("members: ") >= 1 + (replica is replicas[0]) for replica in replicas),
        "both know both",
    )
    seen = tmp_path / "seen"
    name = pool.deferred("appears", {"path": str(seen)})
    pool.until(lambda: any(lines(replica, name, "waits for") for replica in replicas), "one serves it")
    owner = next(replica for replica in replicas if lines(replica, name, "waits for"))
    other = next(replica for replica in replicas if replica is not owner)
    os.kill(owner.process.pid, signal.SIGSTOP)
    try:
        pool.until(lambda: bool(lines(other, name, "waits for")), "the other has taken it over", other)
        seen.touch()
        status = pool.ends(name)
    finally:
        os.kill(owner.process.pid, signal.SIGCONT)
    assert (status.segment, json.loads(status.event)) == (1, other.process.pid)
    pool.until(lambda: owner.health == "ok\n", "it works on", owner)
    assert {pool.ends(pool.deferred("duration", {"duration": "1s"})).segment for _ in range(8)} == {1}
    assert pool.status(name).segment == 1
    assert json.loads(pool.status(name).event) == other.process.pid
    assert not lines(owner, name, "] fired")
    assert "Traceback" not in owner.text()


def test_a_moved_trigger_is_cleaned_up_and_only_a_cancellation_kills_it(empty_pool: Any, tmp_path: Path) -> None:
    pool = empty_pool
    note, cleaned = tmp_path / "note", tmp_path / "note.cleanup"
    first = pool.start()
    name = pool.deferred("killed", {"note": str(note)})
    pool.until(lambda: bool(lines(first, name, "waits for")), "it is served")
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(timeout=180) == 0
    assert (cleaned.read_text(), note.exists()) == ("cleaned up\n", False)

    second = pool.start()
    pool.until(lambda: bool(lines(second, name, "waits for")), "it is served again")
    second.process.kill()
    second.process.wait()
    third = pool.start()
    pool.until(lambda: bool(lines(third, name, "waits for")), "and again")
    assert (cleaned.read_text(), note.exists()) == ("cleaned up\n", False)

    pool.cancel(name)
    assert pool.ends(name).state == "Cancelled"
    assert (cleaned.read_text(), note.read_text()) == ("cleaned up\ncleaned up\n", "killed")

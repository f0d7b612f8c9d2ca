"""One wait may be as bad as it likes: the fifty beside it do not notice, and it says what is wrong with it."""

import json
import uuid
from collections.abc import Mapping
from typing import Any

import pytest
from torpor_wire import times

from tests.support.machine import slowness
from tests.support.manifests import manifest

pytestmark = pytest.mark.integration

DOES = [
    ("__init__ exits", "TriggerInvalid", "SystemExit: 3"),
    ("__init__ is interrupted", "TriggerInvalid", "KeyboardInterrupt"),
    ("__init__ is unspeakable", "TriggerInvalid", "UnspeakableError: (no text)"),
    ("exits", "TriggerFailed", "SystemExit: 3"),
    ("exits in a task", "TriggerFailed", "SystemExit: 3"),
    ("is interrupted", "TriggerFailed", "KeyboardInterrupt"),
    ("is interrupted in a task", "TriggerFailed", "KeyboardInterrupt"),
    ("is unspeakable", "TriggerFailed", "UnspeakableError: (no text)"),
    ("cancels itself", "TriggerFailed", "CancelledError"),
    ("never comes back", "TriggerFailed", "RecursionError"),
    ("a megabyte", "EventInvalid", "1048578 bytes of JSON; 4096 fit"),
    ("half a letter", "EventInvalid", "an unpaired surrogate"),
    ("no json", "EventInvalid", "not JSON"),
    ("an object", "EventInvalid", "not JSON"),
    ("deep", "EventInvalid", "not JSON"),
    ("a trap", "TriggerFailed", "SystemExit: 3"),
]
FIRES = ["cleanup exits", "cleanup is interrupted", "looks badly", "infinite"]
STANDS: list[tuple[dict[str, Any], str]] = [
    ({"kwargs": '{"does":' + "[" * 1500 + "]" * 1500 + "}"}, "TriggerInvalid"),
    ({"kwargs": '{"does":' + "9" * 4000 + "}"}, "TriggerInvalid"),
    ({"kwargs": '{"does":1e999}'}, "TriggerInvalid"),
    ({"kwargs": '{"does":"\\ud800"}'}, "TriggerInvalid"),
    ({"kwargs": '["does"]'}, "TriggerInvalid"),
    ({"kwargs": '{"does":{"secretRef":{"name":"../..","key":7}}}'}, "TriggerInvalid"),
    ({"shard": 255, "key": "f" * 32}, "TriggerInvalid"),
]
BY_HAND: list[dict[str, object]] = [
    {},
    {"attempt": 2**40},
    {"deadline": "9999-12-31T23:59:59Z", "trigger": {"class": "", "kwargs": "", "key": "", "shard": 0}},
    {"deferredSeconds": 1e300, "deferredAt": "0001-01-01T00:00:00Z"},
]


def test_whatever_one_wait_does_no_other_notices(empty_pool: Any) -> None:
    pool = empty_pool
    replica = pool.start()
    healthy = [pool.deferred("duration", {"duration": f"{3 + number / 10}s"}) for number in range(50)]
    doing = {does: pool.deferred("poison", {"does": does}) for does in [*(behaviour for behaviour, *_ in DOES), *FIRES]}
    standing = [pool.deferred("poison", {"does": "exits"}, trigger=over) for over, _ in STANDS]
    by_hand = [_by_hand(pool, over) for over in BY_HAND]

    for does, reason, words in DOES:
        status = pool.ends(doing[does])
        assert (status.state, status.reason) == ("Failed", reason), (does, status.message)
        assert words in status.message, (does, status.message)
    assert {does: pool.ends(doing[does]).state for does in FIRES} == dict.fromkeys(FIRES, "Scheduled")
    for name, (over, reason) in zip(standing, STANDS, strict=True):
        status = pool.ends(name)
        assert (status.state, status.reason) == ("Failed", reason), (over, status.message)
    assert {pool.ends(name).reason for name in by_hand} == {"TriggerInvalid"}
    late = [_late(pool, name) for name in healthy]
    assert max(late) < slowness()
    assert [name for name in healthy if pool.events(name)] == []
    assert replica.health == "ok\n"
    assert replica.process.poll() is None
    assert "cannot be served" not in replica.text()


def _by_hand(pool: Any, over: Mapping[str, object]) -> str:
    """A TaskRun that somebody made Deferred who may, and did not know how."""
    name = f"by-hand-{uuid.uuid4().hex[:8]}"
    spec = {"workflow": {"name": "w", "uid": "u"}, "task": "t", "triggerPool": pool.name, "python": "m:f", "image": "i"}
    body = manifest("TaskRun", name, spec)
    pool.server.create("taskruns", pool.namespace, body).expect(201)
    status = {"state": "Deferred", **over}
    patch = [{"op": "add", "path": f"/status/{field}", "value": value} for field, value in status.items()]
    pool.server.patch_status(pool.namespace, name, patch).expect(200)
    return name


def _late(pool: Any, name: str) -> float:
    status = pool.ends(name)
    assert (status.state, status.segment) == ("Scheduled", 1)
    return float(times.epoch(status.fired_at) - times.epoch(json.loads(status.event)))

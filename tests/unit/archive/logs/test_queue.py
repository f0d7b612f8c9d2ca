"""The order in which logs are read."""

from dataclasses import replace

import pytest
from torpor_archive.limits.transfer_slots import SlotLimits
from torpor_archive.logs.logged_pod import LoggedPod
from torpor_archive.logs.queue import FOLLOWS, READS, LogQueue

from tests.unit.archive.logs.test_logged_pod import DELETED, RUNNING, pod, terminated

ENDED = pod(terminated(0), phase="Succeeded")
DELETING = pod(RUNNING, **DELETED)


def queue(total: int = 4, share: int = 2) -> LogQueue:
    return LogQueue(
        SlotLimits(total=total, per_namespace=share, reserved=0), SlotLimits(total=2, per_namespace=1, reserved=0)
    )


def named(uid: str, namespace: str = "team", of: LoggedPod = ENDED) -> LoggedPod:
    return replace(of, uid=uid, namespace=namespace)


def uids(pods: list[LoggedPod]) -> list[str]:
    return [each.uid for each in pods]


def test_a_namespace_gets_its_share_and_no_more() -> None:
    logs = queue()
    for number in range(5):
        logs.add(named(f"a{number}", "a"))
    logs.add(named("b0", "b"))
    assert uids(logs.take(10)) == ["a0", "b0", "a1"]
    logs.release(named("a0", "a"))
    assert uids(logs.take(10)) == ["a2"]


def test_the_total_is_limited() -> None:
    logs = queue(total=3)
    for namespace in "abcde":
        logs.add(named(namespace, namespace))
    assert uids(logs.take(10)) == ["a", "b", "c"]
    assert len(logs) == 2


def test_a_pod_that_is_being_deleted_comes_first() -> None:
    logs = queue()
    logs.add(named("ended"))
    logs.add(named("deleted", of=DELETING))
    assert uids(logs.take(10)) == ["deleted", "ended"]


def test_a_pod_that_ends_while_it_is_queued_is_taken_once() -> None:
    logs = queue()
    logs.add(named("x", of=DELETING))
    logs.add(named("x"))
    logs.add(named("x"))
    (taken,) = logs.take(10)
    assert taken == named("x")
    logs.release(taken)
    assert logs.take(10) == []
    logs.add(named("y", of=DELETING))
    assert uids(logs.take(10)) == ["y"]


@pytest.mark.attack
@pytest.mark.parametrize(("of", "limits"), [(DELETING, FOLLOWS), (ENDED, READS)])
def test_two_namespaces_leave_places_to_a_third(of: LoggedPod, limits: SlotLimits) -> None:
    logs = LogQueue()
    for namespace in ("a", "b", "c", "d", "e"):
        for number in range(100):
            logs.add(named(f"{namespace}{number}", namespace, of))
    held = logs.take(1000)
    assert len(held) <= limits.total - limits.reserved + 5
    for number in range(limits.reserved - 5):
        logs.add(named(f"late-{number}", f"late-{number}", of))
    assert len(logs.take(1000)) == limits.reserved - 5


def test_a_namespace_with_a_log_waits_while_only_reserved_places_are_free() -> None:
    limits = SlotLimits(total=4, per_namespace=3, reserved=2)
    logs = LogQueue(limits, limits)
    for number in range(3):
        logs.add(named(f"a{number}", "a"))
    assert uids(logs.take(10)) == ["a0", "a1"]
    for namespace in "bcd":
        logs.add(named(namespace, namespace))
    assert uids(logs.take(10)) == ["b", "c"]

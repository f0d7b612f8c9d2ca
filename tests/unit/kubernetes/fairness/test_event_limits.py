"""Which Events are posted: like ones once, few of one object, a share for each namespace."""

from collections import Counter

import pytest
from torpor_kubernetes.fairness.event_limits import (
    ENTRIES,
    OBJECT_BURST,
    OBJECT_SECONDS,
    REPORT_SECONDS,
    SIMILAR,
    SIMILAR_SECONDS,
    EventIdentity,
    EventLimits,
    Verdict,
)


def event(
    text: object, *, uid: str = "u", namespace: str = "a", reason: str = "Odd", warning: bool = True
) -> EventIdentity:
    return EventIdentity(namespace, uid, warning, reason, f"{namespace}/{uid}/{reason}/{text}")


def posted(limits: EventLimits, events: list[EventIdentity], now: float = 0.0) -> int:
    return Counter(limits.admit(event, now).verdict for event in events)[Verdict.POST]


def test_the_same_text_is_posted_once_in_ten_minutes() -> None:
    limits = EventLimits(rate=10.0, burst=100.0)
    assert [limits.admit(event(1), now).verdict for now in (0.0, 599.0, 601.0)] == ["Post", "Repeated", "Post"]
    assert limits.dropped == 0


def test_an_event_that_could_not_be_posted_is_tried_again() -> None:
    limits = EventLimits(rate=10.0, burst=100.0)
    assert limits.admit(event(1), 0.0).verdict is Verdict.POST
    limits.withdraw(event(1))
    assert limits.admit(event(1), 1.0).verdict is Verdict.POST


def test_ten_similar_events_are_posted_and_the_next_one_counts_the_others() -> None:
    limits = EventLimits(rate=100.0, burst=1000.0)
    assert posted(limits, [event(number) for number in range(100)]) == SIMILAR
    later = limits.admit(event("later"), SIMILAR_SECONDS / SIMILAR)
    assert later == (Verdict.POST, 100 - SIMILAR)


def test_one_object_has_twenty_five_events_and_then_one_in_five_minutes() -> None:
    limits = EventLimits(rate=100.0, burst=1000.0)
    events = [event(number, reason=f"R{number}") for number in range(100)]
    assert posted(limits, events) == OBJECT_BURST
    assert posted(limits, events[50:], OBJECT_SECONDS) == 1


def test_normal_events_of_an_object_leave_room_for_its_warnings() -> None:
    limits = EventLimits(rate=100.0, burst=1000.0)
    assert posted(limits, [event(n, reason=f"R{n}", warning=False) for n in range(100)]) == OBJECT_BURST
    assert posted(limits, [event("w")]) == 1


@pytest.mark.attack
def test_a_namespace_with_very_many_objects_posts_at_its_rate() -> None:
    limits = EventLimits(rate=2.0, burst=50.0)
    flood = [event(second, uid=f"u{second}-{n}") for second in range(60) for n in range(100)]
    total = sum(posted(limits, flood[100 * second : 100 * second + 100], float(second)) for second in range(60))
    assert total == 50 + 2 * 59
    assert posted(limits, [event("x", namespace="b")], 59.0) == 1


def test_half_of_the_burst_of_a_namespace_is_for_warnings() -> None:
    limits = EventLimits(rate=1.0, burst=50.0)
    assert posted(limits, [event(0, uid=f"n{n}", warning=False) for n in range(100)]) == 25
    assert posted(limits, [event(0, uid=f"w{n}") for n in range(100)]) == 25


def test_dropped_events_are_reported_once_a_minute_and_by_namespace() -> None:
    limits = EventLimits(rate=0.0, burst=10.0)
    for namespace in ("a", "a", "b"):
        limits.admit(event(1, namespace=namespace), 0.0)
    assert limits.report(0.0) == "Dropped 3 Events: 2 of namespace a, 1 of namespace b"
    limits.admit(event(1, namespace="b"), 1.0)
    assert limits.report(REPORT_SECONDS - 1.0) is None
    assert limits.report(REPORT_SECONDS) == "Dropped 1 Events: 1 of namespace b"
    assert limits.dropped == 4


@pytest.mark.attack
def test_the_memory_of_the_limits_is_bounded() -> None:
    limits = EventLimits(rate=1e9, burst=1e9)
    for number in range(3 * ENTRIES):
        limits.admit(event(number, uid=f"u{number}", namespace=f"n{number}"), 0.0)
    assert max(len(limits._posted), len(limits._objects), len(limits._namespaces), len(limits._hidden)) <= ENTRIES

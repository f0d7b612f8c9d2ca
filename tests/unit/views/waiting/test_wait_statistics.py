import json

import pytest
from torpor_views.instance import TriggerView
from torpor_views.waiting import wait_statistics
from torpor_views.waiting.wait_statistics import WaitStatistics

from tests.unit.views.objects import NOW, Object, at, deferred, taskrun


def statistics(*bodies: Object) -> WaitStatistics:
    built = WaitStatistics(NOW)
    for body in bodies:
        built.add(body)
    return built


def test_waits_are_counted_by_class_pool_and_age() -> None:
    built = statistics(
        deferred("a", deferredAt=at(-30)),
        deferred("b", class_name="tcp", deferredAt=at(-7200), reason="PoolUnserved", spec={"triggerPool": "slow"}),
        deferred("c", deferredAt=at(-30)),
        taskrun("d", "Running"),
    )
    assert built.total == 3
    assert built.by_class == (("http", 2), ("tcp", 1))
    assert dict(built.by_age) == {"under 1 min": 2, "1 to 6 h": 1} | dict.fromkeys(
        ("1 to 10 min", "10 to 60 min", "6 to 24 h", "1 to 7 days", "over 7 days"), 0
    )
    assert {name: (pool.waits, pool.stuck) for name, pool in built.pools.items()} == {"default": (2, 0), "slow": (1, 1)}


@pytest.mark.parametrize(
    ("kwargs", "host"),
    [
        ({"url": "https://user:secret@example.org/x"}, "example.org"),
        ({"host": "db", "port": 1}, "db"),
        ({"url": "http://[bad"}, ""),
        ({"at": "x"}, ""),
        ([1], ""),
    ],
)
def test_the_host_of_a_wait_has_no_credentials(kwargs: object, host: str) -> None:
    assert wait_statistics.host_of(TriggerView(class_name="http", kwargs=json.dumps(kwargs))) == host


def test_equal_waits_share_a_trigger() -> None:
    built = statistics(*(deferred("a", number) for number in range(3)), deferred("b", trigger={"key": "other"}))
    assert built.triggers == 2
    assert [(each.class_name, each.waits) for each in built.shared] == [("http", 3)]


def test_the_waits_that_end_soonest_are_due() -> None:
    moment = {"kwargs": json.dumps({"at": at(60)})}
    built = statistics(
        deferred("slow", deadline=at(600)),
        deferred("soon", class_name="time", trigger=moment, deadline=at(600)),
        deferred("never"),
    )
    assert [(wait.ref, wait.at - NOW) for wait in built.due] == [("soon", 60), ("slow", 600)]


def test_of_many_waits_only_the_soonest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait_statistics, "DUE_MAX", 3)
    built = statistics(*(deferred("a", number, deadline=at(1000 - number)) for number in range(50)))
    assert [wait.ref for wait in built.due] == ["a/49", "a/48", "a/47"]


def test_classes_that_a_user_invents_do_not_grow_the_table() -> None:
    built = statistics(*(deferred("a", number, class_name=f"class{number}") for number in range(200)))
    assert len(built.by_class) == wait_statistics.KINDS_MAX + 1
    assert dict(built.by_class)[wait_statistics.OTHERS] == 150


def test_a_trigger_that_blocked_the_loop_is_blamed() -> None:
    built = statistics(deferred("a", reason="LoopBlocked", message="blocked the event loop for 3 s"))
    assert [(wait.ref, wait.class_name, wait.message) for wait in built.blamed] == [
        ("a", "http", "blocked the event loop for 3 s")
    ]


def test_what_is_no_taskrun_is_not_counted() -> None:
    assert statistics({"status": {"state": "Deferred", "trigger": 7}}, {"status": []}, {}).total == 1

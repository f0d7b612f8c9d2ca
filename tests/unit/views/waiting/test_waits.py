"""Waits grouped by source and pool, and how many triggers and queries serve them: the rules of the triggerer."""

from typing import Any

import pytest
from torpor.triggers import Http, Object, Sql
from torpor_views.waiting import wait_groups
from torpor_views.waiting.wait_groups import WaitGroup
from torpor_wire import trigger

from tests.unit.views import objects
from tests.unit.views.objects import NOW, at, deferred


def stored(class_name: str, taskrun: str = "t", **kwargs: Any) -> dict[str, Any]:
    """The trigger as the worker stores it."""
    built = trigger.build(class_name, kwargs, namespace="data", pool="default", now=NOW, taskrun=taskrun)
    return dict(built.on_status())


def groups(*bodies: objects.Object) -> tuple[WaitGroup, ...]:
    return wait_groups.build(bodies, now=NOW)


def some(class_name: str, *kwargs: dict[str, Any], **fields: Any) -> list[objects.Object]:
    return [
        deferred("load", n, trigger=stored(class_name, str(n), **arguments), **fields)
        for n, arguments in enumerate(kwargs)
    ]


def test_equal_waits_share_one_trigger_at_any_interval() -> None:
    url = "https://example.org/a"
    (group,) = groups(*some("http", {"url": url}, {"url": url, "interval": 5}, {"url": url}))
    assert (group.source, len(group.waits), group.triggers, group.queries) == (url, 3, 1, 1)
    assert [wait.shares for wait in group.waits] == [2, 2, 2]


def test_waits_with_different_timeouts_do_not_share_a_trigger() -> None:
    url = "https://example.org/a"
    (group,) = groups(*some("http", {"url": url, "timeout": 1}, {"url": url, "timeout": 2}))
    assert group.triggers == 2


def test_different_waits_on_one_source_share_a_query() -> None:
    database = {"url": "postgresql://db/x", "query": "SELECT :id"}
    bodies = some("sql", *({**database, "params": {"id": n}} for n in range(5)))
    (group,) = groups(*bodies)
    assert (group.source, group.triggers, group.queries) == ("postgresql://db/x SELECT :id", 5, 1)


def test_a_user_and_a_password_in_an_address_are_not_shown() -> None:
    (group,) = groups(*some("sql", {"url": "postgresql://ann:hunter2@db/x", "query": "SELECT 1"}))
    assert group.source == "postgresql://db/x SELECT 1"


def test_objects_of_a_folder_share_a_query_and_files_do_not() -> None:
    (folder,) = groups(*some("object", {"url": "s3://b/in/1"}, {"url": "s3://b/in/2"}))
    assert (folder.source, folder.triggers, folder.queries) == ("s3://b/in/", 2, 1)
    (files,) = groups(*some("object", {"url": "file:///in/1"}, {"url": "file:///in/2"}))
    assert files.queries == 2


@pytest.mark.parametrize(
    ("class_name", "first", "other"),
    [
        ("http", {"url": "https://e.org/a"}, {"url": "https://e.org/a", "body_condition": "body.x"}),
        ("http", {"url": "https://e.org/a"}, {"url": "https://e.org/a", "headers": {"X-A": "b"}}),
        ("sql", {"url": "sqlite:///x", "query": "SELECT 1"}, {"url": "sqlite:///x", "query": "SELECT 2"}),
        (
            "sql",
            {"url": "sqlite:///x", "query": "SELECT :a", "params": {"a": 1}},
            {"url": "sqlite:///x", "query": "SELECT :a", "params": {"a": "1"}},
        ),
        ("object", {"url": "s3://b/in/1"}, {"url": "s3://b/in/"}),
        ("object", {"url": "s3://b/in/1"}, {"url": "s3://b/in/2", "options": {"region": "eu"}}),
    ],
)
def test_two_waits_share_a_query_if_the_sources_of_their_classes_are_equal(
    class_name: str, first: dict[str, Any], other: dict[str, Any]
) -> None:
    kinds = {"http": Http, "sql": Sql, "object": Object}
    sources = [_source(kinds[class_name](**kwargs)) for kwargs in (first, other)]
    wait_groups = groups(*some(class_name, first, other))
    assert (sum(group.queries for group in wait_groups) == 1) is (sources[0] == sources[1])


def _source(trigger_object: Any) -> Any:
    class NoServices:
        folders = ()

    trigger_object.services = NoServices()
    trigger_object.database = trigger_object.url  # as `bind` of the class does
    return trigger_object.source


def test_an_approval_and_a_sealed_wait_are_never_shared() -> None:
    (approvals,) = groups(*some("approval", {"question": "Go?"}, {"question": "Go?"}))
    assert approvals.triggers == 2
    sealed = {"url": "https://example.org", "headers": {"encrypted__auth": "x"}}
    (waits_,) = groups(*some("http", sealed, sealed))
    assert waits_.triggers == 2


def test_waits_of_two_namespaces_are_one_group_but_share_nothing() -> None:
    bodies = some("http", {"url": "https://example.org"}, {"url": "https://example.org"})
    bodies[1]["metadata"]["namespace"] = "other"
    (group,) = groups(*bodies)
    assert (group.triggers, group.queries) == (2, 2)


def test_pools_are_apart_and_the_largest_group_is_first() -> None:
    url = {"url": "https://example.org"}
    wait_groups = groups(
        *some("http", url, url), *some("http", url, spec={"triggerPool": "big"}), objects.taskrun("x", "Running")
    )
    assert [(group.pool, len(group.waits)) for group in wait_groups] == [("default", 2), ("big", 1)]


def test_a_wait_has_its_polls_and_a_group_its_oldest_and_its_stuck_waits() -> None:
    message = f"Waiting for http x: 404, 3 tries, last at {at(-9)[:19]}Z, next at {at(21)[:19]}Z"
    body = deferred("load", 0, reason="Waiting", message=message, trigger=stored("http", url="https://e.org"))
    old = deferred("load", 1, deferredAt=at(-500), reason="Queued", trigger=stored("http", url="https://e.org"))
    (group,) = groups(body, old)
    assert (group.oldest, group.next_at, group.stuck) == (NOW - 500, NOW + 21, 1)
    assert [(wait.ref, wait.tries, wait.look) for wait in group.waits] == [
        ("load/1", 0, ""),
        ("load/0", 3, "for http x: 404"),
    ]


def test_a_source_that_cannot_be_read_is_named_by_what_the_wait_is_for() -> None:
    (group,) = groups(deferred("load", trigger={"kwargs": "[", "class": "own.Trigger", "waitsFor": "own thing"}))
    assert (group.class_name, group.source) == ("own.Trigger", "own thing")


def test_a_wait_for_a_time_or_a_tick_says_when_it_fires() -> None:
    time = deferred("load", class_name="time", trigger={"kwargs": f'{{"at":"{at(90)}"}}'})
    tick = deferred("load", class_name="cron", trigger={"kwargs": '{"expression":"20 * * * *","delay":"10m"}'})
    odd = deferred("load", class_name="cron", trigger={"kwargs": '{"expression":"no"}'})
    assert [groups(item)[0].next_at for item in (time, tick, odd)] == [NOW + 90, NOW + 1800, None]

"""A trigger on a TaskRun: absolute, keyed, in a shard, and described."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import canonical, constants, times, trigger
from torpor_wire.canonical import Json
from torpor_wire.secret_ref import SecretRef

NOW = 1_700_000_000.0


def build(  # noqa: PLR0913 - what a key is made of
    class_name: str,
    kwargs: Mapping[str, Json],
    *,
    pool: str = "default",
    namespace: str = "ns",
    account: str = constants.TASK_ACCOUNT,
    taskrun: str = "",
) -> trigger.DeferredTrigger:
    return trigger.build(class_name, kwargs, namespace=namespace, pool=pool, now=NOW, account=account, taskrun=taskrun)


def test_a_duration_is_stored_as_the_time_at_which_it_ends() -> None:
    deferred = build("duration", {"duration": "1h30m"})
    assert (deferred.class_name, deferred.kwargs) == ("time", '{"at":"2023-11-14T23:43:20.000Z"}')


@pytest.mark.parametrize("length", [90, 90.0, "90s", "1m30s"])
def test_a_duration_may_be_seconds_or_text(length: Json) -> None:
    assert build("duration", {"duration": length}).kwargs == f'{{"at":"{times.rfc3339(NOW + 90)}"}}'


@pytest.mark.parametrize(
    "kwargs", [{}, {"duration": True}, {"duration": "soon"}, {"duration": None}, {"duration": "5s", "interval": 1}]
)
def test_a_duration_that_is_none_is_refused(kwargs: dict[str, Json]) -> None:
    with pytest.raises(trigger.TriggerError, match="trigger duration: "):
        build("duration", kwargs)


def test_a_duration_of_another_type_is_reported_with_what_to_write() -> None:
    with pytest.raises(trigger.TriggerError, match="`duration` is true; write 30s"):
        build("duration", {"duration": True})


@pytest.mark.parametrize("length", [10**400, -1e300, float("nan")])
def test_a_duration_that_reaches_out_of_all_time_is_refused(length: Json) -> None:
    with pytest.raises(trigger.TriggerError, match="trigger duration: "):
        build("duration", {"duration": length})


def test_waits_that_differ_only_in_how_they_poke_share_a_key() -> None:
    built = build("http", {"url": "https://example.org", "interval": 5, "poke_interval": 1, "timeout": 3})
    assert built.key == build("http", {"url": "https://example.org"}).key


def test_waits_share_a_key_for_any_order_and_spelling_of_their_kwargs() -> None:
    assert build("file", {"a": 1, "b": 2.0}).key == build("file", {"b": 2, "a": 1.0}).key


def test_two_tasks_that_wait_for_one_time_share_a_key() -> None:
    assert build("duration", {"duration": "60s"}).key == build("time", {"at": times.rfc3339(NOW + 60)}).key


def test_waits_of_another_class_value_pool_or_namespace_do_not_share_a_key() -> None:
    keys = {
        build("http", {"url": "a"}).key,
        build("http", {"url": "b"}).key,
        build("httq", {"url": "a"}).key,
        build("http", {"url": "a"}, pool="other").key,
        build("http", {"url": "a"}, namespace="other").key,
    }
    assert len(keys) == 5


def test_what_one_account_may_read_of_a_secret_is_not_shared_with_another() -> None:
    password: Json = SecretRef("db", "password").written()
    deep: Mapping[str, Json] = {"headers": [{"authorization": password}]}
    assert build("http", deep).key == build("http", deep, account=constants.TASK_ACCOUNT).key
    assert build("http", deep).key != build("http", deep, account="other").key
    assert build("http", {"url": "a"}).key == build("http", {"url": "a"}, account="other").key


@pytest.mark.parametrize("class_name", ["approval", "webhook"])
def test_what_is_one_taskruns_own_is_never_shared_with_another(class_name: str) -> None:
    nested: Mapping[str, Json] = {"triggers": [{"class": "all_of", "kwargs": {"triggers": [{"class": class_name}]}}]}
    cases: list[tuple[str, Mapping[str, Json]]] = [(class_name, {"url": "a"}), ("any_of", nested)]
    for name, kwargs in cases:
        assert build(name, kwargs, taskrun="a").key != build(name, kwargs, taskrun="b").key
    assert build("http", {"url": "a"}, taskrun="a").key == build("http", {"url": "a"}, taskrun="b").key


def test_a_cron_keeps_the_time_after_which_its_tick_is_searched() -> None:
    deferred = build("cron", {"expression": "0 6 * * *"})
    assert trigger.parse(deferred.kwargs) == {"expression": "0 6 * * *", "after": times.rfc3339(NOW)}
    assert deferred.waits_for == "cron 0 6 * * *"
    later = trigger.absolute("cron", trigger.parse(deferred.kwargs), NOW + 1_000_000)
    assert later == ("cron", trigger.parse(deferred.kwargs))


def test_a_null_after_of_a_cron_is_the_time_of_the_deferral() -> None:
    absolute = trigger.absolute("cron", {"expression": "0 6 * * *", "after": None}, NOW)
    assert absolute == ("cron", {"expression": "0 6 * * *", "after": times.rfc3339(NOW)})


def test_what_is_relative_inside_of_several_is_made_absolute_too() -> None:
    parts: list[Json] = [{"class": "duration", "kwargs": {"duration": "1m"}}, {"class": "http", "kwargs": {"url": "a"}}]
    deferred = build("any_of", {"triggers": [{"class": "all_of", "kwargs": {"triggers": parts}}, parts[1]]})
    until = times.rfc3339(NOW + 60)
    assert trigger.parse(deferred.kwargs) == {
        "triggers": [
            {"class": "all_of", "kwargs": {"triggers": [{"class": "time", "kwargs": {"at": until}}, parts[1]]}},
            parts[1],
        ]
    }
    assert deferred.waits_for == f"(until {until} and http a) or http a"


@pytest.mark.parametrize("class_name", sorted(trigger.CURSORS))
def test_a_cursor_is_part_of_the_key_and_not_of_the_description(class_name: str) -> None:
    without, null, first, second = (
        build(class_name, {"path": "x", **given})
        for given in (
            {},
            {"cursor": None},
            {"cursor": "2026-11-20T08:00:00.000Z"},
            {"cursor": "2026-11-21T08:00:00.000Z"},
        )
    )
    assert len({without.key, null.key, first.key, second.key}) == 4
    assert first.waits_for == without.waits_for == f"{class_name} x"
    inner = build("any_of", {"triggers": [{"class": class_name, "kwargs": {"path": "x", "cursor": "7"}}]})
    assert inner.waits_for == f"{class_name} x"


@pytest.mark.parametrize("class_name", ["cron", "workflow"])
def test_a_null_cursor_of_a_class_of_time_becomes_the_deferral(class_name: str) -> None:
    assert trigger.absolute(class_name, {"cursor": None}, NOW) == (class_name, {"cursor": times.rfc3339(NOW)})
    assert trigger.absolute(class_name, {"cursor": "x"}, NOW) == (class_name, {"cursor": "x"})
    assert trigger.absolute("sql", {"cursor": None}, NOW) == ("sql", {"cursor": None})


@pytest.mark.parametrize("triggers", [None, "http", [1], [{}], [{"class": 1}], [{"class": "cron", "kwargs": 1}]])
def test_several_of_what_is_no_trigger_are_left_for_the_class_to_refuse(triggers: Json) -> None:
    deferred = build("any_of", {"triggers": triggers})
    assert trigger.parse(deferred.kwargs) == {"triggers": triggers}


def test_key_and_shard_never_change_since_they_are_part_of_the_api() -> None:
    deferred = build("http", {"url": "https://example.org/_SUCCESS", "method": "HEAD"})
    assert (deferred.key, deferred.shard) == ("58a722324a993c6213f76d4f86d9e7af", 50)


@given(st.text(), st.dictionaries(st.text(), st.integers() | st.text(), max_size=3))
def test_a_shard_is_one_of_256_and_follows_from_the_key(name: str, kwargs: dict[str, Json]) -> None:
    key = trigger.key(name, kwargs, namespace="ns", pool="default")
    assert 0 <= trigger.shard(key) < constants.SHARDS


def test_shards_are_spread_evenly() -> None:
    counts = [0] * constants.SHARDS
    for number in range(10_000):
        counts[build("http", {"url": number}).shard] += 1
    assert min(counts) > 10
    assert max(counts) < 80


def test_a_description_names_the_class_without_module_and_its_target() -> None:
    assert (
        build("airflow.triggers.file.FileTrigger", {"path": "/data", "n": [1, 2]}).waits_for
        == "FileTrigger /data n=[1,2]"
    )


def test_a_description_of_an_approval_names_the_question_and_who_answers() -> None:
    approvers = {"users": ["ann"], "groups": ["sre"]}
    deferred = build("approval", {"question": "Deploy 1.5?", "approvers": approvers})
    assert deferred.waits_for == "approval Deploy 1.5? by ann or members of sre"
    deferred = build("approval", {"subject": "Deploy", "question": "All is green.", "options": ["all"]})
    assert deferred.waits_for == "approval Deploy"
    assert build("approval", {"options": ["all"]}).waits_for == "approval"


def test_a_description_of_a_time_says_until_when() -> None:
    assert build("duration", {"duration": 60}).waits_for == f"until {times.rfc3339(NOW + 60)}"


@pytest.mark.parametrize(
    ("class_name", "kwargs", "words"),
    [
        (
            "webhook",
            {"body": {"text": "x" * 200}, "url": "https://example.org/hook"},
            "webhook https://example.org/hook body={",
        ),
        ("http", {"body_condition": "response.json.ok", "url": "http://a"}, "http://a body_condition=response.json.ok"),
        (
            "kubernetes",
            {"api_version": "batch/v1", "kind": "Job", "name": "train"},
            "kubernetes Job train api_version=batch/v1",
        ),
        ("file", {"count": 3, "path": "/data/*.csv"}, "file /data/*.csv count=3"),
        ("workflow", {"state": "succeeded", "name": "ingest"}, "workflow ingest state=succeeded"),
        ("version", {"url": "http://a", "minimum": 2, "status": 200}, "version http://a minimum=2 status=200"),
        ("http", {"url": "https://a", "interval": "3s"}, "https://a"),
        ("sql", {"params": {"a": 1}, "query": "SELECT 1", "url": "sqlite:////d"}, "sql sqlite:////d SELECT 1 params={"),
    ],
)
def test_a_description_begins_with_its_target(class_name: str, kwargs: dict[str, Json], words: str) -> None:
    assert trigger.describe(class_name, kwargs).startswith(words)


def test_a_description_never_shows_a_sealed_value() -> None:
    deferred = build("http", {"url": "https://example.org", "encrypted__token": "c2VhbGVk", "retries": None})
    assert deferred.waits_for == "https://example.org"
    assert "c2VhbGVk" in deferred.kwargs


@given(st.text(), st.dictionaries(st.text(), st.text()))
def test_a_description_is_one_short_line(name: str, kwargs: dict[str, Json]) -> None:
    line = trigger.describe(name, kwargs)
    assert len(line) <= 100
    assert len(line.splitlines()) <= 1


def test_kwargs_that_are_not_json_are_refused_by_their_path() -> None:
    with pytest.raises(trigger.TriggerError, match=r"kwargs of trigger http are not JSON: \$\.at is of type bytes"):
        build("http", {"at": b"x"})


def test_kwargs_over_their_limit_are_refused_with_their_size() -> None:
    fits = {"text": "é" * ((constants.KWARGS_MAX - len('{"text":""}')) // 2)}
    assert len(build("http", fits).kwargs.encode()) <= constants.KWARGS_MAX
    with pytest.raises(trigger.TriggerError, match=r"409[78] bytes; the limit is 4096"):
        build("http", {"text": fits["text"] + "ée"[: 1 + constants.KWARGS_MAX % 2]})


def test_on_the_status_it_has_the_names_of_the_api() -> None:
    deferred = build("http", {"url": "a"})
    assert deferred.on_status() == {
        "class": "http",
        "kwargs": canonical.plain({"url": "a"}),
        "key": deferred.key,
        "shard": deferred.shard,
        "waitsFor": "http a",
    }


@pytest.mark.parametrize(
    ("class_name", "kwargs", "expected"),
    [
        ("http", {"url": "https://x/done"}, "waiting for https://x/done"),
        ("duration", {"duration": "6h"}, "waiting for duration 6h"),
        ("time", {"at": "2026-11-23T00:00:00Z"}, "waiting until 2026-11-23T00:00:00Z"),
        ("approval", {"question": "Deploy?"}, "waiting for approval Deploy?"),
        ("mine.Tide", {"harbour": "Husum"}, "waiting for Tide Husum"),
    ],
)
def test_the_description_of_a_trigger_is_part_of_a_sentence(
    class_name: str, kwargs: dict[str, Json], expected: str
) -> None:
    assert f"waiting {trigger.awaited(trigger.describe(class_name, kwargs))}" == expected

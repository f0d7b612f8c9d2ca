"""Tests of one replica: every wait runs, fires or fails correctly, also when its trigger misbehaves."""

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from torpor_wire import typed_json

from tests.support.triggerer_fixture import answer, start_with_wait, triggerer_fixture


async def test_a_time_wait_fires_when_due_and_not_before() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "duration", {"duration": "90s"})
        await world.pass_time(89.9)
        assert world.state_and_reason("a") == ("Deferred", None)
        await world.pass_time(0.2)
        status = world.status("a")
        assert (status["state"], status["segment"], status["event"]) == ("Scheduled", 1, '"2023-11-14T22:14:50.000Z"')
        assert "trigger" not in status
        assert world.patches("a") == 1


async def test_a_time_in_the_past_fires_at_once() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "time", {"at": "2001-01-01T00:00:00Z"})
        assert world.state_and_reason("a") == ("Scheduled", None)


async def test_a_duration_written_by_hand_counts_from_the_deferral() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", "time", {"at": "2001-01-01T00:00:00Z"})
        from torpor_wire import trigger  # noqa: PLC0415

        key = trigger.key("duration", {"duration": "60s"}, namespace="workflows", pool="default")
        by_hand = {"class": "duration", "kwargs": '{"duration":"60s"}', "key": key, "shard": trigger.shard(key)}
        world.edit("a", trigger=by_hand)
        await world.pass_time(40)
        await world.start()
        await world.pass_time(19)
        assert world.state_and_reason("a") == ("Deferred", None)
        await world.pass_time(2)
        assert world.state_and_reason("a") == ("Scheduled", None)


async def test_a_task_that_is_a_wait_ends_with_the_event_as_its_result() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "fires"}, spec={"trigger": {"class": "odd"}})
        status = world.status("a")
        assert (status["state"], status["result"]) == ("Succeeded", '{"b":1,"a":1.0,"none":null}')
        assert status["conditions"][0]["status"] == "True"


async def test_only_the_first_event_counts_and_cleanup_follows() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "fires", "name": "a"})
        assert world.status("a")["event"] == '{"b":1,"a":1.0,"none":null}'
        assert world.called("a") == ["run", "cleanup"]


@pytest.mark.parametrize(
    ("does", "reason", "words"),
    [
        ("raises", "TriggerFailed", ["LookupError: no such row", "bad_triggers.py:", "in run"]),
        ("exits", "TriggerFailed", ["SystemExit: 3"]),
        ("cancels itself", "TriggerFailed", ["CancelledError"]),
        ("ends", "TriggerEnded", ["without an event"]),
        ("yields 2 MB", "EventInvalid", ["2097154 bytes", "4096 fit"]),
        ("yields an object", "EventInvalid", ["not JSON", "$ is of type object"]),
        ("yields no event", "EventInvalid", ["yielded a value of type dict"]),
        ("is refused", "TriggerInvalid", ["refuses its kwargs", "`does` makes no sense"]),
        ("exits at once", "TriggerInvalid", ["SystemExit: 3"]),
    ],
)
async def test_every_fault_of_a_trigger_fails_its_taskrun_with_a_message(
    does: str, reason: str, words: list[str]
) -> None:
    async with triggerer_fixture() as world:
        world.taskrun("healthy", "duration", {"duration": "5s"})
        await start_with_wait(world, "a", kwargs={"does": does, "name": "a"})
        status = world.status("a")
        assert world.state_and_reason("a") == ("Failed", reason)
        assert all(word in status["message"] for word in words), status["message"]
        assert world.events("a") == [(reason, status["message"])]
        assert world.called("a") == ([] if reason == "TriggerInvalid" else ["run", "cleanup"])
        await world.pass_time(6)
        assert world.state_and_reason("healthy") == ("Scheduled", None)


async def test_a_trigger_that_fails_is_tried_again_as_the_task_says() -> None:
    async with triggerer_fixture() as world:
        spec = {"python": "m:f", "retries": {"limit": 1, "delay": "7s"}}
        await start_with_wait(world, "a", kwargs={"does": "raises"}, spec=spec)
        assert world.state_and_reason("a") == ("UpForRetry", "TriggerFailed")
        world.taskrun("b", kwargs={"does": "raises"}, spec=spec, status={"attempt": 2})
        await world.settle()
        assert world.state_and_reason("b") == ("Failed", "TriggerFailed")


async def test_a_trigger_that_cannot_be_made_is_not_tried_again() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "http", {"url": "nonsense"}, spec={"python": "m:f", "retries": {"limit": 3}})
        assert world.state_and_reason("a") == ("Failed", "TriggerInvalid")


@pytest.mark.parametrize(
    ("does", "event", "result"),
    [
        ("yields a moment", {"at": datetime(2026, 1, 1, tzinfo=UTC)}, '{"at":"2026-01-01T00:00:00+00:00"}'),
        (
            "yields values of many types",
            {"rows": (1, 2), "sum": Decimal("1.10"), "seen": {"a", "b"}},
            '{"rows":[1,2],"sum":"1.10","seen":["a","b"]}',
        ),
        ("yields data that looks like a type", {"__type": "set", "__var": [1]}, '{"__type":"set","__var":[1]}'),
    ],
)
async def test_an_event_keeps_its_types_for_a_pod_and_is_plain_json_as_a_result(
    does: str, event: object, result: str
) -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "pod", kwargs={"does": does})
        await start_with_wait(world, "wait", kwargs={"does": does}, spec={"trigger": {"class": "odd"}})
        spec = {"trigger": {"class": "odd"}, "result": "event"}
        await start_with_wait(world, "judged", kwargs={"does": does}, spec=spec)
        await world.pass_time(1)
        assert typed_json.decode(json.loads(world.status("pod")["event"])) == event
        assert world.status("wait")["result"] == result
        assert json.loads(world.status("judged")["result"]) == json.loads(result)


async def test_a_cleanup_that_fails_changes_nothing() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "fails to clean up", "name": "a"}, timeout=5)
        await world.pass_time(6)
        assert world.state_and_reason("a") == ("Failed", "DeferralTimeout")


@pytest.mark.parametrize(
    ("class_name", "kwargs", "over", "reason", "words"),
    [
        ("nope", {}, {}, "TriggerUnknown", ["'nope'", "there are ", "kubernetes, ", "--trigger"]),
        ("os:system", {"command": "true"}, {}, "TriggerUnknown", ["no trigger is registered", "triggerPool"]),
        ("broken", {}, {}, "TriggerUnknown", ["registered, but not usable", "ModuleNotFoundError"]),
        ("http", {"uri": "x"}, {}, "TriggerInvalid", ["unexpected keyword argument 'uri'", "it takes url, method"]),
        ("time", {"at": "tomorrow"}, {}, "TriggerInvalid", ["'tomorrow' is not an RFC 3339 time"]),
        ("odd", {}, {"kwargs": "{"}, "TriggerInvalid", ["not JSON"]),
        ("odd", {}, {"kwargs": "[1]"}, "TriggerInvalid", ["no JSON object"]),
        ("odd", {}, {"kwargs": "[" * 4000}, "TriggerInvalid", ["not JSON"]),
        ("odd", {}, {"kwargs": '{"a":NaN}'}, "TriggerInvalid", ["not JSON", "$.a is nan"]),
        ("odd", {}, {"kwargs": '{"does":"other"}'}, "TriggerInvalid", ["do not follow from its class and kwargs"]),
        ("odd", {}, {"class": "http"}, "TriggerInvalid", ["do not follow"]),
        ("odd", {}, {"shard": 999}, None, []),
    ],
)
async def test_fields_of_a_taskrun_are_validated(
    class_name: str, kwargs: object, over: dict[str, object], reason: str | None, words: list[str]
) -> None:
    async with triggerer_fixture() as world:
        world.taskrun("healthy", "duration", {"duration": "5s"})
        await start_with_wait(world, "a", class_name, kwargs, trigger=over)
        if reason is None:
            assert world.state_and_reason("a") == ("Deferred", None)
            assert world.events("a")[0][0] == "StatusInvalid"
        else:
            assert world.state_and_reason("a") == ("Failed", reason)
            assert all(word in world.status("a")["message"] for word in words), world.status("a")["message"]
        await world.pass_time(6)
        assert world.state_and_reason("healthy") == ("Scheduled", None)


async def test_http_waits_until_it_is_answered_as_asked() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [
            OSError("refused"),
            answer(503),
            answer(200, {"state": "busy"}),
            answer(200, {"state": "done"}),
        ]
        kwargs = {"url": "http://x/", "body_condition": "response.json.state == 'done'", "interval": "2s"}
        await start_with_wait(world, "a", "http", kwargs)
        await world.pass_time(1)
        assert (world.web.request_count, world.state_and_reason("a")) == (1, ("Deferred", None))
        await world.pass_time(9)
        assert world.web.request_count == 4
        assert world.status("a")["event"] == '{"status":200,"headers":{},"json":{"state":"done"}}'


async def test_a_condition_that_cannot_be_read_is_refused_before_it_runs() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "http", {"url": "http://x/", "body_condition": "response.json =="})
        assert world.state_and_reason("a") == ("Failed", "TriggerInvalid")
        assert world.web.request_count == 0


async def test_a_trigger_with_an_invalid_interval_still_runs() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "looks absurdly seldom", "name": "a"}, timeout=5)
        world.taskrun("b", kwargs={"does": "looks absurdly seldom", "name": "a", "interval": 1})
        await world.pass_time(1)
        assert world.called("a") == ["run"]
        assert "cannot be" not in world.log_output.getvalue()


async def test_an_invalid_time_disturbs_no_other_wait() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "odd_clock", {"does": "is due at no moment", "name": "a"})
        world.taskrun("b", "duration", {"duration": "20s"})
        await world.pass_time(21)
        assert world.state_and_reason("b")[0] == "Scheduled"
        assert world.called("a") == ["run"]


async def test_a_timeout_that_is_not_json_fails_its_wait() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={}, trigger={"kwargs": '{"timeout": NaN}'})
        await world.pass_time(1)
        assert world.state_and_reason("a") == ("Failed", "TriggerInvalid")
        assert world.status("a")["message"].endswith("$.timeout is nan, which is not JSON")


async def test_a_trigger_that_cancels_its_task_fails_and_a_new_wait_restarts_it() -> None:
    async with triggerer_fixture() as world:
        kwargs = {"does": "cancels its own task", "name": "a"}
        for name in ("a", "b"):
            world.taskrun(name, kwargs=kwargs)
        await world.start()
        await world.pass_time(1)
        world.taskrun("c", kwargs=kwargs)
        await world.pass_time(1)
        assert [world.state_and_reason(name) for name in "abc"] == [("Failed", "TriggerFailed")] * 3
        assert world.called("a") == ["run", "cleanup"] * 2


async def test_a_replica_that_crashes_writes_nothing_more() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a")
        await world.crash()
        assert (world.state_and_reason("a")[0], world.patches("a")) == ("Deferred", 0)

"""One replica: each wait runs, and ends as it should, whatever its trigger does."""

import pytest

from tests.fake_api import Fault
from tests.unit.triggerer.world import World, answer, world

LATE_LOOK = 10.0


async def begun(made: World, name: str, class_name: str = "odd", kwargs: object = None, **given: object) -> None:
    made.taskrun(name, class_name, kwargs, **given)
    await made.start()


async def test_a_moment_fires_when_it_comes_and_not_before() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "90s"})
        await made.pass_time(89.9)
        assert made.stands("a") == ("Deferred", None)
        await made.pass_time(0.2)
        status = made.status("a")
        assert (status["state"], status["segment"], status["event"]) == ("Scheduled", 1, '"2023-11-14T22:14:50.000Z"')
        assert "trigger" not in status
        assert made.patches("a") == 1


async def test_a_moment_that_has_passed_fires_at_once() -> None:
    async with world() as made:
        await begun(made, "a", "time", {"at": "2001-01-01T00:00:00Z"})
        assert made.stands("a") == ("Scheduled", None)


async def test_a_duration_written_by_hand_counts_from_the_deferral() -> None:
    async with world() as made:
        made.taskrun("a", "time", {"at": "2001-01-01T00:00:00Z"})
        from torpor_wire import trigger  # noqa: PLC0415

        key = trigger.key("duration", {"duration": "60s"}, namespace="workflows", pool="default")
        by_hand = {"class": "duration", "kwargs": '{"duration":"60s"}', "key": key, "shard": trigger.shard(key)}
        made.edit("a", trigger=by_hand)
        await made.pass_time(40)
        await made.start()
        await made.pass_time(19)
        assert made.stands("a") == ("Deferred", None)
        await made.pass_time(2)
        assert made.stands("a") == ("Scheduled", None)


async def test_a_task_that_is_a_wait_ends_with_the_event_as_its_result() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "fires"}, spec={"trigger": {"class": "odd"}})
        status = made.status("a")
        assert (status["state"], status["result"]) == ("Succeeded", '{"b":1,"a":1.0,"none":null}')
        assert status["conditions"][0]["status"] == "True"


async def test_only_the_first_event_counts_and_cleanup_follows() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "fires", "name": "a"})
        assert made.status("a")["event"] == '{"b":1,"a":1.0,"none":null}'
        assert made.called("a") == ["run", "cleanup"]


@pytest.mark.parametrize(
    ("does", "reason", "words"),
    [
        ("raises", "TriggerFailed", ["LookupError: no such row", "world.py:", "in run"]),
        ("exits", "TriggerFailed", ["SystemExit: 3"]),
        ("cancels itself", "TriggerFailed", ["CancelledError"]),
        ("ends", "TriggerEnded", ["without an event"]),
        ("yields 2 MB", "EventInvalid", ["2097154 bytes", "4096 fit"]),
        ("yields an object", "EventInvalid", ["not JSON", "$ is a object"]),
        ("yields no event", "EventInvalid", ["yielded a dict"]),
        ("is refused", "TriggerInvalid", ["refuses its kwargs", "`does` makes no sense"]),
        ("exits at once", "TriggerInvalid", ["SystemExit: 3"]),
    ],
)
async def test_whatever_a_trigger_does_wrong_fails_its_taskrun_and_says_so(
    does: str, reason: str, words: list[str]
) -> None:
    async with world() as made:
        made.taskrun("healthy", "duration", {"duration": "5s"})
        await begun(made, "a", kwargs={"does": does, "name": "a"})
        status = made.status("a")
        assert made.stands("a") == ("Failed", reason)
        assert all(word in status["message"] for word in words), status["message"]
        assert made.events("a") == [(reason, status["message"])]
        assert made.called("a") == ([] if reason == "TriggerInvalid" else ["run", "cleanup"])
        await made.pass_time(6)
        assert made.stands("healthy") == ("Scheduled", None)


async def test_a_trigger_that_fails_is_tried_again_as_the_task_says() -> None:
    async with world() as made:
        spec = {"python": "m:f", "retries": {"limit": 1, "delay": "7s"}}
        await begun(made, "a", kwargs={"does": "raises"}, spec=spec)
        assert made.stands("a") == ("UpForRetry", "TriggerFailed")
        made.taskrun("b", kwargs={"does": "raises"}, spec=spec, status={"attempt": 2})
        await made.rest()
        assert made.stands("b") == ("Failed", "TriggerFailed")


async def test_a_trigger_that_cannot_be_made_is_not_tried_again() -> None:
    async with world() as made:
        await begun(made, "a", "http", {"url": "nonsense"}, spec={"python": "m:f", "retries": {"limit": 3}})
        assert made.stands("a") == ("Failed", "TriggerInvalid")


async def test_moments_in_an_event_become_text() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "yields a moment"})
        assert made.status("a")["event"] == '{"at":"2026-01-01T00:00:00+00:00"}'


async def test_a_cleanup_that_fails_changes_nothing() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "fails to clean up", "name": "a"}, timeout=5)
        await made.pass_time(6)
        assert made.stands("a") == ("Failed", "DeferralTimeout")


@pytest.mark.parametrize(
    ("class_name", "kwargs", "over", "reason", "words"),
    [
        ("nope", {}, {}, "TriggerUnknown", ["'nope'", "duration, http, kubernetes, odd, time", "--trigger"]),
        ("os:system", {"command": "true"}, {}, "TriggerUnknown", ["no trigger is registered"]),
        ("broken", {}, {}, "TriggerUnknown", ["registered, but not usable", "ModuleNotFoundError"]),
        ("http", {"uri": "x"}, {}, "TriggerInvalid", ["unexpected keyword argument 'uri'", "it takes url, method"]),
        ("time", {"at": "tomorrow"}, {}, "TriggerInvalid", ["'tomorrow' is no moment"]),
        ("odd", {}, {"kwargs": "{"}, "TriggerInvalid", ["not JSON"]),
        ("odd", {}, {"kwargs": "[1]"}, "TriggerInvalid", ["no JSON object"]),
        ("odd", {}, {"kwargs": "[" * 4000}, "TriggerInvalid", ["not JSON"]),
        ("odd", {}, {"kwargs": '{"a":NaN}'}, "TriggerInvalid", ["not JSON"]),
        ("odd", {}, {"kwargs": '{"does":"other"}'}, "TriggerInvalid", ["do not follow from its class and kwargs"]),
        ("odd", {}, {"class": "http"}, "TriggerInvalid", ["do not follow"]),
        ("odd", {}, {"shard": 999}, None, []),
    ],
)
async def test_what_stands_on_a_taskrun_is_not_believed(
    class_name: str, kwargs: object, over: dict[str, object], reason: str | None, words: list[str]
) -> None:
    async with world() as made:
        made.taskrun("healthy", "duration", {"duration": "5s"})
        await begun(made, "a", class_name, kwargs, trigger=over)
        if reason is None:
            assert made.stands("a") == ("Deferred", None)
            assert made.events("a")[0][0] == "StatusInvalid"
        else:
            assert made.stands("a") == ("Failed", reason)
            assert all(word in made.status("a")["message"] for word in words), made.status("a")["message"]
        await made.pass_time(6)
        assert made.stands("healthy") == ("Scheduled", None)


async def test_http_waits_until_it_is_answered_as_asked() -> None:
    async with world() as made:
        made.web.answers = [
            OSError("refused"),
            answer(503),
            answer(200, {"state": "busy"}),
            answer(200, {"state": "done"}),
        ]
        kwargs = {"url": "http://x/", "body_condition": "response.json.state == 'done'", "interval": "2s"}
        await begun(made, "a", "http", kwargs)
        await made.pass_time(1)
        assert (made.web.asked, made.stands("a")) == (1, ("Deferred", None))
        await made.pass_time(9)
        assert made.web.asked == 4
        assert made.status("a")["event"] == '{"status":200,"headers":{},"json":{"state":"done"}}'


async def test_a_condition_that_cannot_be_read_is_refused_before_it_runs() -> None:
    async with world() as made:
        await begun(made, "a", "http", {"url": "http://x/", "body_condition": "response.json =="})
        assert made.stands("a") == ("Failed", "TriggerInvalid")
        assert made.web.asked == 0


async def test_a_deadline_ends_the_wait_and_tells_what_was_last_seen() -> None:
    async with world() as made:
        made.web.answers = [answer(503)]
        await begun(made, "a", "http", {"url": "http://x/"}, timeout=30)
        await made.pass_time(29)
        assert made.stands("a") == ("Deferred", None)
        await made.pass_time(2)
        assert made.stands("a") == ("Failed", "DeferralTimeout")
        assert "http://x/ answered 503" in made.status("a")["message"]
        asked = made.web.asked
        await made.pass_time(60)
        assert made.web.asked == asked


async def test_a_deadline_after_the_event_comes_too_late_however_long_the_cleanup_takes() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "cleans up slowly", "name": "a"}, timeout=5)
        await made.pass_time(9)
        assert made.stands("a") == ("Scheduled", None)
        assert made.called("a") == ["run", "cleanup"]


async def test_a_deadline_that_is_the_tasks_own_is_called_so() -> None:
    async with world() as made:
        await begun(made, "a", timeout=30, spec={"python": "m:f", "timeout": "30s"})
        await made.pass_time(31)
        assert made.stands("a") == ("Failed", "Timeout")


async def test_a_moment_after_the_deadline_never_comes() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "90s"}, timeout=30)
        await made.pass_time(31)
        assert made.stands("a") == ("Failed", "DeferralTimeout")


async def test_a_wait_taken_over_after_its_deadline_is_looked_at_once() -> None:
    async with world() as made:
        made.taskrun("a", "http", {"url": "http://x/"}, timeout=30)
        made.taskrun("b", timeout=30)
        made.web.answers = [answer(200)]
        await made.pass_time(300)
        await made.start()
        assert made.stands("a") == ("Scheduled", None)
        assert made.stands("b") == ("Deferred", None)
        await made.pass_time(LATE_LOOK + 0.1)
        assert made.stands("b") == ("Failed", "DeferralTimeout")


async def test_a_cancelled_wait_is_killed_then_written_cancelled() -> None:
    async with world() as made:
        await begun(made, "a")
        made.edit("a", cancel="2023-11-14T22:13:20Z")
        await made.rest()
        assert made.stands("a") == ("Cancelled", "Cancelled")
        assert made.called("a") == ["run", "on_kill", "cleanup"]


async def test_a_wait_cancelled_before_it_is_seen_is_killed_too() -> None:
    async with world() as made:
        await begun(made, "a", status={"cancel": "2023-11-14T22:13:20Z"})
        assert made.stands("a") == ("Cancelled", "Cancelled")
        assert made.called("a") == ["on_kill", "cleanup"]


async def test_on_kill_is_given_ten_seconds() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "hangs in on_kill", "name": "a"})
        made.edit("a", cancel="2023-11-14T22:13:20Z")
        await made.pass_time(9)
        assert made.stands("a") == ("Deferred", None)
        await made.pass_time(2)
        assert made.stands("a") == ("Cancelled", "Cancelled")


async def test_a_trigger_that_ignores_its_cancellation_does_not_hold_the_taskrun() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "ignores its cancellation", "name": "a"}, timeout=5)
        await made.pass_time(40)
        assert made.stands("a") == ("Failed", "DeferralTimeout")
        assert made.called("a") == ["run", "ignored"]


async def test_a_taskrun_that_vanishes_ends_its_trigger_without_a_kill() -> None:
    from torpor_api.resources import TASKRUNS  # noqa: PLC0415

    async with world() as made:
        await begun(made, "a")
        made.fake.remove(TASKRUNS, "workflows", "a")
        await made.rest()
        assert made.called("a") == ["run", "cleanup"]


async def test_another_segment_is_another_wait() -> None:
    async with world() as made:
        await begun(made, "a")
        made.edit("a", segment=1)
        await made.rest()
        assert made.called("a") == ["run", "cleanup", "run"] or made.called("a") == ["run", "run", "cleanup"]


async def test_a_taskrun_that_cannot_be_read_is_told_and_disturbs_nobody() -> None:
    async with world() as made:
        made.taskrun("healthy", "duration", {"duration": "5s"})
        await begun(made, "a", status={"attempt": "many"})
        assert made.stands("a") == ("Deferred", None)
        assert made.events("a")[0][0] == "StatusInvalid"
        await made.pass_time(6)
        assert made.stands("healthy") == ("Scheduled", None)


async def test_a_write_is_repeated_while_the_server_is_unavailable() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "1s"})
        made.fake.inject(Fault(status=503, method="PATCH", path="/status", times=5))
        await made.pass_time(60)
        assert made.stands("a") == ("Scheduled", None)
        assert made.status("a")["segment"] == 1


async def test_a_write_whose_answer_was_lost_is_not_carried_out_twice() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "1s"})
        made.fake.inject(Fault(commit=True, method="PATCH", path="/status"))
        await made.pass_time(60)
        assert made.status("a")["segment"] == 1


async def test_a_lost_race_is_left_alone() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "1s"})
        made.fake.hold_watches()
        made.edit("a", state="Scheduled", segment=1, trigger=None)
        await made.pass_time(5)
        assert made.patches("a") == 1
        assert made.events("a") == []
        made.fake.release_watches()
        await made.pass_time(5)
        assert made.patches("a") == 1


async def test_a_write_that_is_forbidden_is_told_once_and_tried_again_slowly() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "1s"})
        made.fake.inject(Fault(status=403, method="PATCH", path="/status", message="no such right", times=2))
        await made.pass_time(5)
        assert made.events("a") == [("ReportRefused", "the triggerer may not write it: no such right")]
        assert made.patches("a") == 1
        await made.pass_time(180)
        assert made.stands("a") == ("Scheduled", None)
        assert sum(1 for one in made.fake.requests if one.path.endswith("/events")) == 1


async def test_an_outcome_that_the_server_refuses_fails_the_taskrun() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "1s"})
        made.fake.inject(Fault(status=422, method="PATCH", path="/status", message="event: too long", causes=True))
        await made.pass_time(5)
        assert made.stands("a") == ("Failed", "ReportRefused")
        assert "event: too long" in made.status("a")["message"]


async def test_many_that_are_due_at_once_are_written_side_by_side_and_bounded() -> None:
    async with world(latency=1.0, concurrency=64) as made:
        for number in range(200):
            made.taskrun(f"t{number}", "duration", {"duration": "30s"})
        await made.start()
        await made.pass_time(29)
        before = len(made.fake.requests)
        await made.pass_time(1.5)
        assert sum(1 for one in made.fake.requests[before:] if one.path.endswith("/status")) == 64
        await made.pass_time(10)
        assert {made.stands(f"t{number}")[0] for number in range(200)} == {"Scheduled"}


async def test_waits_beyond_capacity_queue_by_age() -> None:
    async with world(capacity=2) as made:
        for number, age in enumerate((1, 4, 2, 3)):
            made.taskrun(f"t{number}", status={"deferredAt": f"2023-11-14T22:13:0{9 - age}Z"})
        await made.start()
        running = {f"t{number}" for number in range(4) if made.called(f"t{number}")}
        assert len(running) == 2
        waiting = sorted({"t0", "t1", "t2", "t3"} - running)
        oldest = min(waiting, key=lambda name: made.status(name)["deferredAt"])
        made.edit(min(running), cancel="2023-11-14T22:13:20Z")
        await made.rest()
        assert made.called(oldest) == ["run"]

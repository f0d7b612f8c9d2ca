"""One replica: waits that end by another hand than their trigger's: a deadline, a cancellation, a deletion."""

import pytest

from tests.support.triggerer_world import answer, begun, world

LATE_LOOK = 10.0


async def test_a_deadline_ends_the_wait_and_tells_what_was_last_seen() -> None:
    async with world() as made:
        made.web.answers = [answer(503)]
        await begun(made, "a", "http", {"url": "http://x/"}, timeout=30)
        await made.pass_time(29)
        assert made.stands("a") == ("Deferred", "Waiting")
        await made.pass_time(2)
        assert made.stands("a") == ("Failed", "DeferralTimeout")
        assert "http://x/ answered 503" in made.status("a")["message"]
        asked = made.web.asked
        await made.pass_time(60)
        assert made.web.asked == asked


async def test_a_deadline_during_the_cleanup_does_not_replace_the_event() -> None:
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


NEXT = {"next": {"method": "m:f", "kwargs": "{}", "onTimeout": "m:late"}}


async def test_a_wait_that_took_too_long_goes_on_where_its_task_said() -> None:
    async with world() as made:
        await begun(made, "a", timeout=30, status=NEXT)
        await made.pass_time(31)
        status = made.status("a")
        assert (status["state"], status["segment"], status["timedOut"]) == ("Scheduled", 1, True)
        assert "event" not in status
        assert "deadline" not in status
        assert status["deferredSeconds"] == pytest.approx(30, abs=1)
        assert made.called("a") == ["run", "cleanup"]


@pytest.mark.parametrize(("final", "state"), [(True, "Failed"), (False, "UpForRetry")])
async def test_a_sensors_wait_that_took_too_long_is_not_retried(final: bool, state: str) -> None:
    async with world() as made:
        following = {"next": {"method": "poked", "kwargs": "{}", "timeoutIsFinal": final}}
        await begun(made, "a", timeout=30, status=following, spec={"python": "m:f", "retries": {"limit": 1}})
        await made.pass_time(31)
        assert made.stands("a") == (state, "DeferralTimeout")


async def test_a_sensors_wait_is_retried_where_the_timeout_is_the_tasks_own() -> None:
    async with world() as made:
        following = {"next": {"method": "poked", "kwargs": "{}", "timeoutIsFinal": True}}
        spec = {"python": "m:f", "timeout": "30s", "retries": {"limit": 1}}
        await begun(made, "a", timeout=30, status=following, spec=spec)
        await made.pass_time(31)
        assert made.stands("a") == ("UpForRetry", "Timeout")


async def test_the_tasks_own_timeout_fails_it_wherever_it_would_go_on() -> None:
    async with world() as made:
        await begun(made, "a", timeout=30, spec={"python": "m:f", "timeout": "30s"}, status=NEXT)
        await made.pass_time(31)
        assert made.stands("a") == ("Failed", "Timeout")


async def test_a_task_timeout_that_pauses_while_deferred_does_not_end_the_wait() -> None:
    async with world() as made:
        spec = {"python": "m:f", "timeout": "20s", "timeoutWhileDeferred": False}
        await begun(made, "a", timeout=30, spec=spec, status=NEXT)
        await made.pass_time(31)
        assert made.status("a")["timedOut"] is True


async def test_a_time_after_the_deadline_never_fires() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "90s"}, timeout=30)
        await made.pass_time(31)
        assert made.stands("a") == ("Failed", "DeferralTimeout")


async def test_a_wait_taken_over_after_its_deadline_is_polled_once() -> None:
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


@pytest.mark.parametrize("seen", [True, False])
async def test_a_cancellation_inside_on_kill_is_not_taken_for_ours(seen: bool) -> None:
    async with world() as made:
        status = None if seen else {"cancel": "2023-11-14T22:13:20Z"}
        await begun(made, "a", kwargs={"does": "is cancelled in on_kill", "name": "a"}, status=status or {})
        made.edit("a", cancel="2023-11-14T22:13:20Z")
        await made.rest()
        assert made.stands("a") == ("Cancelled", "Cancelled")
        assert made.called("a")[-2:] == ["on_kill", "cleanup"]


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


@pytest.mark.parametrize("does", ["raises when it is cancelled", "fires when it is cancelled"])
async def test_a_cancelled_triggers_result_is_not_an_outcome(does: str) -> None:
    async with world() as made:
        await begun(made, "late", kwargs={"does": does, "name": "late"}, timeout=5)
        made.taskrun("cancelled", kwargs={"does": does, "name": "cancelled"})
        await made.pass_time(6)
        made.edit("cancelled", cancel="2023-11-14T22:13:20Z")
        await made.pass_time(1)
        assert made.stands("late") == ("Failed", "DeferralTimeout")
        assert made.stands("cancelled")[0] == "Cancelled"
        assert made.called("cancelled") == ["run", "on_kill", "cleanup"]


async def test_a_taskrun_that_vanishes_ends_its_trigger_without_a_kill() -> None:
    from torpor_kubernetes.client.resources import TASKRUNS  # noqa: PLC0415

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


async def test_an_unreadable_taskrun_is_reported_and_disturbs_no_other() -> None:
    async with world() as made:
        made.taskrun("healthy", "duration", {"duration": "5s"})
        await begun(made, "a", status={"attempt": "many"})
        assert made.stands("a") == ("Deferred", None)
        assert made.events("a")[0][0] == "StatusInvalid"
        await made.pass_time(6)
        assert made.stands("healthy") == ("Scheduled", None)

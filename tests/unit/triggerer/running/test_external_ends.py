"""One replica: waits that end by another hand than their trigger's: a deadline, a cancellation, a deletion."""

import pytest

from tests.support.triggerer_fixture import answer, start_with_wait, triggerer_fixture

LATE_LOOK = 10.0


async def test_a_deadline_ends_the_wait_and_tells_what_was_last_seen() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(503)]
        await start_with_wait(world, "a", "http", {"url": "http://x/"}, timeout=30)
        await world.pass_time(29)
        assert world.state_and_reason("a") == ("Deferred", "Waiting")
        await world.pass_time(2)
        assert world.state_and_reason("a") == ("Failed", "DeferralTimeout")
        assert "http://x/ answered 503" in world.status("a")["message"]
        requests = world.web.request_count
        await world.pass_time(60)
        assert world.web.request_count == requests


async def test_a_deadline_during_the_cleanup_does_not_replace_the_event() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "cleans up slowly", "name": "a"}, timeout=5)
        await world.pass_time(9)
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert world.called("a") == ["run", "cleanup"]


async def test_a_deadline_that_is_the_tasks_own_is_called_so() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", timeout=30, spec={"python": "m:f", "timeout": "30s"})
        await world.pass_time(31)
        assert world.state_and_reason("a") == ("Failed", "Timeout")


NEXT = {"next": {"method": "m:f", "kwargs": "{}", "onTimeout": "m:late"}}


async def test_a_wait_that_took_too_long_goes_on_where_its_task_said() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", timeout=30, status=NEXT)
        await world.pass_time(31)
        status = world.status("a")
        assert (status["state"], status["segment"], status["timedOut"]) == ("Scheduled", 1, True)
        assert "event" not in status
        assert "deadline" not in status
        assert status["deferredSeconds"] == pytest.approx(30, abs=1)
        assert world.called("a") == ["run", "cleanup"]


@pytest.mark.parametrize(("final", "state"), [(True, "Failed"), (False, "UpForRetry")])
async def test_a_sensors_wait_that_took_too_long_is_not_retried(final: bool, state: str) -> None:
    async with triggerer_fixture() as world:
        following = {"next": {"method": "poked", "kwargs": "{}", "timeoutIsFinal": final}}
        await start_with_wait(world, "a", timeout=30, status=following, spec={"python": "m:f", "retries": {"limit": 1}})
        await world.pass_time(31)
        assert world.state_and_reason("a") == (state, "DeferralTimeout")


async def test_a_sensors_wait_is_retried_where_the_timeout_is_the_tasks_own() -> None:
    async with triggerer_fixture() as world:
        following = {"next": {"method": "poked", "kwargs": "{}", "timeoutIsFinal": True}}
        spec = {"python": "m:f", "timeout": "30s", "retries": {"limit": 1}}
        await start_with_wait(world, "a", timeout=30, status=following, spec=spec)
        await world.pass_time(31)
        assert world.state_and_reason("a") == ("UpForRetry", "Timeout")


async def test_the_tasks_own_timeout_fails_it_wherever_it_would_go_on() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", timeout=30, spec={"python": "m:f", "timeout": "30s"}, status=NEXT)
        await world.pass_time(31)
        assert world.state_and_reason("a") == ("Failed", "Timeout")


async def test_a_task_timeout_that_pauses_while_deferred_does_not_end_the_wait() -> None:
    async with triggerer_fixture() as world:
        spec = {"python": "m:f", "timeout": "20s", "timeoutWhileDeferred": False}
        await start_with_wait(world, "a", timeout=30, spec=spec, status=NEXT)
        await world.pass_time(31)
        assert world.status("a")["timedOut"] is True


async def test_a_time_after_the_deadline_never_fires() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "duration", {"duration": "90s"}, timeout=30)
        await world.pass_time(31)
        assert world.state_and_reason("a") == ("Failed", "DeferralTimeout")


async def test_a_wait_taken_over_after_its_deadline_is_polled_once() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", "http", {"url": "http://x/"}, timeout=30)
        world.taskrun("b", timeout=30)
        world.web.answers = [answer(200)]
        await world.pass_time(300)
        await world.start()
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert world.state_and_reason("b") == ("Deferred", None)
        await world.pass_time(LATE_LOOK + 0.1)
        assert world.state_and_reason("b") == ("Failed", "DeferralTimeout")


async def test_a_cancelled_wait_is_killed_then_written_cancelled() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a")
        world.edit("a", cancel="2023-11-14T22:13:20Z")
        await world.settle()
        assert world.state_and_reason("a") == ("Cancelled", "Cancelled")
        assert world.called("a") == ["run", "on_kill", "cleanup"]


async def test_a_wait_cancelled_before_it_is_seen_is_killed_too() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", status={"cancel": "2023-11-14T22:13:20Z"})
        assert world.state_and_reason("a") == ("Cancelled", "Cancelled")
        assert world.called("a") == ["on_kill", "cleanup"]


@pytest.mark.parametrize("seen", [True, False])
async def test_a_cancellation_inside_on_kill_is_not_taken_for_ours(seen: bool) -> None:
    async with triggerer_fixture() as world:
        status = None if seen else {"cancel": "2023-11-14T22:13:20Z"}
        await start_with_wait(world, "a", kwargs={"does": "is cancelled in on_kill", "name": "a"}, status=status or {})
        world.edit("a", cancel="2023-11-14T22:13:20Z")
        await world.settle()
        assert world.state_and_reason("a") == ("Cancelled", "Cancelled")
        assert world.called("a")[-2:] == ["on_kill", "cleanup"]


async def test_on_kill_is_given_ten_seconds() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "hangs in on_kill", "name": "a"})
        world.edit("a", cancel="2023-11-14T22:13:20Z")
        await world.pass_time(9)
        assert world.state_and_reason("a") == ("Deferred", None)
        await world.pass_time(2)
        assert world.state_and_reason("a") == ("Cancelled", "Cancelled")


async def test_a_trigger_that_ignores_its_cancellation_does_not_hold_the_taskrun() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "ignores its cancellation", "name": "a"}, timeout=5)
        await world.pass_time(40)
        assert world.state_and_reason("a") == ("Failed", "DeferralTimeout")
        assert world.called("a") == ["run", "ignored"]


@pytest.mark.parametrize("does", ["raises when it is cancelled", "fires when it is cancelled"])
async def test_a_cancelled_triggers_result_is_not_an_outcome(does: str) -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "late", kwargs={"does": does, "name": "late"}, timeout=5)
        world.taskrun("cancelled", kwargs={"does": does, "name": "cancelled"})
        await world.pass_time(6)
        world.edit("cancelled", cancel="2023-11-14T22:13:20Z")
        await world.pass_time(1)
        assert world.state_and_reason("late") == ("Failed", "DeferralTimeout")
        assert world.state_and_reason("cancelled")[0] == "Cancelled"
        assert world.called("cancelled") == ["run", "on_kill", "cleanup"]


async def test_a_taskrun_that_vanishes_ends_its_trigger_without_a_kill() -> None:
    from torpor_kubernetes.client.resources import TASKRUNS  # noqa: PLC0415

    async with triggerer_fixture() as world:
        await start_with_wait(world, "a")
        world.fake.remove(TASKRUNS, "workflows", "a")
        await world.settle()
        assert world.called("a") == ["run", "cleanup"]


async def test_another_segment_is_another_wait() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a")
        world.edit("a", segment=1)
        await world.settle()
        assert world.called("a") == ["run", "cleanup", "run"] or world.called("a") == ["run", "run", "cleanup"]


async def test_an_unreadable_taskrun_is_reported_and_disturbs_no_other() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("healthy", "duration", {"duration": "5s"})
        await start_with_wait(world, "a", status={"attempt": "many"})
        assert world.state_and_reason("a") == ("Deferred", None)
        assert world.events("a")[0][0] == "StatusInvalid"
        await world.pass_time(6)
        assert world.state_and_reason("healthy") == ("Scheduled", None)

"""One replica: what a failed wait leaves to read, and that whatever was made is cleaned up."""

import pytest
from torpor_wire import constants

from tests.support.triggerer_fixture import start_with_wait, triggerer_fixture


async def test_a_trigger_that_raised_leaves_its_last_lines_and_its_traceback() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "says much and raises", "name": "a"})
        log = world.status("a")["log"]
        assert len(log.encode()) <= constants.LOG_MAX
        lines, _, trace = log.partition("Traceback (most recent call last):\n")
        numbers = [int(line.split()[5]) for line in lines.splitlines()]
        assert numbers == list(range(30 - len(numbers), 30))
        assert len(numbers) > 5
        assert "bad_triggers.py" in trace
        assert "conduct.py" not in trace
        assert trace.endswith("LookupError: no such row")
        assert world.status("a")["message"].startswith("LookupError: no such row (at bad_triggers.py:")


async def test_a_trigger_that_ends_without_an_event_leaves_its_last_lines() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "says much and ends", "name": "a"})
        assert world.state_and_reason("a") == ("Failed", "TriggerEnded")
        assert world.status("a")["log"].splitlines()[-1].endswith("x" * 150)
        assert len(world.status("a")["log"].splitlines()) == 20


async def test_a_wait_that_took_too_long_leaves_its_last_lines() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "says much", "name": "a"}, timeout=5)
        await world.pass_time(6)
        assert world.state_and_reason("a") == ("Failed", "DeferralTimeout")
        assert "line 29 of a" in world.status("a")["log"]


@pytest.mark.parametrize("does", ["yields an object", "is refused", "raises"])
async def test_who_says_nothing_leaves_at_most_a_traceback(does: str) -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": does, "name": "a"})
        assert world.status("a").get("log", "Traceback").startswith("Traceback")


async def test_a_class_that_cannot_be_imported_logs_its_traceback_and_is_retried() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "broken", {}, spec={"python": "m:f", "retries": {"limit": 1}})
        assert world.state_and_reason("a") == ("UpForRetry", "TriggerUnknown")
        assert "ModuleNotFoundError: No module named 'no'" in world.status("a")["log"]


@pytest.mark.parametrize(
    ("does", "reason", "log"),
    [
        ("raises", "TriggerFailed", True),
        ("ends", "TriggerEnded", False),
        ("yields an object", "EventInvalid", False),
    ],
)
async def test_every_failure_is_retried_with_its_reason(does: str, reason: str, log: bool) -> None:
    async with triggerer_fixture() as world:
        spec = {"python": "m:f", "retries": {"limit": 1}}
        await start_with_wait(world, "a", kwargs={"does": does, "name": "a"}, spec=spec)
        assert world.state_and_reason("a") == ("UpForRetry", reason)
        assert ("log" in world.status("a")) is log
        assert world.called("a") == ["run", "cleanup"]


async def test_log_lines_name_their_wait_while_it_goes_on() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("b", kwargs={"does": "says much", "name": "b"})
        await start_with_wait(
            world, "a", kwargs={"does": "says much", "name": "a"}, status={"attempt": 2, "segment": 3}
        )
        of_a = [line for line in world.log_output.getvalue().splitlines() if "[workflows/a a2 s3]" in line]
        assert sum("of a xxx" in line for line in of_a) == 30
        assert not any("of b" in line for line in of_a)


async def test_a_trigger_that_refuses_when_it_is_bound_is_cleaned_up() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", kwargs={"does": "refuses when it is bound", "name": "a"})
        assert world.state_and_reason("a") == ("Failed", "TriggerInvalid")
        assert world.called("a") == ["cleanup"]


async def test_a_timer_trigger_that_never_ran_is_cleaned_up_when_it_fires() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "odd_clock", {"name": "a"})
        assert world.called("a") == []
        await world.pass_time(21)
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert world.called("a") == ["cleanup"]


async def test_and_when_its_wait_is_left_to_another_replica() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "odd_clock", {"name": "a"})
        await world.stop()
        assert world.state_and_reason("a") == ("Deferred", None)
        assert world.called("a") == ["cleanup"]


async def test_the_next_attempt_begins_after_the_cleanup_of_the_former() -> None:
    async with triggerer_fixture() as world:
        spec = {"python": "m:f", "retries": {"limit": 1}}
        await start_with_wait(world, "a", kwargs={"does": "raises and cleans up slowly", "name": "a"}, spec=spec)
        await world.pass_time(7)
        assert world.state_and_reason("a") == ("Deferred", None)
        await world.pass_time(2)
        assert world.state_and_reason("a") == ("UpForRetry", "TriggerFailed")

"""One replica: what a failed wait leaves to read, and that whatever was made is cleaned up."""

import pytest
from torpor_wire import constants

from tests.support.triggerer_world import begun, world


async def test_a_trigger_that_raised_leaves_its_last_lines_and_its_traceback() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "says much and raises", "name": "a"})
        log = made.status("a")["log"]
        assert len(log.encode()) <= constants.LOG_MAX
        lines, _, trace = log.partition("Traceback (most recent call last):\n")
        numbers = [int(line.split()[5]) for line in lines.splitlines()]
        assert numbers == list(range(30 - len(numbers), 30))
        assert len(numbers) > 5
        assert "bad_triggers.py" in trace
        assert "conduct.py" not in trace
        assert trace.endswith("LookupError: no such row")
        assert made.status("a")["message"].startswith("LookupError: no such row (at bad_triggers.py:")


async def test_a_trigger_that_ends_without_an_event_leaves_its_last_lines() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "says much and ends", "name": "a"})
        assert made.stands("a") == ("Failed", "TriggerEnded")
        assert made.status("a")["log"].splitlines()[-1].endswith("x" * 150)
        assert len(made.status("a")["log"].splitlines()) == 20


async def test_a_wait_that_took_too_long_leaves_its_last_lines() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "says much", "name": "a"}, timeout=5)
        await made.pass_time(6)
        assert made.stands("a") == ("Failed", "DeferralTimeout")
        assert "line 29 of a" in made.status("a")["log"]


@pytest.mark.parametrize("does", ["yields an object", "is refused", "raises"])
async def test_who_says_nothing_leaves_at_most_a_traceback(does: str) -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": does, "name": "a"})
        assert made.status("a").get("log", "Traceback").startswith("Traceback")


async def test_a_class_that_cannot_be_imported_logs_its_traceback_and_is_retried() -> None:
    async with world() as made:
        await begun(made, "a", "broken", {}, spec={"python": "m:f", "retries": {"limit": 1}})
        assert made.stands("a") == ("UpForRetry", "TriggerUnknown")
        assert "ModuleNotFoundError: No module named 'no'" in made.status("a")["log"]


@pytest.mark.parametrize(
    ("does", "reason", "log"),
    [
        ("raises", "TriggerFailed", True),
        ("ends", "TriggerEnded", False),
        ("yields an object", "EventInvalid", False),
    ],
)
async def test_every_failure_is_retried_with_its_reason(does: str, reason: str, log: bool) -> None:
    async with world() as made:
        spec = {"python": "m:f", "retries": {"limit": 1}}
        await begun(made, "a", kwargs={"does": does, "name": "a"}, spec=spec)
        assert made.stands("a") == ("UpForRetry", reason)
        assert ("log" in made.status("a")) is log
        assert made.called("a") == ["run", "cleanup"]


async def test_log_lines_name_their_wait_while_it_goes_on() -> None:
    async with world() as made:
        made.taskrun("b", kwargs={"does": "says much", "name": "b"})
        await begun(made, "a", kwargs={"does": "says much", "name": "a"}, status={"attempt": 2, "segment": 3})
        of_a = [line for line in made.said.getvalue().splitlines() if "[workflows/a a2 s3]" in line]
        assert sum("of a xxx" in line for line in of_a) == 30
        assert not any("of b" in line for line in of_a)


async def test_a_trigger_that_refuses_when_it_is_bound_is_cleaned_up() -> None:
    async with world() as made:
        await begun(made, "a", kwargs={"does": "refuses when it is bound", "name": "a"})
        assert made.stands("a") == ("Failed", "TriggerInvalid")
        assert made.called("a") == ["cleanup"]


async def test_a_timer_trigger_that_never_ran_is_cleaned_up_when_it_fires() -> None:
    async with world() as made:
        await begun(made, "a", "odd_clock", {"name": "a"})
        assert made.called("a") == []
        await made.pass_time(21)
        assert made.stands("a") == ("Scheduled", None)
        assert made.called("a") == ["cleanup"]


async def test_and_when_its_wait_is_left_to_another_replica() -> None:
    async with world() as made:
        await begun(made, "a", "odd_clock", {"name": "a"})
        await made.stop()
        assert made.stands("a") == ("Deferred", None)
        assert made.called("a") == ["cleanup"]


async def test_the_next_attempt_begins_after_the_cleanup_of_the_former() -> None:
    async with world() as made:
        spec = {"python": "m:f", "retries": {"limit": 1}}
        await begun(made, "a", kwargs={"does": "raises and cleans up slowly", "name": "a"}, spec=spec)
        await made.pass_time(7)
        assert made.stands("a") == ("Deferred", None)
        await made.pass_time(2)
        assert made.stands("a") == ("UpForRetry", "TriggerFailed")

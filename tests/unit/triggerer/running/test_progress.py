"""One replica: what people see of its waits while they last and when they end, and what that may cost."""

import asyncio
import re
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from torpor_triggerer.batching.batches import PollStats
from torpor_triggerer.reporting.events import SharedTokenBucket
from torpor_triggerer.running.progress import ProgressReporter
from torpor_wire import constants, times
from torpor_wire.secret_ref import SecretRef

from tests.support.fake_api import Fault, VirtualClock, settle
from tests.support.triggerer_fixture import TriggererFixture, answer, start_with_wait, triggerer_fixture

URL = {"url": "http://x/", "interval": "20s"}


def explained(world: TriggererFixture) -> int:
    """Writes that only say what is waited for."""
    patches = [
        write.body for write in world.fake.writes() if write.method == "PATCH" and write.path.endswith("/status")
    ]
    return sum(any(op["path"] == "/status/reason" and op["value"] == "Waiting" for op in patch) for patch in patches)


async def test_a_wait_reports_its_last_poll_its_tries_and_its_next_poll() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(404)]
        await start_with_wait(world, "a", "http", URL)
        await world.pass_time(9)
        assert explained(world) == 0
        await world.pass_time(2)
        status = world.status("a")
        assert (status["state"], status["reason"]) == ("Deferred", "Waiting")
        expected = r"Waiting for http://x/: http://x/ answered 404, 1 try, last at (\S+)Z, next at (\S+)Z"
        match = re.fullmatch(expected, status["message"])
        assert match is not None
        began, last, following = (times.epoch(f"{text}Z") for text in (status["deferredAt"][:19], *match.groups()))
        assert began <= last <= began + 2
        assert 18 <= following - last <= 24
        assert "conditions" not in status
        assert f"[workflows/a a1 s0] {status['message']}" in world.log_output.getvalue()


async def test_a_fire_leaves_nothing_of_that() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(503), answer(200)]
        await start_with_wait(world, "a", "http", URL)
        await world.pass_time(30)
        assert world.state_and_reason("a") == ("Scheduled", None)
        assert world.status("a").get("message") is None
        assert explained(world) == 1


async def test_a_sentence_that_changes_is_said_once_a_minute() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(status) for status in range(400, 500)]
        await start_with_wait(world, "a", "http", {"url": "http://x/", "interval": "5s"})
        await world.pass_time(12)
        assert explained(world) == 1
        await world.pass_time(57)
        assert explained(world) == 1
        await world.pass_time(3)
        assert explained(world) == 2
        await world.pass_time(600)
        assert 9 <= explained(world) <= 12


async def test_where_only_the_tries_are_counted_on_it_is_said_every_ten_minutes() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(404)]
        await start_with_wait(world, "a", "http", {"url": "http://x/", "interval": "5s"})
        await world.pass_time(600)
        assert explained(world) == 1
        await world.pass_time(20)
        assert explained(world) == 2
        assert re.search(r" 1[12][0-9] tries, last at \S+Z, next at \S+Z$", world.status("a")["message"])


async def test_all_waits_together_write_two_sentences_a_second() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(503)]
        for number in range(300):
            world.taskrun(f"t{number}", "http", {"url": f"http://x/{number}", "interval": "10m"})
        await world.start()
        await world.pass_time(10)
        await world.pass_time(30)
        assert 50 <= explained(world) <= 64
        await world.pass_time(150)
        assert explained(world) == 300
        assert {world.state_and_reason(f"t{number}") for number in range(300)} == {("Deferred", "Waiting")}


async def test_a_rate_of_nothing_writes_nothing() -> None:
    async with triggerer_fixture(progress_rate=0.0, event_rate=0.0) as world:
        world.web.answers = [answer(503)]
        world.taskrun("b", kwargs={"does": "raises"})
        await start_with_wait(world, "a", "http", URL)
        await world.pass_time(100)
        assert explained(world) == 0
        assert world.events("a", "Normal") == world.events("b") == []


async def test_a_progress_message_that_cannot_be_written_harms_no_wait() -> None:
    async with triggerer_fixture() as world:
        world.web.answers = [answer(503), answer(404), answer(200)]
        world.fake.inject(Fault(status=403, method="PATCH", path="/a/status", times=2))
        await start_with_wait(world, "a", "http", {"url": "http://x/", "interval": "60s"})
        await world.pass_time(200)
        assert world.state_and_reason("a") == ("Scheduled", None)


async def test_a_progress_message_contains_no_secret() -> None:
    async with triggerer_fixture() as world:
        world.secret("db", password="hunter2-hunter2")
        world.readers.add((constants.TASK_ACCOUNT, "db"))
        reference = SecretRef("db", "password").written()
        await start_with_wait(world, "a", kwargs={"does": "looks and shows what it was given", "x": reference})
        await world.pass_time(12)
        message = world.status("a")["message"]
        assert ": it is not {'x': '***'}: {\"x\": \"***\"}, 1 try, last at " in message


async def test_that_it_waits_and_that_it_fired_are_events() -> None:
    async with triggerer_fixture() as world:
        await start_with_wait(world, "a", "duration", {"duration": "3s"})
        moment = "until 2023-11-14T22:13:23.000Z"
        assert world.events("a", "Normal") == [("Waiting", f"waits {moment}")]
        await world.pass_time(4)
        assert min(world.events("a", "Normal")) == ("Fired", f"the wait is over: {moment}")


async def test_a_task_that_resumes_after_a_timeout_gets_an_event() -> None:
    async with triggerer_fixture() as world:
        resume = {"next": {"method": "m:f", "kwargs": "{}", "onTimeout": "m:late"}}
        await start_with_wait(world, "a", timeout=5, status=resume)
        await world.pass_time(6)
        reason, note = min(world.events("a", "Normal"))
        assert (reason, note) == (
            "TimedOut",
            "the deferral timed out while waiting for odd a does=waits; the task goes on",
        )


async def test_a_wait_that_is_taken_over_gets_no_second_event() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a")
        await world.pass_time(6)
        await world.start()
        assert world.called("a") == ["run"]
        assert world.events("a", "Normal") == []


async def test_events_over_the_limit_are_dropped_and_delay_no_fire() -> None:
    async with triggerer_fixture(event_rate=1.0) as world:
        for number in range(100):
            world.taskrun(f"t{number}", "time", {"at": "2001-01-01T00:00:00Z"})
        world.fake.inject(Fault(status=503, path="/events", times=3))
        await world.start()
        assert {world.state_and_reason(f"t{number}") for number in range(100)} == {("Scheduled", None)}
        assert sum(len(world.events(f"t{number}", "Normal")) for number in range(100)) == 2
        await world.pass_time(60)
        for number in range(100, 110):
            world.taskrun(f"t{number}", "time", {"at": "2001-01-01T00:00:00Z"})
        await world.settle()
        first, second = re.findall(r"Dropped (\d+) Events: \d+ of namespace", world.log_output.getvalue())
        assert first == "1"
        assert 190 <= int(second) <= 196


async def test_failure_events_are_posted_when_the_rate_allows() -> None:
    async with triggerer_fixture(event_rate=1.0) as world:
        for number in range(20):
            world.taskrun(f"t{number}", kwargs={"does": "raises", "name": f"t{number}"})
        await world.start()
        await world.pass_time(1)
        assert sum(len(world.events(f"t{number}")) for number in range(20)) <= 7
        await world.pass_time(30)
        assert all(world.events(f"t{number}") for number in range(20))


async def test_a_bug_in_telling_ends_no_wait_and_no_triggerer() -> None:
    async with triggerer_fixture(sealing=True) as world:
        world.web.answers = [answer(404), answer(200)]
        request = world.fake.request

        async def broken(method: str, path: str, **given: Any) -> Any:
            explains = method == "PATCH" and "Waiting" in str(given.get("body"))
            if path.endswith("/events") or "torpor-seal" in path or explains:
                raise ZeroDivisionError("nobody thought of it")
            return await request(method, path, **given)

        world.fake.request = broken  # type: ignore[method-assign]
        await start_with_wait(world, "a", "http", URL)
        await world.pass_time(30)
        assert world.state_and_reason("a") == ("Scheduled", None)
        world.taskrun("b", "duration", {"duration": "1s"})
        await world.pass_time(2)
        assert world.state_and_reason("b") == ("Scheduled", None)


@pytest.mark.parametrize("rate", [0.5, 2.0])
async def test_a_budget_gives_as_much_as_its_rate(rate: float) -> None:
    from torpor_triggerer.reporting.events import SharedTokenBucket  # noqa: PLC0415

    async with triggerer_fixture() as world:
        budget = SharedTokenBucket(world.clock, rate=rate, burst=3.0)
        taken = 0
        for _ in range(1000):
            taken += budget.take()
            await world.pass_time(0.1)
        assert taken in {int(3 + 100 * rate), int(3 + 100 * rate) - 1}


async def test_a_namespace_with_very_many_waits_does_not_keep_another_silent() -> None:
    clock = VirtualClock()
    namespaces: list[str] = []

    async def tell(run: Any, _: str) -> None:
        namespaces.append(run.wait.namespace)

    def wait(namespace: str) -> Any:
        facts = {"last_look": "not yet", "is_ending": False, "last_progress": None, "asks": ""}
        of_wait = SimpleNamespace(namespace=namespace, name="t", awaited="for x", deferred_at=clock.now() - 60)
        wait_log = SimpleNamespace(redact=str, active=nullcontext)
        return SimpleNamespace(**facts, wait=of_wait, packed=of_wait, wait_log=wait_log, poll_stats=PollStats())

    runs = [wait("greedy") for _ in range(2000)]
    budget = SharedTokenBucket.for_messages(clock, 2.0)
    progress = asyncio.create_task(ProgressReporter(clock, budget, runs=lambda: runs, write=tell).run())
    await settle()
    await clock.advance(10)
    runs.append(wait("other"))
    await clock.advance(5)
    assert "other" in namespaces
    assert namespaces.count("greedy") > 10
    progress.cancel()

"""One replica: what people see of its waits while they last and when they end, and what that may cost."""

import asyncio
import re
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from torpor_triggerer.batching.batches import PollStats
from torpor_triggerer.reporting.events import TokenBucket
from torpor_triggerer.running.progress import Progress
from torpor_wire import constants, times
from torpor_wire.secret_ref import SecretRef

from tests.support.fake_api import Fault, VirtualClock, settle
from tests.support.triggerer_world import World, answer, begun, world

URL = {"url": "http://x/", "interval": "20s"}


def explained(made: World) -> int:
    """Writes that only say what is waited for."""
    patches = [one.body for one in made.fake.writes() if one.method == "PATCH" and one.path.endswith("/status")]
    return sum(any(op["path"] == "/status/reason" and op["value"] == "Waiting" for op in patch) for patch in patches)


async def test_a_wait_reports_its_last_poll_its_tries_and_its_next_poll() -> None:
    async with world() as made:
        made.web.answers = [answer(404)]
        await begun(made, "a", "http", URL)
        await made.pass_time(9)
        assert explained(made) == 0
        await made.pass_time(2)
        status = made.status("a")
        assert (status["state"], status["reason"]) == ("Deferred", "Waiting")
        expected = r"Waiting for http://x/: http://x/ answered 404, 1 try, last at (\S+)Z, next at (\S+)Z"
        found = re.fullmatch(expected, status["message"])
        assert found is not None
        began, last, following = (times.epoch(f"{text}Z") for text in (status["deferredAt"][:19], *found.groups()))
        assert began <= last <= began + 2
        assert 18 <= following - last <= 24
        assert "conditions" not in status
        assert f"[workflows/a a1 s0] {status['message']}" in made.said.getvalue()


async def test_a_fire_leaves_nothing_of_that() -> None:
    async with world() as made:
        made.web.answers = [answer(503), answer(200)]
        await begun(made, "a", "http", URL)
        await made.pass_time(30)
        assert made.stands("a") == ("Scheduled", None)
        assert made.status("a").get("message") is None
        assert explained(made) == 1


async def test_a_sentence_that_changes_is_said_once_a_minute() -> None:
    async with world() as made:
        made.web.answers = [answer(status) for status in range(400, 500)]
        await begun(made, "a", "http", {"url": "http://x/", "interval": "5s"})
        await made.pass_time(12)
        assert explained(made) == 1
        await made.pass_time(57)
        assert explained(made) == 1
        await made.pass_time(3)
        assert explained(made) == 2
        await made.pass_time(600)
        assert 9 <= explained(made) <= 12


async def test_where_only_the_tries_are_counted_on_it_is_said_every_ten_minutes() -> None:
    async with world() as made:
        made.web.answers = [answer(404)]
        await begun(made, "a", "http", {"url": "http://x/", "interval": "5s"})
        await made.pass_time(600)
        assert explained(made) == 1
        await made.pass_time(20)
        assert explained(made) == 2
        assert re.search(r" 1[12][0-9] tries, last at \S+Z, next at \S+Z$", made.status("a")["message"])


async def test_all_waits_together_write_two_sentences_a_second() -> None:
    async with world() as made:
        made.web.answers = [answer(503)]
        for number in range(300):
            made.taskrun(f"t{number}", "http", {"url": f"http://x/{number}", "interval": "10m"})
        await made.start()
        await made.pass_time(10)
        await made.pass_time(30)
        assert 50 <= explained(made) <= 64
        await made.pass_time(150)
        assert explained(made) == 300
        assert {made.stands(f"t{number}") for number in range(300)} == {("Deferred", "Waiting")}


async def test_a_rate_of_nothing_writes_nothing() -> None:
    async with world(progress_rate=0.0, event_rate=0.0) as made:
        made.web.answers = [answer(503)]
        made.taskrun("b", kwargs={"does": "raises"})
        await begun(made, "a", "http", URL)
        await made.pass_time(100)
        assert explained(made) == 0
        assert made.events("a", "Normal") == made.events("b") == []


async def test_a_progress_message_that_cannot_be_written_harms_no_wait() -> None:
    async with world() as made:
        made.web.answers = [answer(503), answer(404), answer(200)]
        made.fake.inject(Fault(status=403, method="PATCH", path="/a/status", times=2))
        await begun(made, "a", "http", {"url": "http://x/", "interval": "60s"})
        await made.pass_time(200)
        assert made.stands("a") == ("Scheduled", None)


async def test_a_progress_message_contains_no_secret() -> None:
    async with world() as made:
        made.secret("db", password="hunter2-hunter2")
        made.readers.add((constants.TASK_ACCOUNT, "db"))
        reference = SecretRef("db", "password").written()
        await begun(made, "a", kwargs={"does": "looks and shows what it was given", "x": reference})
        await made.pass_time(12)
        message = made.status("a")["message"]
        assert ": it is not {'x': '***'}: {\"x\": \"***\"}, 1 try, last at " in message


async def test_that_it_waits_and_that_it_fired_are_events() -> None:
    async with world() as made:
        await begun(made, "a", "duration", {"duration": "3s"})
        moment = "until 2023-11-14T22:13:23.000Z"
        assert made.events("a", "Normal") == [("Waiting", f"waits {moment}")]
        await made.pass_time(4)
        assert min(made.events("a", "Normal")) == ("Fired", f"the wait is over: {moment}")


async def test_a_task_that_resumes_after_a_timeout_gets_an_event() -> None:
    async with world() as made:
        resume = {"next": {"method": "m:f", "kwargs": "{}", "onTimeout": "m:late"}}
        await begun(made, "a", timeout=5, status=resume)
        await made.pass_time(6)
        reason, note = min(made.events("a", "Normal"))
        assert (reason, note) == (
            "TimedOut",
            "the deferral timed out while waiting for odd a does=waits; the task goes on",
        )


async def test_a_wait_that_is_taken_over_gets_no_second_event() -> None:
    async with world() as made:
        made.taskrun("a")
        await made.pass_time(6)
        await made.start()
        assert made.called("a") == ["run"]
        assert made.events("a", "Normal") == []


async def test_events_over_the_limit_are_dropped_and_delay_no_fire() -> None:
    async with world(event_rate=1.0) as made:
        for number in range(100):
            made.taskrun(f"t{number}", "time", {"at": "2001-01-01T00:00:00Z"})
        made.fake.inject(Fault(status=503, path="/events", times=3))
        await made.start()
        assert {made.stands(f"t{number}") for number in range(100)} == {("Scheduled", None)}
        assert sum(len(made.events(f"t{number}", "Normal")) for number in range(100)) == 2
        await made.pass_time(60)
        for number in range(100, 110):
            made.taskrun(f"t{number}", "time", {"at": "2001-01-01T00:00:00Z"})
        await made.rest()
        first, second = re.findall(r"Dropped (\d+) Events: \d+ of namespace", made.said.getvalue())
        assert first == "1"
        assert 190 <= int(second) <= 196


async def test_failure_events_are_posted_when_the_rate_allows() -> None:
    async with world(event_rate=1.0) as made:
        for number in range(20):
            made.taskrun(f"t{number}", kwargs={"does": "raises", "name": f"t{number}"})
        await made.start()
        await made.pass_time(1)
        assert sum(len(made.events(f"t{number}")) for number in range(20)) <= 7
        await made.pass_time(30)
        assert all(made.events(f"t{number}") for number in range(20))


async def test_a_bug_in_telling_ends_no_wait_and_no_triggerer() -> None:
    async with world(sealing=True) as made:
        made.web.answers = [answer(404), answer(200)]
        request = made.fake.request

        async def broken(method: str, path: str, **given: Any) -> Any:
            explains = method == "PATCH" and "Waiting" in str(given.get("body"))
            if path.endswith("/events") or "torpor-seal" in path or explains:
                raise ZeroDivisionError("nobody thought of it")
            return await request(method, path, **given)

        made.fake.request = broken  # type: ignore[method-assign]
        await begun(made, "a", "http", URL)
        await made.pass_time(30)
        assert made.stands("a") == ("Scheduled", None)
        made.taskrun("b", "duration", {"duration": "1s"})
        await made.pass_time(2)
        assert made.stands("b") == ("Scheduled", None)


@pytest.mark.parametrize("rate", [0.5, 2.0])
async def test_a_budget_gives_as_much_as_its_rate(rate: float) -> None:
    from torpor_triggerer.reporting.events import TokenBucket  # noqa: PLC0415

    async with world() as made:
        budget = TokenBucket(made.clock, rate=rate, burst=3.0)
        taken = 0
        for _ in range(1000):
            taken += budget.take()
            await made.pass_time(0.1)
        assert taken in {int(3 + 100 * rate), int(3 + 100 * rate) - 1}


async def test_a_namespace_with_very_many_waits_does_not_keep_another_silent() -> None:
    clock = VirtualClock()
    told: list[str] = []

    async def tell(run: Any, _: str) -> None:
        told.append(run.wait.namespace)

    def wait(namespace: str) -> Any:
        facts = {"last_look": "not yet", "is_ending": False, "last_progress": None, "asks": ""}
        of_wait = SimpleNamespace(namespace=namespace, name="t", awaited="for x", deferred_at=clock.now() - 60)
        wait_log = SimpleNamespace(redact=str, active=nullcontext)
        return SimpleNamespace(**facts, wait=of_wait, packed=of_wait, wait_log=wait_log, poll_stats=PollStats())

    runs = [wait("greedy") for _ in range(2000)]
    budget = TokenBucket.for_messages(clock, 2.0)
    progress = asyncio.create_task(Progress(clock, budget, runs=lambda: runs, write=tell).run())
    await settle()
    await clock.advance(10)
    runs.append(wait("other"))
    await clock.advance(5)
    assert "other" in told
    assert told.count("greedy") > 10
    progress.cancel()

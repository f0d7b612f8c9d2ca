"""One query for many waits: a failure reaches only the waits that cause it."""

import asyncio
import traceback
from typing import Any, ClassVar

import pytest
from torpor.triggers import TriggerEvent
from torpor.triggers.support.polling import BusyError
from torpor_triggerer.batching import results

from tests.support import trigger_services
from tests.support.fake_api import VirtualClock
from tests.support.triggers.batch_triggers import Row, shared_poll


class UnreadableRetryError(OSError):
    @property
    def retry_after(self) -> float:
        raise SystemError

    def __str__(self) -> str:
        raise SystemError


class UnspeakableExit(SystemExit):
    def __str__(self) -> str:
        raise SystemError


class BrokenClock(VirtualClock):
    """Its next reading of the monotonic time fails if it is broken."""

    broken = False

    def monotonic(self) -> float:
        if self.broken:
            self.broken = False
            raise RuntimeError("a bug")
        return super().monotonic()


class Unpayable:
    @property
    def payload(self) -> Any:
        raise SystemError


@pytest.mark.parametrize("error", [ValueError("bad id"), SystemExit(2), asyncio.CancelledError(), StopIteration()])
async def test_a_wait_that_breaks_the_poll_fails_alone_within_the_round(error: BaseException) -> None:
    async with shared_poll(waits=1000, raises={3: error, 777: error}, rows={1}) as poll:
        await poll.settle()
        outcomes = poll.outcomes()
        assert set(outcomes) == {1, 3, 777}
        assert all(
            type(error).__name__ in f"{type(raised).__name__} {raised}" for raised in (outcomes[3], outcomes[777])
        )
        assert len(poll.sizes()) < 50


async def test_after_such_a_failure_the_others_are_soon_polled_together_again() -> None:
    async with shared_poll(waits=1000, raises={3: ValueError("bad id")}) as poll:
        await poll.pass_time(300)
        poll.sizes()
        await poll.pass_time(10)
        assert poll.sizes() == [999]


async def test_a_wait_that_makes_the_poll_time_out_is_isolated() -> None:
    async with shared_poll(waits=64, raises={3: TimeoutError("slow")}) as poll:
        await poll.pass_time(1000)
        poll.sizes()
        poll.table.rows |= set(range(64))
        await poll.pass_time(20)
        assert set(poll.outcomes()) == set(range(64)) - {3}
        assert poll.rows[3].last_look == "slow"
        del poll.table.raises[3]
        await poll.pass_time(100)
        assert poll.outcomes()[3] == 3


async def test_an_isolated_slow_wait_does_not_delay_the_others() -> None:
    async with shared_poll(waits=64, raises={3: TimeoutError("slow")}, delay=10.0) as poll:
        await poll.pass_time(2000)
        poll.table.polls.clear()
        await poll.pass_time(100)
        others = [numbers for numbers in poll.table.polls if 3 not in numbers]
        assert sum(map(len, others)) >= 63 * 9


async def test_a_source_is_polled_for_as_many_as_it_can_answer_at_once() -> None:
    async with shared_poll(waits=1000, capacity=100) as poll:
        await poll.pass_time(600)
        poll.table.rows |= set(range(1000))
        await poll.pass_time(120)
        assert len(poll.outcomes()) == 1000


async def test_a_slow_source_is_polled_in_batches_that_it_answers_in_time() -> None:
    async with shared_poll(waits=300, seconds_each=0.1) as poll:
        await poll.pass_time(1500)
        poll.sizes()
        await poll.pass_time(500)
        sizes = poll.sizes()
        assert max(sizes) < 100
        assert sum(sizes) > 300 * 8
        assert len(sizes) < 100
        poll.table.seconds_each = 0.0
        await poll.pass_time(200)
        poll.sizes()
        await poll.pass_time(10)
        assert poll.sizes() == [300]


async def test_a_failing_source_is_polled_with_backoff_and_its_waits_go_on() -> None:
    async with shared_poll(waits=2000, error=ConnectionError("refused")) as poll:
        await poll.pass_time(10 + 20 + 40 + 60 + 60 + 1)
        assert poll.sizes() == [1000] * 6
        assert {row.last_look for row in poll.rows.values()} == {"refused"}
        poll.table.error = None
        poll.table.rows |= {5}
        await poll.pass_time(60)
        assert poll.outcomes() == {5: 5}
        poll.sizes()
        await poll.pass_time(10)
        assert poll.sizes() == [1000, 999]


async def test_a_wait_that_joins_during_retry_after_waits_and_shows_why() -> None:
    async with shared_poll(error=BusyError("come back later", 90.0)) as poll:
        poll.wait(1)
        await poll.settle()
        poll.wait(2)
        await poll.pass_time(90)
        assert poll.sizes() == [1]
        assert poll.rows[2].last_look == "come back later"
        await poll.pass_time(10)
        assert poll.sizes() == [2]


async def test_a_poll_that_hangs_times_out_and_its_waits_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "POLL_SECONDS", 0.01)
    async with shared_poll(latency=1e9) as poll:
        poll.wait(1, 2)
        await trigger_services.until(lambda: "not done" in poll.rows[2].last_look)
        poll.table.latency = 0.0
        poll.table.rows |= {1, 2}
        await poll.pass_time(30)
        assert poll.outcomes() == {1: 1, 2: 2}


class Careful(Row):
    """Takes a moment to end when it is stopped."""

    ended: ClassVar[list[str]] = []

    @classmethod
    async def poll_many(cls, waits: Any, services: Any) -> Any:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0.01)
            cls.ended.append("the poll")


async def test_the_client_of_a_poll_is_closed_after_the_poll_has_ended() -> None:
    async with shared_poll() as poll:
        poll.on_release = lambda: Careful.ended.append("its client")
        poll.wait(1, kind=Careful)
        await poll.settle()
        poll.tasks[1].cancel()
        await trigger_services.until(lambda: len(Careful.ended) == 2)
        assert Careful.ended == ["the poll", "its client"]


async def test_a_source_that_recovers_from_timeouts_is_soon_polled_in_full_again() -> None:
    async with shared_poll(waits=1000, error=TimeoutError("no answer within 10 s")) as poll:
        await poll.pass_time(1800)
        poll.table.error = None
        await poll.pass_time(600)
        poll.sizes()
        await poll.pass_time(10)
        assert poll.sizes() == [1000]


async def test_refused_credentials_fail_all_waits_with_one_poll() -> None:
    async with shared_poll(waits=100, error=PermissionError("wrong password")) as poll:
        await poll.settle()
        assert {str(error) for error in poll.outcomes().values()} == {"wrong password"}
        assert poll.sizes() == [100]
        assert len({len(traceback.extract_tb(error.__traceback__)) for error in poll.outcomes().values()}) == 1
        assert len(traceback.extract_tb(poll.outcomes()[99].__traceback__)) < 10


class OddRow(Row):
    """Answers as its table's `down` says."""

    @classmethod
    async def poll_many(cls, waits: Any, services: Any) -> Any:
        return [waits[0].table.error if wait.number == 3 else TriggerEvent(wait.number) for wait in waits]


@pytest.mark.parametrize("error", [UnreadableRetryError(), BusyError("soon", float("nan")), BusyError("soon", 10**400)])
async def test_an_error_that_cannot_be_formatted_is_still_an_error(error: OSError) -> None:
    async with shared_poll(error=error) as poll:
        poll.wait(1, 2)
        await poll.pass_time(60)
        poll.table.error = None
        poll.table.rows |= {1, 2}
        await poll.pass_time(60)
        assert poll.outcomes() == {1: 1, 2: 2}


async def test_an_error_that_cannot_be_formatted_fails_its_wait_only() -> None:
    async with shared_poll(raises={2: UnspeakableExit()}, rows={1}) as poll:
        poll.wait(1, 2)
        await poll.settle()
        assert poll.outcomes()[1] == 1
        assert isinstance(poll.outcomes()[2], Exception)


async def test_an_error_of_the_timers_does_not_stop_polls() -> None:
    async with shared_poll() as poll:
        clock = poll.clock = BrokenClock()
        poll.wait(1)
        poll.wait(2, source=None)
        await poll.pass_time(5)
        clock.broken = True
        await poll.pass_time(30)
        assert not clock.broken
        poll.table.rows |= {1, 2}
        await poll.pass_time(12)
        assert poll.outcomes() == {1: 1, 2: 2}


class Short(Row):
    @classmethod
    async def poll_many(cls, waits: Any, services: Any) -> Any:
        return []


class Plain(Row):
    @classmethod
    def poll_many(cls, waits: Any, services: Any) -> Any:
        return [None for _ in waits]


@pytest.mark.parametrize("answer", [KeyError("mine"), "an event", 7, Unpayable(), SystemExit(2)])
async def test_an_error_or_invalid_answer_fails_that_wait_only(answer: Any) -> None:
    async with shared_poll(error=answer) as poll:
        poll.wait(1, 2, 3, kind=OddRow)
        await poll.settle()
        outcomes = poll.outcomes()
        assert (outcomes[1], outcomes[2]) == (1, 2)
        assert isinstance(outcomes[3], KeyError | TypeError | RuntimeError)


@pytest.mark.parametrize(("kind", "words"), [(Short, "gave 0 answers to 1 waits"), (Plain, "await")])
async def test_a_class_that_breaks_the_contract_fails_with_the_rule(kind: Any, words: str) -> None:
    async with shared_poll() as poll:
        poll.wait(1, 2, kind=kind)
        await poll.settle()
        assert all(words in str(error) for error in poll.outcomes().values())
        assert len(poll.outcomes()) == 2

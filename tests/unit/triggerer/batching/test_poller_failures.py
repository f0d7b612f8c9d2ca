"""One query for many: whose trouble a failure is, and that it stays theirs."""

import asyncio
import traceback
from typing import Any, ClassVar

import pytest
from torpor.triggers import TriggerEvent
from torpor.triggers.support.polling import BusyError
from torpor_triggerer.batching import results

from tests.support import trigger_services
from tests.support.fake_api import VirtualClock
from tests.support.triggers.batch_triggers import Row, crowd


class UnspeakableError(OSError):
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
    async with crowd(raises={3: error, 777: error}, rows={1}) as them:
        them.wait(*range(1000))
        await them.rest()
        told = them.told()
        assert set(told) == {1, 3, 777}
        assert all(type(error).__name__ in f"{type(one).__name__} {one}" for one in (told[3], told[777]))
        assert len(them.polled()) < 50


async def test_after_such_a_failure_the_others_are_soon_polled_together_again() -> None:
    async with crowd(raises={3: ValueError("bad id")}) as them:
        them.wait(*range(1000))
        await them.pass_time(300)
        them.polled()
        await them.pass_time(10)
        assert them.polled() == [999]


async def test_a_wait_that_makes_the_poll_time_out_is_isolated() -> None:
    async with crowd(raises={3: TimeoutError("slow")}) as them:
        them.wait(*range(64))
        await them.pass_time(1000)
        them.polled()
        them.table.rows |= set(range(64))
        await them.pass_time(20)
        assert set(them.told()) == set(range(64)) - {3}
        assert them.rows[3].last_look == "slow"
        del them.table.raises[3]
        await them.pass_time(100)
        assert them.told()[3] == 3


async def test_an_isolated_slow_wait_does_not_delay_the_others() -> None:
    async with crowd(raises={3: TimeoutError("slow")}, drag=10.0) as them:
        them.wait(*range(64))
        await them.pass_time(2000)
        them.table.asked.clear()
        await them.pass_time(100)
        others = [one for one in them.table.asked if 3 not in one]
        assert sum(map(len, others)) >= 63 * 9


async def test_a_source_is_polled_for_as_many_as_it_can_answer_at_once() -> None:
    async with crowd(room=100) as them:
        them.wait(*range(1000))
        await them.pass_time(600)
        them.table.rows |= set(range(1000))
        await them.pass_time(120)
        assert len(them.told()) == 1000


async def test_a_slow_source_is_polled_in_batches_that_it_answers_in_time() -> None:
    async with crowd(each=0.1) as them:
        them.wait(*range(300))
        await them.pass_time(1500)
        them.polled()
        await them.pass_time(500)
        asked = them.polled()
        assert max(asked) < 100
        assert sum(asked) > 300 * 8
        assert len(asked) < 100
        them.table.each = 0.0
        await them.pass_time(200)
        them.polled()
        await them.pass_time(10)
        assert them.polled() == [300]


async def test_a_failing_source_is_polled_with_backoff_and_its_waits_go_on() -> None:
    async with crowd(down=ConnectionError("refused")) as them:
        them.wait(*range(2000))
        await them.pass_time(10 + 20 + 40 + 60 + 60 + 1)
        assert them.polled() == [1000] * 6
        assert {one.last_look for one in them.rows.values()} == {"refused"}
        them.table.down = None
        them.table.rows |= {5}
        await them.pass_time(60)
        assert them.told() == {5: 5}
        them.polled()
        await them.pass_time(10)
        assert them.polled() == [1000, 999]


async def test_a_wait_that_joins_during_retry_after_waits_and_shows_why() -> None:
    async with crowd(down=BusyError("come back later", 90.0)) as them:
        them.wait(1)
        await them.rest()
        them.wait(2)
        await them.pass_time(90)
        assert them.polled() == [1]
        assert them.rows[2].last_look == "come back later"
        await them.pass_time(10)
        assert them.polled() == [2]


async def test_a_poll_that_hangs_times_out_and_its_waits_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "POLL_SECONDS", 0.01)
    async with crowd(latency=1e9) as them:
        them.wait(1, 2)
        await trigger_services.until(lambda: "not done" in them.rows[2].last_look)
        them.table.latency = 0.0
        them.table.rows |= {1, 2}
        await them.pass_time(30)
        assert them.told() == {1: 1, 2: 2}


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
    async with crowd() as them:
        them.until = lambda: Careful.ended.append("its client")
        them.wait(1, kind=Careful)
        await them.rest()
        them.tasks[1].cancel()
        await trigger_services.until(lambda: len(Careful.ended) == 2)
        assert Careful.ended == ["the poll", "its client"]


async def test_a_source_that_recovers_from_timeouts_is_soon_polled_in_full_again() -> None:
    async with crowd(down=TimeoutError("no answer within 10 s")) as them:
        them.wait(*range(1000))
        await them.pass_time(1800)
        them.table.down = None
        await them.pass_time(600)
        them.polled()
        await them.pass_time(10)
        assert them.polled() == [1000]


async def test_refused_credentials_fail_all_waits_with_one_poll() -> None:
    async with crowd(down=PermissionError("wrong password")) as them:
        them.wait(*range(100))
        await them.rest()
        assert {str(error) for error in them.told().values()} == {"wrong password"}
        assert them.polled() == [100]
        assert len({len(traceback.extract_tb(error.__traceback__)) for error in them.told().values()}) == 1
        assert len(traceback.extract_tb(them.told()[99].__traceback__)) < 10


class Odd(Row):
    """Answers as its table's `down` says."""

    @classmethod
    async def poll_many(cls, waits: Any, services: Any) -> Any:
        return [waits[0].table.down if one.number == 3 else TriggerEvent(one.number) for one in waits]


@pytest.mark.parametrize("trouble", [UnspeakableError(), BusyError("soon", float("nan")), BusyError("soon", 10**400)])
async def test_an_error_that_cannot_be_formatted_is_still_an_error(trouble: OSError) -> None:
    async with crowd(down=trouble) as them:
        them.wait(1, 2)
        await them.pass_time(60)
        them.table.down = None
        them.table.rows |= {1, 2}
        await them.pass_time(60)
        assert them.told() == {1: 1, 2: 2}


async def test_an_error_that_cannot_be_formatted_fails_its_wait_only() -> None:
    async with crowd(raises={2: UnspeakableExit()}, rows={1}) as them:
        them.wait(1, 2)
        await them.rest()
        assert them.told()[1] == 1
        assert isinstance(them.told()[2], Exception)


async def test_an_error_of_the_timers_does_not_stop_polls() -> None:
    async with crowd() as them:
        clock = them.clock = BrokenClock()
        them.wait(1)
        them.wait(2, source=None)
        await them.pass_time(5)
        clock.broken = True
        await them.pass_time(30)
        assert not clock.broken
        them.table.rows |= {1, 2}
        await them.pass_time(12)
        assert them.told() == {1: 1, 2: 2}


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
    async with crowd(down=answer) as them:
        them.wait(1, 2, 3, kind=Odd)
        await them.rest()
        told = them.told()
        assert (told[1], told[2]) == (1, 2)
        assert isinstance(told[3], KeyError | TypeError | RuntimeError)


@pytest.mark.parametrize(("kind", "words"), [(Short, "gave 0 answers to 1 waits"), (Plain, "await")])
async def test_a_class_that_breaks_the_contract_fails_with_the_rule(kind: Any, words: str) -> None:
    async with crowd() as them:
        them.wait(1, 2, kind=kind)
        await them.rest()
        assert all(words in str(error) for error in them.told().values())
        assert len(them.told()) == 2

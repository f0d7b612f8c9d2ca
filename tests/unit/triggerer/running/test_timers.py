"""The heap, and the one task that serves it."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from torpor_triggerer.timers import TimerHeap, Timers

from tests.support.fake_api import VirtualClock, settle


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=300), st.integers(0, 60))
def test_what_is_due_comes_in_order_and_what_was_taken_back_never(wanted: list[tuple[int, bool]], now: int) -> None:
    timers: TimerHeap[int] = TimerHeap()
    added = [(moment, number, keep, timers.add(moment, number)) for number, (moment, keep) in enumerate(wanted)]
    for _, _, keep, timer in added:
        if not keep:
            timers.discard(timer)
            timers.discard(timer)
    expected = sorted((moment, number) for moment, number, keep, _ in added if keep)
    assert len(timers) == len(expected)
    assert timers.next_moment() == (expected[0][0] if expected else None)
    assert popped(timers, now) == [number for moment, number in expected if moment <= now]
    assert len(timers) == sum(1 for moment, _ in expected if moment > now)
    assert popped(timers, 100) == [number for moment, number in expected if moment > now]


def popped(timers: TimerHeap[int], now: float) -> list[int]:
    return list(iter(lambda: timers.pop_due(now), None))


def test_timers_taken_back_do_not_pile_up() -> None:
    timers: TimerHeap[int] = TimerHeap()
    for number in range(100_000):
        timers.discard(timers.add(1e9 + number, number))
    assert len(timers._heap) < 200


async def test_an_earlier_time_wakes_the_sleeper() -> None:
    clock = VirtualClock()
    expired: list[tuple[str, float]] = []
    timers: Timers[str] = Timers(clock, lambda item: expired.append((item, clock.monotonic())))
    running = asyncio.create_task(timers.run())
    await settle()
    timers.add(clock.now() + 20, "later")
    await clock.advance(5)
    timers.add(clock.now() + 1, "sooner")
    timers.discard(timers.add(clock.now() + 2, "never"))
    await clock.advance(40)
    running.cancel()
    assert expired == [("sooner", 6.0), ("later", 20.0)]


async def test_a_wall_clock_that_is_set_forward_is_noticed_within_half_a_minute() -> None:
    clock = VirtualClock()
    expired: list[str] = []
    timers: Timers[str] = Timers(clock, expired.append)
    running = asyncio.create_task(timers.run())
    timers.add(clock.now() + 3600, "moment")
    await clock.advance(1)
    clock.jump(3600)
    await clock.advance(31)
    running.cancel()
    assert expired == ["moment"]


async def test_a_timer_that_fails_keeps_no_other_from_ringing() -> None:
    clock = VirtualClock()
    expired: list[str] = []

    def ring(item: str) -> None:
        if item == "bad":
            raise RuntimeError("a bug")
        expired.append(item)

    timers: Timers[str] = Timers(clock, ring)
    running = asyncio.create_task(timers.run())
    timers.add(clock.now() + 1, "bad")
    timers.add(clock.now() + 1, "same moment")
    timers.add(clock.now() + 2, "later")
    await clock.advance(3)
    running.cancel()
    assert expired == ["same moment", "later"]


async def test_timers_of_a_steady_clock_sleep_until_the_next_one() -> None:
    clock = VirtualClock()
    slept: list[float] = []
    sleep = clock.sleep

    async def noted(seconds: float) -> None:
        slept.append(seconds)
        await sleep(seconds)

    clock.sleep = noted  # type: ignore[method-assign]
    expired: list[str] = []
    timers: Timers[str] = Timers(clock, expired.append, now=clock.monotonic)
    running = asyncio.create_task(timers.run())
    await settle()
    assert slept == []
    timers.add(clock.monotonic() + 90, "poll")
    await clock.advance(91)
    running.cancel()
    assert (slept, expired) == ([90.0], ["poll"])

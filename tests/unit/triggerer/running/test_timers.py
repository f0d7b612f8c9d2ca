"""The heap, and the one task that serves it."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from torpor_triggerer.running.timers import Alarms, Timers

from tests.support.fake_api import VirtualClock, settle


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=300), st.integers(0, 60))
def test_what_is_due_comes_in_order_and_what_was_taken_back_never(wanted: list[tuple[int, bool]], now: int) -> None:
    timers: Timers[int] = Timers()
    made = [(moment, number, keep, timers.add(moment, number)) for number, (moment, keep) in enumerate(wanted)]
    for _, _, keep, timer in made:
        if not keep:
            timers.discard(timer)
            timers.discard(timer)
    kept = sorted((moment, number) for moment, number, keep, _ in made if keep)
    assert len(timers) == len(kept)
    assert timers.next_moment() == (kept[0][0] if kept else None)
    assert timers.pop_due(now) == [number for moment, number in kept if moment <= now]
    assert len(timers) == sum(1 for moment, _ in kept if moment > now)
    assert timers.pop_due(100) == [number for moment, number in kept if moment > now]


def test_timers_taken_back_do_not_pile_up() -> None:
    timers: Timers[int] = Timers()
    for number in range(100_000):
        timers.discard(timers.add(1e9 + number, number))
    assert len(timers._heap) < 200


async def test_an_earlier_moment_wakes_the_sleeper() -> None:
    clock = VirtualClock()
    rung: list[tuple[str, float]] = []
    alarms: Alarms[str] = Alarms(clock, lambda item: rung.append((item, clock.monotonic())))
    ringing = asyncio.create_task(alarms.run())
    await settle()
    alarms.add(clock.now() + 20, "later")
    await clock.advance(5)
    alarms.add(clock.now() + 1, "sooner")
    alarms.discard(alarms.add(clock.now() + 2, "never"))
    await clock.advance(40)
    ringing.cancel()
    assert rung == [("sooner", 6.0), ("later", 20.0)]


async def test_a_wall_clock_that_is_set_forward_is_noticed_within_half_a_minute() -> None:
    clock = VirtualClock()
    rung: list[str] = []
    alarms: Alarms[str] = Alarms(clock, rung.append)
    ringing = asyncio.create_task(alarms.run())
    alarms.add(clock.now() + 3600, "moment")
    await clock.advance(1)
    clock.jump(3600)
    await clock.advance(31)
    ringing.cancel()
    assert rung == ["moment"]


async def test_a_timer_that_fails_keeps_no_other_from_ringing() -> None:
    clock = VirtualClock()
    rung: list[str] = []

    def ring(item: str) -> None:
        if item == "bad":
            raise RuntimeError("a bug")
        rung.append(item)

    alarms: Alarms[str] = Alarms(clock, ring)
    ringing = asyncio.create_task(alarms.run())
    alarms.add(clock.now() + 1, "bad")
    alarms.add(clock.now() + 1, "same moment")
    alarms.add(clock.now() + 2, "later")
    await clock.advance(3)
    ringing.cancel()
    assert rung == ["same moment", "later"]

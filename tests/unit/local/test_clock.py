"""The clock of a local run: who sleeps, and what a skip changes."""

import asyncio

from torpor_local.clock import SkippableClock


async def test_a_skip_to_just_before_the_end_of_a_sleep_ends_it() -> None:
    clock = SkippableClock()
    sleeping = asyncio.create_task(clock.sleep(100_000))
    await asyncio.sleep(0)
    clock.skip_to(clock.now() + 99_999.999)
    async with asyncio.timeout(60):
        await sleeping


async def test_a_skip_wakes_no_sleeper_that_is_due_later() -> None:
    clock = SkippableClock()
    sleeping = asyncio.create_task(clock.sleep(100_000))
    await asyncio.sleep(0)
    clock.skip_to(clock.now() + 10)
    await asyncio.sleep(0.05)
    assert not sleeping.done()
    sleeping.cancel()

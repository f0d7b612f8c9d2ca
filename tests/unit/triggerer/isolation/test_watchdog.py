"""Code that blocks an event loop, reported by another thread: real threads, real time."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from torpor_triggerer.isolation.watchdog import BlockListener, LoopBlock, LoopMonitor, Watchdog
from torpor_triggerer.usercode import attribution
from torpor_triggerer.usercode.attribution import Attribution


class OversleepingTrigger:
    async def sleeps(self) -> None:
        await asyncio.sleep(0.01)
        time.sleep(1.5)  # noqa: ASYNC251 - that is the point

    async def computes(self) -> None:
        await asyncio.sleep(0.01)
        sum(range(50_000_000))

    async def is_in_the_way_of_the_collector(self) -> None:
        await asyncio.sleep(0.01)
        for phase in ("start", "stop"):
            for note in gc.callbacks:
                note(phase, {})
            time.sleep(0.6 if phase == "start" else 0.0)  # noqa: ASYNC251 - as a collection of a million objects

    async def is_busy(self) -> None:
        for _ in range(100):
            time.sleep(0.001)  # noqa: ASYNC251 - that is the point
            await asyncio.sleep(0)


def mark(subject: object) -> Attribution:
    return Attribution(class_name="odd", subject=subject)


@asynccontextmanager
async def watching(began: list[LoopBlock], ended: list[LoopBlock]) -> AsyncIterator[None]:
    loop = asyncio.get_running_loop()
    loop.set_task_factory(attribution.factory)
    dog = Watchdog()
    dog.watch(LoopMonitor(loop, threading.get_ident(), BlockListener(began=began.append, ended=ended.append)))
    dog.start()
    try:
        yield
        await asyncio.sleep(0.3)
    finally:
        dog.stop()


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what the watchdog tells; a busy machine may keep it from its work."""
    async with asyncio.timeout(180):
        while not holds():  # noqa: ASYNC110 - another thread tells
            await asyncio.sleep(0.01)


async def test_who_keeps_the_loop_is_named_with_the_line_and_how_long_it_was() -> None:
    began: list[LoopBlock] = []
    ended: list[LoopBlock] = []
    trigger = OversleepingTrigger()
    async with watching(began, ended):
        await attribution.running(mark(trigger), trigger.sleeps())
        await until(lambda: bool(ended))
    assert [block.sight.mark.subject for block in began] == [trigger]
    assert [block.sight.places[0].function for block in ended] == ["OversleepingTrigger.sleeps"]
    assert ended[0].seconds > 0.4
    assert ended[0].started == began[0].started


async def test_a_block_is_reported_while_it_lasts() -> None:
    reported_at: list[float] = []
    loop = asyncio.get_running_loop()
    dog = Watchdog()
    listener = BlockListener(began=lambda _: reported_at.append(time.monotonic()), ended=lambda _: None)
    dog.watch(LoopMonitor(loop, threading.get_ident(), listener))
    dog.start()
    await asyncio.sleep(0.1)
    attribution.call(mark(1), lambda: time.sleep(2))
    over = time.monotonic()
    dog.stop()
    assert reported_at[0] < over


async def test_code_in_c_that_lets_no_thread_run_is_named_when_it_is_over() -> None:
    ended: list[LoopBlock] = []
    trigger = OversleepingTrigger()
    for _ in range(5):  # where other threads wait for the interpreter too, one of them may come first
        async with watching([], ended):
            await attribution.running(mark(trigger), trigger.computes())
        if ended:
            break
    assert [block.sight.mark.subject for block in ended] == [trigger]


async def test_a_garbage_collection_is_not_blamed_on_the_running_trigger() -> None:
    began: list[LoopBlock] = []
    async with watching(began, []):
        trigger = OversleepingTrigger()
        await attribution.running(mark(trigger), trigger.is_in_the_way_of_the_collector())
        assert began == []
        await attribution.running(mark(trigger), trigger.sleeps())
        await until(lambda: bool(began))
    assert len(began) == 1


async def test_a_loop_that_is_only_busy_blames_no_trigger() -> None:
    began: list[LoopBlock] = []
    async with watching(began, []):
        await asyncio.gather(
            *(attribution.running(mark(number), OversleepingTrigger().is_busy()) for number in range(10))
        )
    assert began == []


async def test_many_short_calls_in_one_step_blame_no_class() -> None:
    began: list[LoopBlock] = []
    async with watching(began, []):
        for number in range(100):
            attribution.call(mark(number), lambda: time.sleep(0.005))
    assert began == []


@contextmanager
def kept(pulse: LoopMonitor, times: list[float]) -> Iterator[None]:
    """The loop asked at the first of these moments and looked at in the others, while one step keeps it."""

    def looks() -> None:
        for now in times:
            pulse.check(now)

    attribution.call(mark(1), looks)
    yield


async def test_a_paused_process_is_not_blamed_on_a_trigger() -> None:
    began: list[LoopBlock] = []
    pulse = LoopMonitor(
        asyncio.get_running_loop(), threading.get_ident(), BlockListener(began=began.append, ended=lambda _: None)
    )
    now = time.monotonic()
    with kept(pulse, [now, now + 60, now + 60.05]):
        assert began == []
    with kept(pulse, [now + 60.1, now + 60.15, now + 60.2, now + 60.29]):
        assert began == []
    with kept(pulse, [now + 60.3, now + 60.4, now + 60.55]):
        assert [round(block.seconds, 2) for block in began] == [0.25]


async def test_a_closed_loop_is_no_longer_monitored() -> None:
    dog = Watchdog()

    def lives_and_ends() -> None:
        loop = asyncio.new_event_loop()
        dog.watch(LoopMonitor(loop, threading.get_ident(), BlockListener(began=lambda _: None, ended=lambda _: None)))
        loop.close()

    thread = threading.Thread(target=lives_and_ends)
    thread.start()
    thread.join()
    dog.start()
    await until(lambda: dog._pulses == [])
    dog.stop()

"""Code that blocks an event loop, reported by another thread: real threads, real time."""

import asyncio
import gc
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest
from torpor_triggerer.isolation import watchdog
from torpor_triggerer.isolation.watchdog import TICK, BlockListener, GcPauses, LoopBlock, LoopMonitor, Watchdog
from torpor_triggerer.usercode import attribution
from torpor_triggerer.usercode.attribution import Attribution


class OversleepingTrigger:
    async def sleeps(self) -> None:
        await asyncio.sleep(0.01)
        time.sleep(1.5)  # noqa: ASYNC251 - that is the point

    async def computes(self) -> None:
        await asyncio.sleep(0.01)
        sum(range(50_000_000))


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


def monitor(began: list[LoopBlock]) -> LoopMonitor:
    listener = BlockListener(began=began.append, ended=lambda _: None)
    return LoopMonitor(asyncio.get_running_loop(), threading.get_ident(), listener)


def kept(pulse: LoopMonitor, times: list[float], *, paused: bool = False) -> None:
    """The loop asked at the first of these moments and looked at in the others, while one step keeps it."""

    def looks() -> None:
        for now in times:
            pulse.check(now, paused=paused)

    attribution.call(mark(1), looks)


async def test_a_garbage_collection_is_not_blamed_on_the_running_trigger() -> None:
    began: list[LoopBlock] = []
    pulse = monitor(began)
    now = time.monotonic()
    kept(pulse, [now + tick * TICK for tick in range(20)], paused=True)
    assert began == []
    kept(pulse, [now + 1 + tick * TICK for tick in range(20)])
    assert len(began) == 1


@pytest.mark.parametrize(
    ("phases", "asked_at", "paused"),
    [
        ([], 9, False),
        ([("start", 9)], 9.01, False),
        ([("start", 9)], 9.06, True),
        ([("start", 9), ("stop", 9.01)], 9.02, False),
        ([("start", 9), ("stop", 9.6)], 9.61, True),
        ([("start", 7), ("stop", 7.6)], 9, False),
        ([("stop", 9)], 9.1, False),
    ],
)
def test_a_long_collection_is_a_pause(
    phases: list[tuple[str, float]], asked_at: float, paused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(watchdog, "time", SimpleNamespace(monotonic=lambda: clock.now))
    pauses = GcPauses()
    for phase, clock.now in phases:
        pauses.note(phase, {})
    clock.now = asked_at
    assert pauses.since(8) == paused


async def test_a_running_watchdog_hears_of_collections() -> None:
    async with watching([], []):
        heard = [callback for callback in gc.callbacks if getattr(callback, "__func__", None) is GcPauses.note]
        assert len(heard) == 1
    assert heard[0] not in gc.callbacks


async def test_a_loop_that_is_only_busy_blames_no_trigger() -> None:
    began: list[LoopBlock] = []
    pulse = monitor(began)
    now = time.monotonic()
    for tick in range(100):
        kept(pulse, [now + tick * TICK])
        await asyncio.sleep(0)
    assert began == []


async def test_many_short_calls_in_one_step_blame_no_class() -> None:
    began: list[LoopBlock] = []
    pulse = monitor(began)
    now = time.monotonic()
    for tick in range(100):
        kept(pulse, [now + tick * TICK])
    assert began == []


async def test_a_paused_process_is_not_blamed_on_a_trigger() -> None:
    began: list[LoopBlock] = []
    pulse = monitor(began)
    now = time.monotonic()
    kept(pulse, [now, now + 60, now + 60.05])
    assert began == []
    kept(pulse, [now + 60.1, now + 60.15, now + 60.2, now + 60.29])
    assert began == []
    kept(pulse, [now + 60.3, now + 60.4, now + 60.55])
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

"""The simulation's event loop: virtual time, paused and killed processes, and busy loops."""

import asyncio
import random

import pytest

from tests.simulation.loop import HotLoopError, VirtualLoop
from tests.simulation.process import EPOCH, Process, ProcessClock


def two(seed: int = 0) -> tuple[VirtualLoop, Process, Process]:
    loop = VirtualLoop(random.Random(seed))  # type: ignore[abstract]
    return loop, Process(loop, "test", "one"), Process(loop, "test", "other", offset=5.0)


async def _tick(log: list[tuple[str, float]], process: Process) -> None:
    clock = ProcessClock(process)
    for _ in range(3):
        await clock.sleep(10)
        log.append((process.name, clock.now() - EPOCH))


def test_time_jumps_to_the_next_timer_and_each_process_has_its_own_clock() -> None:
    loop, first, other = two()
    log: list[tuple[str, float]] = []
    first.start(_tick(log, first))
    other.start(_tick(log, other))
    loop.run_until(20.0)
    assert sorted(log) == [("one", 10.0), ("one", 20.0), ("other", 15.0), ("other", 25.0)]


def test_a_stopped_process_goes_on_late_and_a_killed_one_never() -> None:
    loop, first, other = two()
    log: list[tuple[str, float]] = []
    first.start(_tick(log, first))
    other.start(_tick(log, other))
    loop.run_until(5.0)
    first.paused = True
    other.kill()
    loop.run_until(40.0)
    assert log == []
    first.paused = False
    loop.run_until(45.0)
    assert log == [("one", 40.0)]


def test_the_seed_decides_which_process_runs_first() -> None:
    def first(seed: int) -> str:
        loop, first, other = two(seed)
        log: list[tuple[str, float]] = []
        first.start(_tick(log, first))
        other.start(_tick(log, other))
        loop.run_until(10.0)
        return log[0][0]

    assert {first(seed) for seed in range(20)} == {"one", "other"}
    assert [first(seed) for seed in range(20)] == [first(seed) for seed in range(20)]


def test_a_spinning_loop_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    async def spin() -> None:
        while True:  # noqa: ASYNC110 - it is to spin
            await asyncio.sleep(0)

    monkeypatch.setattr("tests.simulation.loop.HOT", 100)
    loop, process, _ = two()
    process.start(spin())
    with pytest.raises(HotLoopError):
        loop.run_until(1.0)
    process.kill()
    for task in loop.tasks:
        task.get_coro().close()
        task._log_destroy_pending = False  # type: ignore[attr-defined]


def test_the_end_of_a_process_is_reported_once() -> None:
    async def fail() -> None:
        raise RuntimeError("so it ends")

    loop, process, _ = two()
    ends: list[BaseException | None] = []
    process.on_exit = ends.append
    process.start(fail())
    loop.run_until(1.0)
    assert [str(error) for error in ends] == ["so it ends"]
    assert not process.alive

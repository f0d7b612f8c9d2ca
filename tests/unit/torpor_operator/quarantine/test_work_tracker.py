"""The journal names the object of the step that runs, and CPU time is counted for each step."""

import asyncio
import multiprocessing
import os
import signal
from pathlib import Path

import pytest
from torpor_operator.quarantine.object_ref import ObjectRef
from torpor_operator.quarantine.work_journal import WorkJournal
from torpor_operator.quarantine.work_tracker import WorkTracker

OBJECT = ObjectRef("Workflow", "team", "ingest", "uid-1")
OTHER = ObjectRef("TaskRun", "team", "ingest-load", "uid-2", reading=True)


class Cpu:
    """A CPU clock that a test advances."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


async def test_a_step_is_recorded_and_a_pause_is_not() -> None:
    journal = WorkJournal()
    pause = asyncio.Event()
    seen = []

    async def work() -> str:
        seen.append(journal.read())
        await pause.wait()
        seen.append(journal.read())
        return "result"

    task = asyncio.create_task(WorkTracker(journal).track(OBJECT, work()))
    await asyncio.sleep(0)
    assert journal.read() is None
    pause.set()
    assert await task == "result"
    assert seen == [OBJECT, OBJECT]
    assert journal.read() is None


async def test_errors_and_cancellations_reach_the_work() -> None:
    journal = WorkJournal()
    ends = []

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ends.append("cancelled")
            raise

    task = asyncio.create_task(WorkTracker(journal).track(OBJECT, work()))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ends == ["cancelled"]

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        await WorkTracker(journal).track(OBJECT, fails())
    assert journal.read() is None


def test_an_inner_step_gives_the_record_back() -> None:
    journal = WorkJournal()
    tracker = WorkTracker(journal)
    with tracker.step(OBJECT):
        with tracker.step(OTHER):
            assert journal.read() == OTHER
        assert journal.read() == OBJECT
    assert journal.read() is None


async def test_long_steps_name_their_object_and_all_count_for_the_namespace() -> None:
    cpu, charged, long = Cpu(), [], []
    tracker = WorkTracker(cpu_time=cpu)
    tracker.on_step = lambda namespace, seconds: charged.append((namespace, seconds))
    tracker.on_long_step = lambda ref, seconds: long.append((ref, seconds))

    async def work() -> None:
        cpu.seconds += 0.125
        await asyncio.sleep(0)
        cpu.seconds += 0.5

    await tracker.track(OBJECT, work())
    assert charged == [("team", 0.125), ("team", 0.5)]
    assert long == [(OBJECT, 0.5)]


def _die_at_work(path: Path) -> None:
    with WorkTracker(WorkJournal.open(path)).step(OBJECT):
        os.kill(os.getpid(), signal.SIGKILL)


def _die_between_steps(path: Path) -> None:
    with WorkTracker(WorkJournal.open(path)).step(OBJECT):
        pass
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_process_that_is_killed_in_a_step_leaves_its_object(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    for target, left in ((_die_at_work, OBJECT), (_die_between_steps, None)):
        process = context.Process(target=target, args=(tmp_path / "journal",))
        process.start()
        process.join()
        assert WorkJournal.open(tmp_path / "journal").read() == left


def test_a_file_of_any_content_is_no_record(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    for content in (b"", b"\xff" * 2048, b"\x00\x05hello" + bytes(2041), b"x" * 10_000):
        path.write_bytes(content)
        assert WorkJournal.open(path).read() is None


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "journal").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic"):
        WorkJournal.open(tmp_path / "journal")

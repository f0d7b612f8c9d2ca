"""Worker threads for triggers that block."""

import asyncio
import threading
from contextvars import ContextVar

import pytest
from torpor_triggerer.fairness.threads import WorkerThreads

WHOSE: ContextVar[str] = ContextVar("whose", default="nobody's")


async def test_what_it_returns_and_what_it_raises_come_back() -> None:
    threads = WorkerThreads()
    assert await threads.call(lambda: threading.current_thread().daemon) is True
    assert await threads.call(threading.get_ident) != threading.get_ident()
    with pytest.raises(ZeroDivisionError):
        await threads.call(lambda: 1 / 0)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await threads.call(lambda: next(iter([])))


async def test_a_thread_runs_in_the_context_of_its_caller() -> None:
    WHOSE.set("mine")
    assert await WorkerThreads().call(WHOSE.get) == "mine"


async def test_a_thread_that_hangs_keeps_its_own_place_only() -> None:
    threads, hang = WorkerThreads(limit=2), threading.Event()
    hanging = asyncio.create_task(threads.call(hang.wait))
    await asyncio.sleep(0)
    hanging.cancel()
    assert await threads.call(lambda: "served") == "served"
    second = asyncio.create_task(threads.call(hang.wait))
    waiting = asyncio.create_task(threads.call(lambda: "its turn came"))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    hang.set()
    assert await waiting == "its turn came"
    assert await second is True
    assert hanging.cancelled()


async def test_who_gives_up_waiting_for_a_turn_takes_none() -> None:
    threads, hang = WorkerThreads(limit=1), threading.Event()
    hanging = asyncio.create_task(threads.call(hang.wait))
    await asyncio.sleep(0)
    impatient = asyncio.create_task(threads.call(lambda: None))
    await asyncio.sleep(0)
    impatient.cancel()
    hang.set()
    await hanging
    assert await threads.call(lambda: "served") == "served"

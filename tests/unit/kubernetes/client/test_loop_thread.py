"""Work in another thread's event loop goes on while the main loop computes, and ends with its caller."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.loop_thread import run_in_thread

from tests.support.fake_api import FakeApi, VirtualClock


@asynccontextmanager
async def _connect() -> AsyncIterator[Api]:
    clock = VirtualClock()
    yield Api(FakeApi(clock), clock)


async def test_it_goes_on_while_the_main_loop_computes() -> None:
    turns = threading.Event()

    async def work(_: Api) -> str:
        turns.set()
        return "result"

    task = asyncio.create_task(run_in_thread(_connect, work, name="test"))
    await asyncio.sleep(0)
    assert turns.wait(60), "the main loop is blocked by this line, and the work has run"
    assert await task == "result"


async def test_an_error_is_raised_in_the_caller() -> None:
    async def work(_: Api) -> None:
        raise ValueError("on purpose")

    with pytest.raises(ValueError, match="on purpose"):
        await run_in_thread(_connect, work, name="test")


@pytest.mark.parametrize("pause", [0.0, 0.2])
async def test_a_cancellation_ends_the_work_before_the_caller(pause: float) -> None:
    ended = threading.Event()
    started = threading.Event()

    async def work(_: Api) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            time.sleep(0.05)  # noqa: ASYNC251 - the caller waits for this thread
            ended.set()

    task = asyncio.create_task(run_in_thread(_connect, work, name="test"))
    await asyncio.sleep(pause)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set() or not started.is_set()

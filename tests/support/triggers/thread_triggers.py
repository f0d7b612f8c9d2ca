"""A thread of its own for a class, and what is made of the class in it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from torpor_triggerer.isolation.thread_loop import ThreadLoop
from torpor_triggerer.isolation.trigger_proxy import TriggerProxy
from torpor_triggerer.services.trigger_services import TriggerServices

from tests.support.trigger_services import services


@asynccontextmanager
async def thread() -> AsyncIterator[ThreadLoop]:
    loop = ThreadLoop("noting", asyncio.get_running_loop(), lambda _: None, lambda _: "")
    try:
        yield loop
    finally:
        loop.stop()
        await until(loop.loop.is_closed)


def replace_class(apart: ThreadLoop, made_by: Any, given: TriggerServices | None = None, **kwargs: Any) -> TriggerProxy:
    proxy = TriggerProxy(apart, made_by, kwargs)
    proxy.bind(given or services())
    return proxy


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(180):
        while not holds():  # noqa: ASYNC110 - a list that another thread writes
            await asyncio.sleep(0.01)

"""Small runs beside a large one: the time until each has its pod, and until each has ended.

The two differ, because the scheduler and the kubelets process all pods in order of arrival.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client.resources import PODS
from torpor_wire import constants

from benchmarks.workflow.runs import Runs, step

_EVERY = 1.0
_LIMIT = 600
_TASK = "small"


class SmallRuns:
    """`began` is when each was asked for, `started` when its pod was seen (monotonic, by name)."""

    def __init__(self, asked: Runs) -> None:
        self.asked = asked
        self.began: dict[str, float] = {}
        self.started: dict[str, float] = {}
        selector = f"{constants.LABEL_TASK}={_TASK}"
        self.pods: Reflector[str] = Reflector(
            asked.api, PODS, _workflow, label_selector=selector, on_change=self._note, jitter=lambda: 0.5
        )

    async def one(self, name: str) -> None:
        """Ask for a run of one step."""
        self.began[name] = await self.asked.start(name, [step(_TASK)])

    def to_pods(self) -> tuple[float, ...]:
        """Seconds from asking for each to its pod."""
        return tuple(self.started[name] - began for name, began in self.began.items())

    def to_ends(self) -> tuple[float, ...]:
        """Seconds from asking for each to its end."""
        return tuple(self.asked.ended[name] - began for name, began in self.began.items())

    def _note(self, change: Notice[str]) -> None:
        if isinstance(change, Unreadable):
            raise TypeError(change.message)
        if change.item is not None:
            self.started.setdefault(change.item, time.monotonic())


async def alone(asked: Runs, count: int) -> SmallRuns:
    """Small runs one after another, with nothing beside."""
    async with _watched(SmallRuns(asked)) as found:
        for number in range(count):
            await found.one(f"alone-{number}")
            await asked.end(f"alone-{number}")
    return found


@asynccontextmanager
async def beside(asked: Runs) -> AsyncIterator[SmallRuns]:
    """One each second for as long as this is open, all of them ended when it closes."""
    async with _watched(SmallRuns(asked)) as found:
        starting = asyncio.create_task(_start(found))
        try:
            yield found
        finally:
            starting.cancel()
            await asyncio.gather(starting, return_exceptions=True)
        await asked.end(*found.began)


async def _start(found: SmallRuns) -> None:
    for number in range(_LIMIT):
        await asyncio.sleep(_EVERY)
        await found.one(f"beside-{number}")


@asynccontextmanager
async def _watched(found: SmallRuns) -> AsyncIterator[SmallRuns]:
    watching = asyncio.create_task(found.pods.run())
    await found.pods.synced.wait()
    try:
        yield found
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def _workflow(body: dict[str, Any]) -> str:
    return str(body["metadata"]["labels"][constants.LABEL_WORKFLOW])

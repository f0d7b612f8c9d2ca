"""Small runs beside a large one: the time until each has its pod, and until each has ended.

The two differ, because the scheduler and the kubelets process all pods in order of arrival.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from torpor_kubernetes.client.resources import PODS
from torpor_wire import constants

from benchmarks.harness.runs import WatchedRuns, step
from benchmarks.harness.waiting import background, watched

_EVERY = 1.0
_LIMIT = 600
_TASK = "small"


class SmallRuns:
    """`began` is when each was asked for, `started` when its pod was seen (monotonic, by name)."""

    def __init__(self, runs: WatchedRuns) -> None:
        self.runs = runs
        self.began: dict[str, float] = {}
        self.started: dict[str, float] = {}

    async def start(self, name: str) -> None:
        """Create a run of one step."""
        self.began[name] = await self.runs.start(name, [step(_TASK)])

    def to_pods(self) -> tuple[float, ...]:
        """Seconds from asking for each to its pod."""
        return tuple(self.started[name] - began for name, began in self.began.items())

    def to_ends(self) -> tuple[float, ...]:
        """Seconds from asking for each to its end."""
        return tuple(self.runs.ended[name] - began for name, began in self.began.items())

    def note(self, name: str) -> None:
        """Take in a pod of the Workflow of this name."""
        self.started.setdefault(name, time.monotonic())


@asynccontextmanager
async def watch_small_runs(runs: WatchedRuns) -> AsyncIterator[SmallRuns]:
    """Their pods are watched for as long as this is open."""
    small, selector = SmallRuns(runs), f"{constants.LABEL_TASK}={_TASK}"
    async with watched(runs.api, PODS, _workflow, small.note, label_selector=selector):
        yield small


async def alone(runs: WatchedRuns, count: int) -> SmallRuns:
    """Small runs one after another, with nothing beside."""
    async with watch_small_runs(runs) as small:
        for number in range(count):
            await small.start(f"alone-{number}")
            await runs.end(f"alone-{number}")
    return small


@asynccontextmanager
async def beside(runs: WatchedRuns) -> AsyncIterator[SmallRuns]:
    """One each second for as long as this is open, all of them ended when it closes."""
    async with watch_small_runs(runs) as small:
        async with background(_start_each_second(small)):
            yield small
        await runs.end(*small.began)


async def _start_each_second(small: SmallRuns) -> None:
    for number in range(_LIMIT):
        await asyncio.sleep(_EVERY)
        await small.start(f"beside-{number}")


def _workflow(body: dict[str, Any]) -> str:
    return str(body["metadata"]["labels"][constants.LABEL_WORKFLOW])

"""Triggerers as processes of the benchmark, asked how many triggers they run."""

import asyncio
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from torpor_demo.install import SYSTEM
from torpor_kubernetes.client.resources import LEASES

from benchmarks.harness import processes, usage
from benchmarks.harness.api_writes import series
from benchmarks.harness.control_plane import ControlPlane
from benchmarks.harness.processes import ChildProcess
from benchmarks.harness.usage import ProcessUsage
from benchmarks.harness.waiting import until

CAPACITY = 60_000
_LOOK = 0.2
_LIMIT = 300.0
_CLASSES = ("sleeps=SleepingTrigger", "polls=PollingTrigger", "counts=CountingTrigger")


class TriggererReplica:
    """A triggerer."""

    def __init__(self, process: ChildProcess, session: aiohttp.ClientSession) -> None:
        self.process = process
        self._session = session

    @property
    def pid(self) -> int:
        """Of the process."""
        return self.process.pid

    def usage(self) -> ProcessUsage:
        """What it uses now."""
        return usage.read_usage(self.pid)

    def cpu(self) -> float:
        """Seconds of processor time of the process alone."""
        return usage.cpu(self.pid)

    async def running(self) -> int:
        """How many triggers it says that it runs; none before it can be asked."""
        try:
            async with self._session.get(self.process.health.replace("healthz", "metrics")) as response:
                response.raise_for_status()
                values_by_labels = series(await response.text(), "torpor_triggers_running")
        except aiohttp.ClientConnectionError:
            return 0
        return round(sum(value for _, value in values_by_labels))

    async def runs(self, count: int) -> float:
        """Return once it runs so many; when that was (monotonic)."""

        async def enough() -> bool:
            return await self.running() >= count

        await self.process.until_or_end(enough)
        return time.monotonic()

    async def member(self) -> None:
        """Return once it owns shards."""
        await self.process.member()

    async def settled(self) -> None:
        """Return once it has nothing to do any more."""
        before, spent = self.cpu(), 1.0
        while spent >= 0.1:
            await asyncio.sleep(2)
            now = self.cpu()
            before, spent = now, now - before

    async def end(self, sign: signal.Signals = signal.SIGTERM) -> None:
        """End it."""
        await self.process.end(sign)


class TriggererReplicas:
    """Those of one scenario."""

    def __init__(self, plane: ControlPlane, folder: Path, session: aiohttp.ClientSession) -> None:
        self._plane = plane
        self._folder = folder
        self._session = session
        self._all: list[TriggererReplica] = []

    async def start(self, *options: str, **environ: str) -> TriggererReplica:
        """Start one more, at default settings but for its capacity and these."""
        given = ["--capacity", str(CAPACITY), *options]
        for each in _CLASSES:
            name, _, cls = each.partition("=")
            given += ["--trigger", f"{name}=benchmarks.triggerer.classes:{cls}"]
        identity = f"r{len(self._all)}"
        process = processes.triggerer(self._plane, *given, name=identity, folder=self._folder, **environ)
        await process.start()
        self._all.append(TriggererReplica(process, self._session))
        return self._all[-1]

    async def end(self, sign: signal.Signals = signal.SIGTERM) -> None:
        """End those that run."""
        for replica in self._all:
            await replica.end(sign)


@asynccontextmanager
async def open_replicas(plane: ControlPlane) -> AsyncIterator[TriggererReplicas]:
    """Of one scenario; all are ended with it."""
    folder = Path(tempfile.mkdtemp(prefix="logs-", dir=plane.logs))
    async with aiohttp.ClientSession() as session:
        replicas = TriggererReplicas(plane, folder, session)
        try:
            yield replicas
        finally:
            await replicas.end(signal.SIGKILL)
            await _forget(plane)


async def divided(both: Sequence[TriggererReplica], count: int) -> list[int]:
    """Return once each has its share; how many that is."""
    held: list[int] = []

    async def is_divided() -> bool:
        held[:] = [await each.running() for each in both]
        return sum(held) == count and all(held)

    await until(is_divided, _LIMIT)
    return held


async def _forget(plane: ControlPlane) -> None:
    """Those that were killed are not members of the next scenario."""
    for lease in (await plane.api.list(LEASES, SYSTEM)).items:
        await plane.api.delete(LEASES, SYSTEM, lease["metadata"]["name"])

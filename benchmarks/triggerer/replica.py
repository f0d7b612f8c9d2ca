"""One triggerer as a process of the bench's: started, asked how many triggers it runs, measured, ended."""

import asyncio
import os
import re
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from torpor_demo.cluster import ROOT
from torpor_demo.install import SYSTEM
from torpor_kubernetes.client.resources import LEASES

from benchmarks.triggerer import usage
from benchmarks.triggerer.plane import Plane
from benchmarks.triggerer.usage import Usage

CAPACITY = 60_000
_LOOK = 0.2
_PATIENCE = 300.0
_CLASSES = ("sleeps=Sleeps", "polls=Polls", "counts=Counts")
_MEMBER = "This replica owns "
_PORT = re.compile(r"health on port (\d+)")
_RUNNING = re.compile(r"^torpor_triggers_running(?:\{[^}]*\})? (\S+)$", re.MULTILINE)


class Replica:
    """A process; `began` is when it was started (monotonic)."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path, session: aiohttp.ClientSession) -> None:
        self.began = time.monotonic()
        self.pid = process.pid
        self._process = process
        self._log = log
        self._session = session
        self._port: int | None = None

    def usage(self) -> Usage:
        """What it uses now."""
        return usage.of(self.pid)

    async def running(self) -> int:
        """How many triggers it says that it runs; none before it can be asked."""
        if self._port is None:
            found = _PORT.search(self.text())
            self._port = int(found[1]) if found else None
        if self._port is None:
            return 0
        async with self._session.get(f"http://127.0.0.1:{self._port}/metrics") as response:
            response.raise_for_status()
            return round(sum(float(each) for each in _RUNNING.findall(await response.text())))

    async def runs(self, count: int) -> float:
        """Return once it runs so many; when that was (monotonic)."""
        await self._until(lambda many: many >= count, f"{count} triggers run")
        return time.monotonic()

    async def member(self) -> None:
        """Return once it owns shards."""
        async with asyncio.timeout(_PATIENCE):
            while _MEMBER not in self.text():  # noqa: ASYNC110 - a log sends no notification
                await asyncio.sleep(_LOOK)

    async def settled(self) -> None:
        """Return once it has nothing to do any more."""
        before = usage.cpu(self.pid)
        while True:
            await asyncio.sleep(2)
            now = usage.cpu(self.pid)
            if now - before < 0.1:
                return
            before = now

    async def end(self, sign: signal.Signals = signal.SIGTERM) -> None:
        """End it, however it was started."""
        if self._process.returncode is None:
            self._process.send_signal(sign)
        await self._process.wait()

    def text(self) -> str:
        """Its log."""
        return self._log.read_text()

    async def _until(self, holds: Callable[[int], bool], what: str) -> None:
        end = time.monotonic() + _PATIENCE
        while not holds(await self.running()):
            if self._process.returncode is not None or time.monotonic() > end:
                raise SystemExit(f"not in time: {what}\n" + "\n".join(self.text().splitlines()[-20:]))
            await asyncio.sleep(_LOOK)


class Replicas:
    """Those of one scenario."""

    def __init__(self, plane: Plane, folder: Path, session: aiohttp.ClientSession) -> None:
        self._plane = plane
        self._folder = folder
        self._session = session
        self._all: list[Replica] = []

    async def start(self, *options: str, **environ: str) -> Replica:
        """Start one more, at default settings but for its capacity and these."""
        identity = f"r{len(self._all)}"
        log = self._folder / f"{identity}.log"
        given = ["--identity", identity, "--health-port", "0", "--capacity", str(CAPACITY), *options]
        for one in _CLASSES:
            name, _, cls = one.partition("=")
            given += ["--trigger", f"{name}=benchmarks.triggerer.classes:{cls}"]
        with log.open("w") as output:
            process = await asyncio.create_subprocess_exec(
                *(str(ROOT / ".venv/bin/python"), "-m", "benchmarks.triggerer.pod", *given),
                stdout=output,
                stderr=output,
                env=_environ(self._plane) | environ,
                cwd=ROOT,
            )
        replica = Replica(process, log, self._session)
        self._all.append(replica)
        return replica

    async def end(self, sign: signal.Signals = signal.SIGTERM) -> None:
        """End those that run."""
        for replica in self._all:
            await replica.end(sign)


@asynccontextmanager
async def replicas(plane: Plane) -> AsyncIterator[Replicas]:
    """Of one scenario; all are ended with it."""
    folder = Path(tempfile.mkdtemp(prefix="logs-", dir=plane.logs))
    async with aiohttp.ClientSession() as session:
        found = Replicas(plane, folder, session)
        try:
            yield found
        finally:
            await found.end(signal.SIGKILL)
            await _forget(plane)


async def _forget(plane: Plane) -> None:
    """Those that were killed are not members of the next scenario."""
    for lease in (await plane.api.list(LEASES, SYSTEM)).items:
        await plane.api.delete(LEASES, SYSTEM, lease["metadata"]["name"])


def _environ(plane: Plane) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in {"KUBECONFIG", "PYTHONPATH"}}
    return kept | {
        "TORPOR_BENCH_ACCOUNT": str(plane.account),
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(plane.port),
        "PYTHONUNBUFFERED": "1",
    }

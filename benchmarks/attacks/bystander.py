"""The namespace that is not attacking: measures the duration of its runs, one after another.

A run is a Workflow without pods that uses what an attacker may exhaust: expressions, a TaskRun, and a connection of the
triggerer. Its one task waits for an HTTP server that responds at once.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from aiohttp import web
from torpor_kubernetes.client.api import Api

from benchmarks.attacks.report import Latencies
from benchmarks.attacks.servers import HOST
from benchmarks.harness.runs import WatchedRuns, watch_runs, workflow

_PAUSE = 1.0
_WARM = 3
_WARM_SECONDS = 120.0
_names = itertools.count()


class Bystander:
    """Runs Workflows in a namespace; `url` answers at once."""

    def __init__(self, runs: WatchedRuns, namespace: str, url: str) -> None:
        self._runs = runs
        self._namespace = namespace
        self._url = url

    async def run(self) -> None:
        """One, from its creation until its end is seen. Raises SystemExit where it does not succeed."""
        name = f"bystander-{next(_names)}"
        trigger = {"class": "http", "kwargs": {"url": "${params.url}/" + name}}
        spec = {
            "params": {"url": self._url, "go": True},
            "tasks": [{"name": "wait", "when": "params.go", "trigger": trigger}],
        }
        await self._runs.create(workflow(name, spec, self._namespace))
        await self._runs.end(name)

    async def warm(self) -> None:
        """The first runs pay for connections and imports."""
        async with asyncio.timeout(_WARM_SECONDS):
            for _ in range(_WARM):
                await self.run()


async def latencies(run: Callable[[], Awaitable[None]], count: int, seconds: float) -> Latencies:
    """So many runs one after another, as far as they begin within these seconds; then what is under way is given up."""
    durations: list[float] = []
    end = time.monotonic() + seconds
    while len(durations) < count and time.monotonic() < end:
        began = time.monotonic()
        try:
            async with asyncio.timeout(max(end - began, _PAUSE)):
                await run()
        except TimeoutError:
            return Latencies(seconds=(*durations, time.monotonic() - began), unfinished=1)
        durations.append(time.monotonic() - began)
        await asyncio.sleep(_PAUSE)
    return Latencies(seconds=tuple(durations))


@asynccontextmanager
async def start(api: Api, namespace: str) -> AsyncIterator[Bystander]:
    """With its server, and watched."""
    async with _server() as url, watch_runs(api, namespaces=(namespace,)) as runs:
        yield Bystander(runs, namespace, url)


@asynccontextmanager
async def _server() -> AsyncIterator[str]:
    async def answer(_: web.BaseRequest) -> web.Response:
        return web.Response(text="done")

    runner = web.ServerRunner(web.Server(answer))
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0)
    try:
        await site.start()
        port = runner.addresses[0][1]
        yield f"http://{HOST}:{port}"
    finally:
        await runner.cleanup()

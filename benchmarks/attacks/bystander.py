"""The namespace that is not attacking: measures the duration of its runs, one after another.

A run is a Workflow without pods that uses what an attacker may exhaust: expressions, a TaskRun, and a connection of the
triggerer. Its one task waits for an HTTP server that responds at once.
"""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web
from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire import constants

from benchmarks.attacks.report import Latencies
from benchmarks.attacks.servers import HOST

_PAUSE = 1.0
_WARM = 3
_WARM_SECONDS = 120.0
_names = itertools.count()


class Bystander:
    """Runs Workflows in a namespace; `url` answers at once."""

    def __init__(self, api: Api, namespace: str, url: str) -> None:
        self._api = api
        self._namespace = namespace
        self._url = url
        self._ends: dict[str, asyncio.Future[tuple[float, str]]] = {}
        self.watched: Reflector[tuple[str, str]] = Reflector(
            api, WORKFLOWS, _state, on_change=self._note, jitter=lambda: 0.5, namespaces=(namespace,)
        )

    async def run(self) -> None:
        """One, from its creation until its end is seen. Raises SystemExit where it does not succeed."""
        name = f"bystander-{next(_names)}"
        end = self._ends[name] = asyncio.get_running_loop().create_future()
        await self._api.create(WORKFLOWS, self._namespace, _body(name, self._url))
        _, state = await end
        if state != "Succeeded":
            raise SystemExit(f"{name} has ended as {state}")

    async def warm(self) -> None:
        """The first runs pay for connections and imports."""
        async with asyncio.timeout(_WARM_SECONDS):
            for _ in range(_WARM):
                await self.run()

    def _note(self, change: Notice[tuple[str, str]]) -> None:
        if isinstance(change, Unreadable):
            raise TypeError(change.message)
        if change.item is not None and change.item[1]:
            name, state = change.item
            end = self._ends.get(name)
            if end is not None and not end.done():
                end.set_result((time.monotonic(), state))


async def latencies(run: Callable[[], Awaitable[None]], count: int, seconds: float) -> Latencies:
    """So many runs one after another, as far as they begin within these seconds; then what is under way is given up."""
    found: list[float] = []
    end = time.monotonic() + seconds
    while len(found) < count and time.monotonic() < end:
        began = time.monotonic()
        try:
            async with asyncio.timeout(max(end - began, _PAUSE)):
                await run()
        except TimeoutError:
            return Latencies(seconds=(*found, time.monotonic() - began), unfinished=1)
        found.append(time.monotonic() - began)
        await asyncio.sleep(_PAUSE)
    return Latencies(seconds=tuple(found))


@asynccontextmanager
async def start(api: Api, namespace: str) -> AsyncIterator[Bystander]:
    """With its server, and watched."""
    async with _server() as url:
        found = Bystander(api, namespace, url)
        watching = asyncio.create_task(found.watched.run())
        await found.watched.synced.wait()
        try:
            yield found
        finally:
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)


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


def _body(name: str, url: str) -> dict[str, Any]:
    kwargs = {"url": "${params.url}/" + name}
    task = {"name": "wait", "when": "params.go", "trigger": {"class": "http", "kwargs": kwargs}}
    return {
        "apiVersion": constants.API_VERSION,
        "kind": "Workflow",
        "metadata": {"name": name},
        "spec": {"params": {"url": url, "go": True}, "tasks": [task]},
    }


def _state(body: dict[str, Any]) -> tuple[str, str]:
    """The name, and the state it ended in; an empty one while it runs."""
    status = body.get("status", {})
    return body["metadata"]["name"], status.get("state", "") if status.get("completionTime") else ""

"""Takes CPU profiles of API server, etcd and operator while something runs, and reads their counters."""

import asyncio
import json
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp
from torpor_kubernetes.client.http import HttpTransport

from benchmarks.harness.control_plane import API_SERVER, ETCD, ControlPlane
from benchmarks.harness.processes import OPERATOR, Processes
from benchmarks.profile import counters, pprof
from benchmarks.profile.counters import Counters
from benchmarks.profile.pprof import ProfileSample

_WINDOW = 10
_TIMEOUT_SECONDS = 120.0
_LOOK = 0.1
_PATH = "/debug/pprof/profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """Samples by process, complete once the capture has ended."""

    samples: dict[str, list[ProfileSample]] = field(default_factory=lambda: {API_SERVER: [], ETCD: [], OPERATOR: []})


@asynccontextmanager
async def capture(processes: Processes, stacks: Path) -> AsyncIterator[Captured]:
    """Profiles from the beginning to the end of this context, and until the last window has ended."""
    captured, over = Captured(), asyncio.Event()
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_TIMEOUT_SECONDS)) as session:
        window = {"seconds": str(_WINDOW)}
        etcd = f"{processes.plane.etcd.url}{_PATH}"
        async with asyncio.TaskGroup() as group:
            group.create_task(
                _windows(lambda: read(processes.plane, _PATH, window), over, captured.samples[API_SERVER])
            )
            group.create_task(
                _windows(lambda: _get(session, f"{etcd}?seconds={_WINDOW}"), over, captured.samples[ETCD])
            )
            processes.children[OPERATOR].send(signal.SIGUSR1)
            try:
                yield captured
            finally:
                over.set()
    processes.children[OPERATOR].send(signal.SIGUSR2)
    captured.samples[OPERATOR].extend(await _stacks(stacks))


async def counted(plane: ControlPlane) -> tuple[Counters, Counters]:
    """The counters of API server and etcd."""
    async with aiohttp.ClientSession() as session:
        etcd = await _get(session, f"{plane.etcd.url}/metrics")
    text = await read(plane, "/metrics", {})
    return counters.of_api_server(text.decode()), counters.of_etcd(etcd.decode())


async def _windows(take: Callable[[], Awaitable[bytes]], over: asyncio.Event, into: list[ProfileSample]) -> None:
    """A profile has a length that is given before; one follows the other."""
    taken = [await take()]
    while not over.is_set():
        taken.append(await take())
    for data in taken:
        into.extend(pprof.parse(data))


async def read(plane: ControlPlane, path: str, query: Mapping[str, str]) -> bytes:
    """What the API server answers, as it is: the client of the operator leaves managedFields out."""
    transport = plane.api.transport
    assert isinstance(transport, HttpTransport)
    return b"".join([chunk async for chunk in transport.chunks(path, query=query, seconds=_TIMEOUT_SECONDS)])


async def _get(session: aiohttp.ClientSession, url: str) -> bytes:
    async with session.get(url) as response:
        response.raise_for_status()
        return await response.read()


async def _stacks(path: Path) -> list[ProfileSample]:
    """The operator's; shares of its processor time, since the kernel's ticks decide how many there are."""
    async with asyncio.timeout(_TIMEOUT_SECONDS):
        while (samples := _written(path)) is None:  # noqa: ASYNC110 - a file sends no notification
            await asyncio.sleep(_LOOK)
    return samples


def _written(path: Path) -> list[ProfileSample] | None:
    if not path.exists():
        return None
    counts = json.loads(path.read_text())
    return [ProfileSample(stack=tuple(stack), labels={}, seconds=float(count)) for stack, count in counts]

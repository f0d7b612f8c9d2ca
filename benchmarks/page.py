"""`make bench-ui`: memory and CPU of the page's server with 50 viewers of 60,000 TaskRuns, and bytes of an open page.

A made-up cluster serves 10,000 runs and 60,000 TaskRuns from a process of its own. Viewers have ten identities. Two of
five look at the list of all runs, one at the run of 10,000 instances, two at other runs. One more viewer counts the
bytes of the open run of 10,000 instances on the wire, while 50 of its instances change each second.
"""

import asyncio
import json
import os
import re
import sys
import time
import zlib
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import aiohttp
from torpor_dev.console import say
from torpor_ui.http.security import CSRF_HEADER

from benchmarks.harness import program
from benchmarks.harness.figures import Figure
from tests.support.ports import free_port

MEMORY_GOAL, BYTES_GOAL = 256.0, 300.0
BIG = "api/run/live/data/big-load/stream"
LIST = "api/runs/stream"
_KIB = re.compile(r"^(VmRSS|VmHWM):\s+(\d+) kB$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSizes:
    """How much is measured. `seconds`: of the bytes of an open page."""

    runs: int = 10_000
    instances: int = 10_000
    taskruns: int = 50_000
    viewers: int = 50
    identities: int = 10
    changes: int = 50
    seconds: int = 60


class PageClient:
    """A browser that has logged in with the token of an identity."""

    def __init__(self, url: str, session: aiohttp.ClientSession) -> None:
        self.url = url
        self.session = session
        self.bytes = 0
        self.changes = 0
        """Instances of the events `delta`."""

    async def log_in(self, token: str) -> None:
        async with self.session.get(f"{self.url}/api/session") as response:
            csrf = (await response.json())["csrf"]
        headers = {"Origin": self.url, CSRF_HEADER: csrf}
        async with self.session.post(f"{self.url}/api/session", json={"token": token}, headers=headers) as response:
            response.raise_for_status()

    async def look(self, path: str, first: asyncio.Event) -> None:
        """Read a stream for as long as the task lives, and count what arrives on the wire."""
        async with self.session.get(f"{self.url}/{path}", timeout=aiohttp.ClientTimeout()) as response:
            response.raise_for_status()
            async for chunk in response.content.iter_any():
                self.bytes += len(chunk)
                first.set()

    async def count(self, path: str, first: asyncio.Event) -> None:
        """Read the stream of a run as `look` does, and count the instances that its deltas have."""
        unpacked, rest = zlib.decompressobj(31), b""
        async with self.session.get(f"{self.url}/{path}", timeout=aiohttp.ClientTimeout()) as response:
            response.raise_for_status()
            async for chunk in response.content.iter_any():
                self.bytes += len(chunk)
                *events, rest = (rest + unpacked.decompress(chunk)).split(b"\n\n")
                for event in events:
                    if b"event: delta" in event:
                        delta = json.loads(event.partition(b"data: ")[2])
                        self.changes += len(delta.get("instances", {}).get("key", ()))
                    elif b"event: snapshot" in event:
                        first.set()

    async def rows(self, path: str) -> list[list[str]]:
        async with self.session.get(f"{self.url}/{path}") as response:
            return (await response.json())["rows"]  # type: ignore[no-any-return]


@asynccontextmanager
async def process(*arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    started = await asyncio.create_subprocess_exec(sys.executable, "-m", *arguments, stdout=asyncio.subprocess.PIPE)
    try:
        yield started
    finally:
        if started.returncode is None:
            started.terminate()
        await started.wait()


@asynccontextmanager
async def client(url: str, token: str, *, raw: bool = False) -> AsyncIterator[PageClient]:
    jar = aiohttp.CookieJar(unsafe=True)
    headers = {"Accept-Encoding": "gzip"}
    async with (
        aiohttp.ClientSession(cookie_jar=jar, headers=headers, auto_decompress=False) as session,
        aiohttp.ClientSession(cookie_jar=jar) as plain,
    ):
        await PageClient(url, plain).log_in(token)
        yield PageClient(url, session if raw else plain)


async def measure(sizes: PageSizes) -> list[Figure]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        cluster = await stack.enter_async_context(process(*_cluster(sizes, folder)))
        api = (await _line(cluster)).split()[0]
        port = free_port()
        url = f"http://127.0.0.1:{port}"
        options = ("--mode", "token", "--url", url, "--port", str(port), "--health-port", str(free_port()))
        server = await stack.enter_async_context(process("torpor_ui", *options, "--api-url", api))
        await _until_up(url)
        before = _memory(server.pid)["VmRSS"]
        tasks = await stack.enter_async_context(asyncio.TaskGroup())
        viewing = await _open_viewers(stack, tasks, url, sizes)
        await asyncio.sleep(10.0)
        opened = _memory(server.pid)
        say(f"{sizes.viewers} viewers: {opened['VmRSS']:.0f} MiB")
        (folder / "begin").touch()
        counting = await stack.enter_async_context(client(url, "viewer-0", raw=True))
        first = asyncio.Event()
        viewing.append(tasks.create_task(counting.count(BIG, first)))
        await first.wait()
        sent, known, cpu, began = counting.bytes, counting.changes, _cpu(server.pid), time.monotonic()
        await asyncio.sleep(sizes.seconds)
        took = time.monotonic() - began
        kilobytes = (counting.bytes - sent) / took * 60 / 1000
        rate = (counting.changes - known) / took
        used = (_cpu(server.pid) - cpu) / took
        peak = _memory(server.pid)
        for task in viewing:
            task.cancel()
    goal = f"{MEMORY_GOAL:g} MiB"
    return [
        Figure(name="empty", what="memory without viewers", value=before, unit="MiB"),
        Figure(name="opened", what=f"memory, {sizes.viewers} viewers", value=opened["VmRSS"], unit="MiB", goal=goal),
        Figure(name="peak", what="highest memory, while changes arrive", value=peak["VmHWM"], unit="MiB", goal=goal),
        Figure(name="bytes", what="an open page", value=kilobytes, unit="kB a minute", goal=f"{BYTES_GOAL:g} kB"),
        Figure(name="rate", what="instances in its deltas", value=rate, unit="a second"),
        Figure(name="snapshot", what="first event of 10,000 instances", value=sent / 1000, unit="kB"),
        Figure(name="cpu", what=f"CPU for {sizes.viewers} viewers", value=used * 100, unit="% of a core"),
    ]


async def _open_viewers(
    stack: AsyncExitStack, tasks: asyncio.TaskGroup, url: str, sizes: PageSizes
) -> "list[asyncio.Task[None]]":
    viewing: list[asyncio.Task[None]] = []
    others: list[str] = []
    for number in range(sizes.viewers):
        viewer = await stack.enter_async_context(client(url, f"viewer-{number % sizes.identities}"))
        if not others:
            rows = await viewer.rows("api/runs?source=live&state=Running&limit=1000")
            others = [f"api/run/{row[0]}/stream" for row in rows if row[2] != "big-load"]
        path = (LIST, BIG, LIST, others[2 * number % len(others)], others[(2 * number + 1) % len(others)])[number % 5]
        first = asyncio.Event()
        viewing.append(tasks.create_task(viewer.look(path, first)))
        await first.wait()
        say(f"viewer {number + 1} looks at {path}")
    return viewing


def _cluster(sizes: PageSizes, folder: Path) -> tuple[str, ...]:
    given = {"runs": sizes.runs, "instances": sizes.instances, "taskruns": sizes.taskruns, "archived": 1000}
    given |= {"viewers": sizes.identities, "changes": sizes.changes}
    options = [word for name, value in given.items() for word in (f"--{name}", str(value))]
    files = ("--kubeconfig", str(folder / "config"), "--begin", str(folder / "begin"))
    return ("tests.support.made_up_cluster", *options, "--changing", "big-load", *files)


async def _line(started: asyncio.subprocess.Process) -> str:
    if started.stdout is None:
        raise RuntimeError("the process has no output")
    return (await started.stdout.readline()).decode()


async def _until_up(url: str) -> None:
    async with aiohttp.ClientSession() as session:
        for _ in range(600):
            try:
                async with session.get(f"{url}/api/session"):
                    return
            except aiohttp.ClientError:
                await asyncio.sleep(0.1)
    raise RuntimeError("the page's server does not respond")


def _memory(pid: int) -> dict[str, float]:
    return {name: int(kib) / 1024 for name, kib in _KIB.findall(Path(f"/proc/{pid}/status").read_text())}


def _cpu(pid: int) -> float:
    words = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")


def main() -> int:
    parser = program.parser(__doc__, "page", PageSizes)
    given = parser.parse_args()
    sizes = program.chosen_sizes(given, PageSizes)
    figures = program.attempt_alone("page", measure(sizes), program.shown_figures)
    if figures is None:
        return 1
    program.report(given, "page", figures, sizes=json.dumps({name: getattr(sizes, name) for name in sizes.__slots__}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

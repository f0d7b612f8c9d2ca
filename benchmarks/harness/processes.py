"""The processes beside the control plane: Torpor's programs as in their pods, a simulated kubelet and its worker."""

import asyncio
import os
import signal
import sys
import time
import urllib.request
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from torpor_demo.cluster import ROOT
from torpor_demo.install import SYSTEM
from torpor_kubernetes.client.resources import LEASES

from benchmarks.harness import usage
from benchmarks.harness.control_plane import ControlPlane
from benchmarks.harness.waiting import until
from tests.support.ports import free_port

OPERATOR, TRIGGERER, ARCHIVE, KUBELET, WORKER, CLIENT = (
    "operator",
    "triggerer",
    "archive",
    "kubelet",
    "worker",
    "client",
)
LOOPBACK = ("--allow-networks", "127.0.0.0/8")
_POD = "benchmarks.harness.pod"
_KUBELET = "benchmarks.harness.kubelet"
_WORKER = "benchmarks.harness.worker"
_MEMBER = "This replica owns "
_LIMIT = 300.0
_STOP_LIMIT = 30.0
_LOOK = 0.2
_START = 2.0


@dataclass(slots=True, kw_only=True)
class ChildProcess:
    """`words` follow `python -m`, unless `program` is a whole command.

    `kept`: it starts again when it ends by itself, as the container of a pod does.
    """

    name: str
    log: Path
    words: Sequence[str] = ()
    program: Sequence[str] = ()
    environ: Mapping[str, str] = field(default_factory=dict)
    health: str = ""
    kept: bool = False
    restarts: int = 0
    _former: float = 0.0
    _last: float = 0.0
    _process: asyncio.subprocess.Process | None = None
    _keeping: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """Of the present process."""
        assert self._process is not None
        return self._process.pid

    async def start(self) -> None:
        """Start it, without waiting for anything."""
        await self._spawn()
        if self.kept:
            self._keeping = asyncio.create_task(self._keep())

    async def ready(self) -> None:
        """Return once its health server says so. Raises SystemExit with its log if it ends before."""
        await self.until_or_end(self.healthy)

    async def member(self) -> None:
        """Return once it owns shards: for a triggerer."""

        async def owns() -> bool:
            return _MEMBER in self.text()

        await self.until_or_end(owns)

    async def until_or_end(self, holds: Callable[[], Awaitable[bool]]) -> None:
        """Return once this holds. Raises SystemExit with the end of its log if it ends before, or is late."""
        end = time.monotonic() + _LIMIT
        while not await holds():
            if time.monotonic() > end or (self.ended and not self.kept):
                raise SystemExit("\n".join([f"{self.name} is not ready:", *self.text().splitlines()[-20:]]))
            await asyncio.sleep(_LOOK)

    async def healthy(self) -> bool:
        """Whether its health server says that it is."""
        return await asyncio.to_thread(_answers, self.health)

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self._process is None or self._process.returncode is not None

    def cpu(self) -> float:
        """Seconds of processor time so far, of its children and former processes too."""
        self._look()
        return self._former + self._last

    def text(self) -> str:
        """Its log."""
        return self.log.read_text()

    def send(self, sign: signal.Signals) -> None:
        """Send a signal."""
        if self._process is not None:
            self._process.send_signal(sign)

    async def end(self, sign: signal.Signals = signal.SIGTERM) -> None:
        """Send the signal, and SIGKILL if it does not end. It does not start again by itself."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)
        if self._process is None:
            return
        self._look()
        with suppress(ProcessLookupError):
            self._process.send_signal(sign)
        try:
            async with asyncio.timeout(_STOP_LIMIT):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()

    async def _spawn(self) -> None:
        self._former, self._last = self._former + self._last, 0.0
        command = self.program or (sys.executable, "-m", *self.words)
        with self.log.open("a") as output:
            self._process = await asyncio.create_subprocess_exec(
                *command, stdout=output, stderr=output, env=self.environ or None, cwd=ROOT
            )

    async def _keep(self) -> None:
        while True:
            while not self.ended:
                self._look()
                await asyncio.sleep(_LOOK)
            self.restarts += 1
            await self._spawn()

    def _look(self) -> None:
        with suppress(OSError, ValueError, IndexError):
            self._last = usage.tree_cpu(self.pid)


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=1) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def operator(
    plane: ControlPlane, *flags: str, name: str = OPERATOR, sampler: Sequence[str] = (), kept: bool = False
) -> ChildProcess:
    """The shipped operator. `sampler`: the words of a module that runs it and samples or profiles it."""
    health = f"http://127.0.0.1:{free_port()}/healthz"
    identity = ("--namespace", SYSTEM, "--identity", name, "--liveness", health, "--metrics-port", "0")
    return ChildProcess(
        name=name,
        words=(*sampler, _POD, "torpor_operator", *identity, *flags),
        log=plane.logs / f"{name}.log",
        environ=environ(plane, OPERATOR),
        health=health,
        kept=kept,
    )


def triggerer(
    plane: ControlPlane, *flags: str, name: str = TRIGGERER, folder: Path | None = None, **more: str
) -> ChildProcess:
    """The shipped triggerer. `folder`: of its log; `more`: its environment."""
    port = free_port()
    identity = ("--identity", name, "--health-port", str(port))
    return ChildProcess(
        name=name,
        words=(_POD, "torpor_triggerer", *identity, *flags),
        log=(folder or plane.logs) / f"{name}.log",
        environ=environ(plane, TRIGGERER) | more,
        health=f"http://127.0.0.1:{port}/healthz",
    )


def archive(plane: ControlPlane, port: int, health_port: int) -> ChildProcess:
    """The shipped archive with SQLite."""
    address = ("--url", f"https://127.0.0.1:{port}", "--port", str(port), "--health-port", str(health_port))
    return ChildProcess(
        name=ARCHIVE,
        words=(_POD, "torpor_archive", "--namespace", SYSTEM, *address),
        log=plane.logs / f"{ARCHIVE}.log",
        environ=environ(plane, ARCHIVE) | {"DATABASE_URL": f"sqlite:///{plane.state}/archive.db"},
        health=f"http://127.0.0.1:{health_port}/readyz",
    )


def environ(plane: ControlPlane, program: str) -> dict[str, str]:
    """The environment in which `benchmarks.harness.pod` finds what a pod has."""
    kept = {name: value for name, value in os.environ.items() if name not in {"KUBECONFIG", "PYTHONPATH"}}
    return kept | {
        "TORPOR_BENCH_ACCOUNT": str(plane.account(program)),
        "KUBERNETES_SERVICE_HOST": "127.0.0.1",
        "KUBERNETES_SERVICE_PORT": str(plane.port),
        "PYTHONUNBUFFERED": "1",
    }


@asynccontextmanager
async def running(*processes: ChildProcess) -> AsyncIterator[None]:
    """Start these, and end them with the block."""
    async with AsyncExitStack() as stack:
        for process in processes:
            stack.push_async_callback(process.end)
            await process.start()
        yield


async def holder(plane: ControlPlane) -> str:
    """The identity of the leading operator; empty if there is none."""
    for lease in (await plane.api.list(LEASES, SYSTEM)).items:
        if lease["metadata"]["name"] == "torpor-operator":
            return lease["spec"].get("holderIdentity") or ""
    return ""


async def leads(plane: ControlPlane) -> None:
    """Return once an operator leads."""

    async def is_held() -> bool:
        return bool(await holder(plane))

    await until(is_held, _LIMIT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """The control plane, and the processes beside it by name."""

    plane: ControlPlane
    children: Mapping[str, ChildProcess]

    def cpu(self) -> dict[str, float]:
        """Seconds of processor time so far by name, of children too.

        `client` is the benchmark itself; `machine` is the CPU time of all processes of the machine.
        """
        seconds = {name: usage.tree_cpu(pid) for name, pid in self.plane.servers.items()}
        seconds |= {name: child.cpu() for name, child in self.children.items()}
        return seconds | {CLIENT: usage.cpu(os.getpid()), "machine": usage.machine_cpu()}

    def memory(self) -> float:
        """PSS of the operator without its evaluator, in bytes."""
        return usage.own_pss(self.children[OPERATOR].pid)


@asynccontextmanager
async def start_nodes(
    plane: ControlPlane, *, kubelet: str = _KUBELET, worker: str = _WORKER
) -> AsyncIterator[Processes]:
    """A kubelet and a worker (of these modules), and no operator."""
    path, log = str(plane.state / "kubelet"), plane.logs / "nodes.log"
    admin = os.environ | {"KUBECONFIG": str(plane.admin.kubeconfig)}
    nodes = ChildProcess(name=KUBELET, words=(kubelet, path), log=log, environ=admin)
    client = ChildProcess(name=WORKER, words=(worker, path, plane.server, str(plane.state / "pki")), log=log)
    async with running(nodes):
        await until(Path(path).exists, _LIMIT)
        async with running(client):
            await asyncio.sleep(_START)
            yield Processes(plane=plane, children={KUBELET: nodes, WORKER: client})


@asynccontextmanager
async def start_operator(plane: ControlPlane, *flags: str, samples: Path | None = None) -> AsyncIterator[Processes]:
    """Nodes and an operator that leads, with the settings that it ships with but for these flags.

    `samples`: the file for samples of the operator's stack, which signals begin and end.
    """
    sampler = ("benchmarks.profile.sampled", str(samples)) if samples else ()
    process = operator(plane, *flags, sampler=sampler)
    async with start_nodes(plane) as nodes, running(process):
        await leads(plane)
        await asyncio.sleep(1)  # its lists, of a cluster without workflows
        yield Processes(plane=plane, children={**nodes.children, OPERATOR: process})

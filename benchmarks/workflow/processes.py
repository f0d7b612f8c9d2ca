"""The processes beside the control plane (operator, kubelet and worker), and their processor time."""

import asyncio
import os
import socket
import sys
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from torpor_demo.cluster import ROOT
from torpor_demo.install import SYSTEM
from torpor_kubernetes.client.resources import LEASES

from benchmarks.triggerer import usage
from benchmarks.workflow.plane import Plane

OPERATOR, KUBELET, WORKER, CLIENT = "operator", "kubelet", "worker", "client"
_WORKER = "benchmarks.workflow.worker"
_PATIENCE = 60.0
_LOOK = 0.1
_START = 2.0
_TICKS = os.sysconf("SC_CLK_TCK")
_IDLE = (3, 4)  # of the first line of /proc/stat: idle, iowait


@dataclass(frozen=True, slots=True, kw_only=True)
class Processes:
    """Who works, by pid; `client` is the bench itself."""

    plane: Plane
    pids: Mapping[str, int]

    def cpu(self) -> dict[str, float]:
        """Seconds of processor time so far by name, of children too; `machine` is all that was busy, whoever was."""
        found = {name: usage.tree(pid) for name, pid in {**self.plane.servers, **self.pids}.items()}
        return found | {CLIENT: usage.cpu(os.getpid()), "machine": _busy()}

    def memory(self) -> float:
        """PSS of the operator without its evaluator, in bytes."""
        return usage.own_pss(self.pids[OPERATOR]) * 1024


@asynccontextmanager
async def nodes(plane: Plane, *, worker: str = _WORKER) -> AsyncIterator[Processes]:
    """A kubelet and a worker (of this module), and no operator."""
    async with AsyncExitStack() as stack:
        yield Processes(plane=plane, pids=await _nodes(stack, plane, worker))


@asynccontextmanager
async def start(plane: Plane, *flags: str, samples: Path | None = None) -> AsyncIterator[Processes]:
    """All three; the operator leads, with the settings that it ships with but for these flags.

    `samples`: the file for samples of the operator's stack, which signals begin and end.
    """
    async with AsyncExitStack() as stack:
        pids = await _nodes(stack, plane)
        with socket.create_server(("127.0.0.1", 0)) as held:
            port = held.getsockname()[1]
        liveness = ("--liveness", f"http://127.0.0.1:{port}/healthz", "--identity", "bench", "--namespace", SYSTEM)
        sampler = ("benchmarks.profile.sampled", str(samples)) if samples else ()
        words = ("-m", *sampler, "torpor_operator", *liveness, *flags)
        log = plane.state / "operator.log"
        pids[OPERATOR] = await launch(stack, log, sys.executable, *words, KUBECONFIG=str(plane.operator))
        await _leads(plane)
        yield Processes(plane=plane, pids=pids)


async def _nodes(stack: AsyncExitStack, plane: Plane, worker: str = _WORKER) -> dict[str, int]:
    path = plane.state / "kubelet"
    config = str(plane.state / "kubeconfig")
    log = plane.state / "nodes.log"
    played = ("-m", "benchmarks.workflow.kubelet", str(path))
    kubelet = await launch(stack, log, sys.executable, *played, KUBECONFIG=config)
    async with asyncio.timeout(_PATIENCE):
        while not path.exists():  # noqa: ASYNC110 - a socket sends no notification
            await asyncio.sleep(_LOOK)
    words = ("-m", worker, str(path), plane.server, str(plane.state / "pki"))
    pid = await launch(stack, log, sys.executable, *words)
    await asyncio.sleep(_START)
    return {KUBELET: kubelet, WORKER: pid}


async def launch(stack: AsyncExitStack, log: Path, *command: str, **environ: str) -> int:
    """Start a process that ends with the stack; its pid."""
    with log.open("a") as output:
        process = await asyncio.create_subprocess_exec(
            *command, stdout=output, stderr=output, env=os.environ | environ, cwd=ROOT
        )
    stack.push_async_callback(_ended, process)
    return process.pid


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        process.kill()
    await process.wait()


async def _leads(plane: Plane) -> None:
    async with asyncio.timeout(_PATIENCE):
        while True:
            held = (await plane.api.list(LEASES, SYSTEM)).items
            if any(one["metadata"]["name"] == "torpor-operator" and one["spec"].get("holderIdentity") for one in held):
                break
            await asyncio.sleep(_LOOK)
    await asyncio.sleep(1)  # its lists, of a cluster without workflows


def _busy() -> float:
    fields = [int(each) for each in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    return (sum(fields) - sum(fields[at] for at in _IDLE)) / _TICKS


class Metered(Protocol):
    """Processes with their processor time by name; `machine` is that of all."""

    def cpu(self) -> Mapping[str, float]:
        """Seconds so far."""


@dataclass(slots=True)
class Interval:
    """Measures the elapsed time and the processor time of each process."""

    processes: Metered
    began: float
    before: Mapping[str, float]

    @classmethod
    def begin(cls, processes: Metered) -> "Interval":
        """From now on."""
        return cls(processes, time.monotonic(), processes.cpu())

    def cpu(self) -> dict[str, float]:
        """Seconds by name since; `foreign` is what others on this machine used."""
        used = {name: now - self.before[name] for name, now in self.processes.cpu().items()}
        machine = used.pop("machine")
        return used | {"foreign": machine - sum(used.values())}

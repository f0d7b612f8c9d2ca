"""Argo's workflow-controller as a process on the control plane of the workflow bench, and what it is measured at."""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from torpor_demo.install import SYSTEM
from torpor_demo.kubectl import Kubectl

from benchmarks.argo import objects
from benchmarks.argo.objects import NAMESPACE
from benchmarks.harness import processes
from benchmarks.harness.control_plane import ControlPlane, open_plane
from benchmarks.harness.metering import MeteredSpan, TaskCosts
from benchmarks.harness.processes import ChildProcess, Processes, start_nodes
from benchmarks.harness.runs import WatchedRuns, watch_runs
from benchmarks.harness.waiting import Object

CONTROLLER = "workflow-controller"
FLAGS = ("--qps=1000", "--burst=2000", "--workflow-workers=64", "--pod-cleanup-workers=32")
ENVIRON = {"DEFAULT_REQUEUE_TIME": "1s", "LEADER_ELECTION_DISABLE": "true"}
_KEY = f"/registry/{objects.GROUP}/workflows/{NAMESPACE}"
_WARM = 8
_SETTLE = 2.0


async def fan_out(program: Path, count: int) -> TaskCosts:
    """One step with `count` pods."""
    return await _several(program, f"fan-out of {count}", count, [objects.fan_out("run-0", count)])


async def chain(program: Path, length: int) -> TaskCosts:
    """A chain of steps."""
    return await _several(program, f"chain of {length}", length, [objects.chain("run-0", length)])


async def many(program: Path, count: int) -> TaskCosts:
    """`count` Workflows with one pod, created at once."""
    bodies = [objects.single(f"run-{number}") for number in range(count)]
    return await _several(program, f"{count} workflows", count, bodies)


async def _several(program: Path, name: str, tasks: int, bodies: Sequence[Object]) -> TaskCosts:
    async with (
        open_plane() as plane,
        _started(plane, program) as processes,
        watch_runs(plane.api, objects.WORKFLOWS, objects.ended) as runs,
    ):
        await _warm(runs)
        span = MeteredSpan.begin(processes)
        await asyncio.gather(*map(runs.create, bodies))
        wall = await runs.end(*(body["metadata"]["name"] for body in bodies)) - span.began
        cpu = span.cpu()
        sizes = {"workflow": float(len(await plane.etcd.read(f"{_KEY}/run-0")))}
        return TaskCosts(name=name, tasks=tasks, wall=wall, cpu=cpu, sizes=sizes)


@asynccontextmanager
async def _started(plane: ControlPlane, program: Path) -> AsyncIterator[Processes]:
    """Kubelet, worker (without work) and the controller, with a service account's token, as Torpor's operator has."""
    await asyncio.to_thread(_install, plane.admin)
    config = await asyncio.to_thread(_kubeconfig, plane)
    words = (f"--kubeconfig={config}", f"--namespace={NAMESPACE}", "--executor-image=bench", *FLAGS)
    log = plane.logs / "argo.log"
    controller = ChildProcess(name=CONTROLLER, program=(str(program), *words), log=log, environ=os.environ | ENVIRON)
    async with start_nodes(plane) as nodes, processes.running(controller):
        yield Processes(plane=plane, children={**nodes.children, CONTROLLER: controller})


def _install(admin: Kubectl) -> None:
    admin.run("apply", "--server-side", "-f", "-", stdin=json.dumps(objects.installation(SYSTEM)))
    names = [f"crd/{name}" for name in objects.plurals()]
    admin.run("wait", "--for=condition=Established", *names, "--timeout=60s", limit=90)
    admin.run("wait", "--for=create", "serviceaccount/default", "-n", NAMESPACE, "--timeout=60s", limit=90)


def _kubeconfig(plane: ControlPlane) -> Path:
    """A kubeconfig with a token of the controller's service account."""
    path, token = plane.state / "argo.kubeconfig", plane.token(objects.ACCOUNT)
    config = json.loads(plane.admin.run("config", "view", "--raw", "-o", "json"))
    config["users"] = [{"name": user["name"], "user": {"token": token}} for user in config["users"]]
    path.touch(mode=0o600)
    path.write_text(json.dumps(config))
    return path


async def _warm(runs: WatchedRuns) -> None:
    """As for Torpor: the first run pays for connections, and shows that the controller works."""
    await runs.create(objects.fan_out("warm", _WARM))
    await runs.end("warm")
    await asyncio.sleep(_SETTLE)

"""Argo's workflow-controller as a process on the control plane of the workflow bench, and what it is measured at."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path

from torpor_demo.install import SYSTEM
from torpor_demo.kubectl import Kubectl
from torpor_dev import kubectl

from benchmarks.argo import objects
from benchmarks.argo.objects import NAMESPACE, Object
from benchmarks.workflow import plane as planes
from benchmarks.workflow import processes, runs
from benchmarks.workflow.measurement import Measurement
from benchmarks.workflow.plane import Plane
from benchmarks.workflow.processes import Interval, Processes
from benchmarks.workflow.runs import Runs

CONTROLLER = "workflow-controller"
FLAGS = ("--qps=1000", "--burst=2000", "--workflow-workers=64", "--pod-cleanup-workers=32")
ENVIRON = {"DEFAULT_REQUEUE_TIME": "1s", "LEADER_ELECTION_DISABLE": "true"}
_KEY = f"/registry/{objects.GROUP}/workflows/{NAMESPACE}"
_WARM = 8
_SETTLE = 2.0


async def fan_out(program: Path, count: int) -> Measurement:
    """One step with `count` pods."""
    return await _several(program, f"fan-out of {count}", count, [objects.fan_out("run-0", count)])


async def chain(program: Path, length: int) -> Measurement:
    """A chain of steps."""
    return await _several(program, f"chain of {length}", length, [objects.chain("run-0", length)])


async def many(program: Path, count: int) -> Measurement:
    """`count` Workflows with one pod, created at once."""
    bodies = [objects.single(f"run-{number}") for number in range(count)]
    return await _several(program, f"{count} workflows", count, bodies)


async def _several(program: Path, name: str, tasks: int, bodies: Sequence[Object]) -> Measurement:
    async with planes.plane() as at, _started(at, program) as hands, _runs(at) as asked:
        await _warm(asked)
        interval = Interval.begin(hands)
        await asyncio.gather(*map(asked.create, bodies))
        over = await asked.end(*(body["metadata"]["name"] for body in bodies))
        cpu = interval.cpu()
        sizes = {"workflow": float(len(await at.etcd.read(f"{_KEY}/run-0")))}
        return Measurement(name=name, tasks=tasks, wall=over - interval.began, cpu=cpu, sizes=sizes)


@asynccontextmanager
async def _started(plane: Plane, program: Path) -> AsyncIterator[Processes]:
    """Kubelet, worker (without work) and the controller, with a service account's token, as Torpor's operator has."""
    at = Kubectl(plane.state / "kubeconfig", kubectl.ensure())
    await asyncio.to_thread(_install, at)
    config = planes.kubeconfig(at, plane.state / "argo.kubeconfig", objects.ACCOUNT)
    words = (f"--kubeconfig={config}", f"--namespace={NAMESPACE}", "--executor-image=bench", *FLAGS)
    async with processes.nodes(plane) as hands, AsyncExitStack() as stack:
        pid = await processes.launch(stack, plane.state / "argo.log", str(program), *words, **ENVIRON)
        yield Processes(plane=plane, pids={**hands.pids, CONTROLLER: pid})


def _install(at: Kubectl) -> None:
    at.run("apply", "--server-side", "-f", "-", stdin=json.dumps(objects.installation(SYSTEM)))
    names = [f"crd/{one}" for one in objects.plurals()]
    at.run("wait", "--for=condition=Established", *names, "--timeout=60s", limit=90)
    at.run("wait", "--for=create", "serviceaccount/default", "-n", NAMESPACE, "--timeout=60s", limit=90)


def _runs(at: Plane) -> AbstractAsyncContextManager[Runs]:
    return runs.runs(at, objects.WORKFLOWS, objects.ended)


async def _warm(asked: Runs) -> None:
    """As for Torpor: the first run pays for connections, and shows that the controller works."""
    await asked.create(objects.fan_out("warm", _WARM))
    await asked.end("warm")
    await asyncio.sleep(_SETTLE)

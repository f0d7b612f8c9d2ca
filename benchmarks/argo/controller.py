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
from benchmarks.argo.scenarios import CHAIN, FAN, MANY, ArgoScenario
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
_EXECUTOR = {"kubelet": "benchmarks.argo.kubelet", "worker": "benchmarks.argo.executor"}
_WARM = 8
_SETTLE = 2.0


async def measure(program: Path, scenario: ArgoScenario) -> TaskCosts:
    """From the first request until the last Workflow of the scenario has succeeded."""
    bodies = _bodies(scenario)
    async with (
        open_plane() as plane,
        _started(plane, program, scenario) as processes,
        watch_runs(plane.api, objects.WORKFLOWS, objects.ended) as runs,
    ):
        await _warm(runs, scenario)
        span = MeteredSpan.begin(processes)
        await asyncio.gather(*map(runs.create, bodies))
        wall = await runs.end(*(body["metadata"]["name"] for body in bodies)) - span.began
        cpu = span.cpu()
        sizes = {"workflow": float(len(await plane.etcd.read(f"{_KEY}/run-0")))}
        return TaskCosts(name=scenario.name, tasks=scenario.size, wall=wall, cpu=cpu, sizes=sizes)


def _bodies(scenario: ArgoScenario) -> Sequence[Object]:
    outputs, size = scenario.is_fair, scenario.size
    if scenario.kind == MANY:
        return [objects.single(f"run-{number}", outputs=outputs) for number in range(size)]
    shape = {FAN: objects.fan_out, CHAIN: objects.chain}[scenario.kind]
    return [shape("run-0", size, outputs=outputs)]


@asynccontextmanager
async def _started(plane: ControlPlane, program: Path, scenario: ArgoScenario) -> AsyncIterator[Processes]:
    """Kubelet, worker and the controller, with a service account's token, as Torpor's operator has.

    The worker makes the requests of the executors in a fair row, and none otherwise.
    """
    await asyncio.to_thread(_install, plane.admin)
    config = await asyncio.to_thread(_kubeconfig, plane)
    words = (f"--kubeconfig={config}", f"--namespace={NAMESPACE}", "--executor-image=bench", *FLAGS)
    log = plane.logs / "argo.log"
    controller = ChildProcess(name=CONTROLLER, program=(str(program), *words), log=log, environ=os.environ | ENVIRON)
    modules = _EXECUTOR if scenario.is_fair else {}
    async with start_nodes(plane, **modules) as nodes, processes.running(controller):
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


async def _warm(runs: WatchedRuns, scenario: ArgoScenario) -> None:
    """As for Torpor: the first run pays for connections, and shows that the controller works."""
    await runs.create(objects.fan_out("warm", _WARM, outputs=scenario.is_fair))
    await runs.end("warm")
    await asyncio.sleep(_SETTLE)

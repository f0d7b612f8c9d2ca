"""`python -m benchmarks.start`: from the creation of a pod to the first line of user code, by the way of its runtime.

Each pod of a task is followed by two bare pods of the same image, whose only process is Python. The first one has no
volume. The second one has the token of its ServiceAccount, as Kubernetes adds it by default: a kubelet checks every
300 ms whether the volumes of a pod are mounted, so any volume costs that much. The differences are what Torpor adds:
the runtime, the claim, and for an init container another container. A pod begins when a watch shows it. User code is
`time.time`, so the clocks of the nodes must agree with that of this machine for the absolute times.

Each pod is created at a random moment: a kubelet lists containers once a second, and the former pod was seen to end by
such a list.
"""

import asyncio
import json
import random
import statistics
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from torpor_crds.models import taskrun
from torpor_demo import cluster, images
from torpor_demo.install import SYSTEM, roll_out
from torpor_demo.kubectl import Kubectl
from torpor_kubernetes.client.resources import NODES, PODS, TASKRUNS
from torpor_operator.injection.decision import Evidence, decide
from torpor_operator.injection.detector import parse_node
from torpor_operator.settings import Injection
from torpor_wire import constants

from benchmarks.harness import program
from benchmarks.harness.cluster import BenchCluster, bench_cluster
from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.figures import Figure
from benchmarks.harness.waiting import Object, new_events

IMAGE = "FROM torpor-worker"
GOALS_MS = {IMAGE: 100, Injection.IMAGE_VOLUME: 150, Injection.INIT_CONTAINER: 600}
_MEASURES = {
    "above": "above a bare pod of the same image, median",
    "above_token": "above a bare pod with the default token, median",
    "task": "median",
    "bare": "a bare pod, median",
    "token": "a bare pod with the default token, median",
    "task_min": "fastest",
    "bare_min": "fastest bare pod",
    "token_min": "fastest bare pod with the default token",
}
_OPERATOR = "deployment/torpor-operator"
_PRINT = ("python3", "-c", "import time; print(time.time())")
Created = dict[str, float]
"""When the watch showed each pod, in seconds since the epoch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartRound:
    """Seconds from the creation to user code: of the pod of a task, and of the bare pods after it."""

    task: float
    bare: float
    token: float
    """Of the bare pod with the token of its ServiceAccount."""


def main() -> None:
    """Measure, print and write."""
    parser = program.parser(__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    rounds, unsupported = asyncio.run(_measure(given.rounds))
    for way, reason in unsupported.items():
        sys.stdout.write(f"{way} is not supported: {reason}\n")
    figures = [figure for way, measured in rounds.items() for figure in _figures(way, measured)]
    program.report(given, "start", figures, unsupported=unsupported)


def _figures(way: str, rounds: Sequence[StartRound]) -> list[Figure]:
    """The medians; those above are of the differences within a round. On a busy machine the fastest pods show more."""
    values = {
        "above": statistics.median(pods.task - pods.bare for pods in rounds),
        "above_token": statistics.median(pods.task - pods.token for pods in rounds),
        "task": statistics.median(pods.task for pods in rounds),
        "bare": statistics.median(pods.bare for pods in rounds),
        "token": statistics.median(pods.token for pods in rounds),
        "task_min": min(pods.task for pods in rounds),
        "bare_min": min(pods.bare for pods in rounds),
        "token_min": min(pods.token for pods in rounds),
    }
    return [
        Figure(
            name=f"{way}_{name}_ms",
            what=f"start of a pod to user code, {way}: {_MEASURES[name]}",
            value=1000 * seconds,
            unit="ms",
            goal=f"{GOALS_MS[way]} ms" if name == "above" else "",
            aside=f"{len(rounds)} rounds" if name == "above" else "",
        )
        for name, seconds in values.items()
    ]


async def _measure(count: int) -> tuple[dict[str, list[StartRound]], dict[str, str]]:
    python = await asyncio.to_thread(cluster.base_image)
    seen: Created = {}
    async with bench_cluster(list(images.ALL)) as on, new_events(on.api, PODS, NAMESPACE, partial(_note, seen)):
        await asyncio.to_thread(cluster.load, [python])
        rounds: dict[str, list[StartRound]] = {IMAGE: []}
        unsupported: dict[str, str] = {}
        rounds[IMAGE] = await _rounds(on, seen, count, images.WORKER.name, "Image")
        for way in (Injection.IMAGE_VOLUME, Injection.INIT_CONTAINER):
            if way is Injection.IMAGE_VOLUME and (reason := await _missing(on)):
                unsupported[way] = reason
                continue
            with _injection(on.kubectl, way):
                rounds[way] = await _rounds(on, seen, count, python, "Inject")
    return rounds, unsupported


def _note(seen: Created, kind: str, body: Object, now: float) -> None:
    if kind == "ADDED":
        seen[body["metadata"]["name"]] = now


async def _missing(on: BenchCluster) -> str:
    """Why the nodes have no image volumes; empty if they have. The API server's part shows when a pod is created."""
    nodes = (await on.api.list(NODES, None)).items
    server = str((await on.api.read("/version"))["gitVersion"])
    evidence = Evidence(accepted=True, server=server, nodes=[parse_node(body) for body in nodes])
    decision = decide(Injection.AUTO, evidence)
    return "" if decision.image_volumes else decision.reason


async def _rounds(on: BenchCluster, seen: Created, count: int, image: str, runtime: str) -> list[StartRound]:
    await _task(on, seen, image, runtime)  # the first reads the files of the image from the disk
    return [
        StartRound(
            task=await _task(on, seen, image, runtime),
            bare=await _bare(on, seen, image, token=False),
            token=await _bare(on, seen, image, token=True),
        )
        for _ in range(count)
    ]


async def _task(on: BenchCluster, seen: Created, image: str, runtime: str) -> float:
    spec = {"image": image, "runtime": runtime, "logs": "none", "tasks": [{"name": "it", "python": "time:time"}]}
    await asyncio.sleep(random.random())
    workflow = await on.run(spec)
    listed = await on.api.list(
        TASKRUNS, NAMESPACE, label_selector=f"{constants.LABEL_WORKFLOW}={workflow.metadata.name}"
    )
    (run,) = [taskrun.parse(body) for body in listed.items]
    began = seen[run.status.pod.name if run.status.pod else ""]
    await on.remove(workflow)
    return float(json.loads(run.status.result or "")) - began


async def _bare(on: BenchCluster, seen: Created, image: str, *, token: bool) -> float:
    await asyncio.sleep(random.random())
    name = await on.start_bare_pod(image, *_PRINT, token=token)
    await on.pod_succeeded(name)
    log = await on.api.read(PODS.path(NAMESPACE, name, "log"))
    await on.api.delete(PODS, NAMESPACE, name)
    return float(log) - seen[name]


@contextmanager
def _injection(kubectl: Kubectl, way: Injection) -> Iterator[None]:
    """Let the operator inject in this way, and then in the way it finds out."""
    _set_arguments(kubectl, [f"--runtime-injection={way}"])
    try:
        yield
    finally:
        _set_arguments(kubectl, None)


def _set_arguments(kubectl: Kubectl, arguments: list[str] | None) -> None:
    container = {"name": "operator", "args": arguments}
    patch = json.dumps({"spec": {"template": {"spec": {"containers": [container]}}}})
    kubectl.run("-n", SYSTEM, "patch", _OPERATOR, "--patch", patch)
    roll_out(kubectl, _OPERATOR)


if __name__ == "__main__":
    main()

"""`python -m benchmarks.files`: files between pods: speed, memory of the helper, CPU of the archive, and API writes.

The cluster is that of the demo, so the archive is as it was installed: with SQLite, and without an object store. One
task writes a file, the next reads it. The speeds are those that the helper reports in the logs of the pods.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

from torpor_crds.models.workflow import Workflow
from torpor_demo import images
from torpor_demo.install import SYSTEM
from torpor_kubernetes.client.resources import NODES, PODS
from torpor_wire import constants

from benchmarks.harness import program
from benchmarks.harness.api_writes import WriteKind, read_writes
from benchmarks.harness.cgroups import CgroupMeter, entered
from benchmarks.harness.cluster import BenchCluster, bench_cluster
from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.figures import Figure

_REPORT = re.compile(
    r"torpor-tool: (?P<verb>stored|fetched) \S+: (?P<size>\d+) bytes in (?P<seconds>[\d.]+) s, (?P<memory>\d+) kB of"
)
_LEFT_OUT = frozenset({"events", "leases", "workflows/status"})
_OURS = frozenset({"taskruns", "taskruns/status", "workflows", "pods"})
_SETTLE = 5.0
_OUT = {"out": [{"name": "data"}]}
_IN = {"in": [{"name": "data", "from": {"task": "make", "file": "data"}}]}
_POD = {"securityContext": {"runAsUser": 65532}}
_CONTENT = "yes 0123456789abcdef | head -c {size} > /files/out/data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """What the helper of one pod reported."""

    size: int
    seconds: float
    memory: int

    @property
    def speed(self) -> float:
        """Megabytes per second."""
        return self.size / 1e6 / max(self.seconds, 1e-3)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesTaken:
    """One transfer in each direction, the CPU seconds meanwhile, and the writes of tasks without and with files."""

    stored: Transfer
    fetched: Transfer
    cpu: Mapping[str, float]
    plain: Counter[WriteKind]
    with_files: Counter[WriteKind]
    tasks: int


def main() -> None:
    """Measure, print and write."""
    parser = program.parser(__doc__)
    parser.add_argument("--size", type=int, default=1_000_000_000, help="bytes of the file")
    parser.add_argument("--tasks", type=int, default=10, help="tasks whose API writes are counted")
    given = parser.parse_args()
    taken = asyncio.run(_measure(given.size, given.tasks))
    program.report(given, "files", figures(taken), size=given.size, tasks=given.tasks)


def figures(taken: FilesTaken) -> list[Figure]:
    """Speeds, memory, CPU and writes."""
    stored, fetched, per = taken.stored, taken.fetched, 1e9 / taken.stored.size
    plain, more = taken.plain.total() / taken.tasks, taken.with_files.total() / taken.tasks
    return [
        Figure(name="store", what="a file from a pod to the archive", value=stored.speed, unit="MB/s"),
        Figure(name="fetch", what="the same back into a pod", value=fetched.speed, unit="MB/s"),
        Figure(name="store_memory", what="memory of the wrapper", value=stored.memory / 1e3, unit="MB", goal="< 32"),
        Figure(
            name="fetch_memory", what="memory of the init container", value=fetched.memory / 1e3, unit="MB", goal="< 32"
        ),
        Figure(
            name="archive_cpu", what="CPU of the archive, 1 GB both ways", value=taken.cpu["archive"] * per, unit="s"
        ),
        Figure(name="operator_cpu", what="CPU of the operator meanwhile", value=taken.cpu["operator"] * per, unit="s"),
        Figure(name="writes", what="API writes of a container task without files", value=plain, unit="writes"),
        Figure(
            name="writes_files", what="the same with an input and an output", value=more, unit="writes", goal="<= +1"
        ),
    ]


def parse_report(log: str) -> Transfer:
    """The report of a helper in the log of a pod. Raises SystemExit without one."""
    match = _REPORT.search(log)
    if match is None:
        raise SystemExit(f"the helper reports no transfer: {log[-500:]}")
    return Transfer(size=int(match["size"]), seconds=float(match["seconds"]), memory=int(match["memory"]))


async def _measure(size: int, tasks: int) -> FilesTaken:
    async with bench_cluster(list(images.ALL)) as on, AsyncExitStack() as stack:
        nodes = [node["metadata"]["name"] for node in (await on.api.list(NODES)).items]
        meter = CgroupMeter([await stack.enter_async_context(entered(name)) for name in nodes])
        before = await _cpu(on, meter)
        stored, fetched = await _transfer(on, size)
        after = await _cpu(on, meter)
        plain = await _writes(on, _mapped(tasks))
        with_files = await _writes(on, _chained(tasks)) - await _writes(
            on, [_task("make", _OUT, "echo > /files/out/data")]
        )
    cpu = {name: after[name] - before[name] for name in after}
    return FilesTaken(stored=stored, fetched=fetched, cpu=cpu, plain=plain, with_files=with_files, tasks=tasks)


async def _transfer(on: BenchCluster, size: int) -> tuple[Transfer, Transfer]:
    tasks = [_task("make", _OUT, _CONTENT.format(size=size)), _task("read", _IN, "true")]
    run = await on.run({"image": images.CENSUS.name, "tasks": tasks})
    logs = {
        name: await _log(on, run, name, container) for name, container in (("make", "main"), ("read", "torpor-files"))
    }
    await on.remove(run)
    return parse_report(logs["make"]), parse_report(logs["read"])


async def _log(on: BenchCluster, run: Workflow, task: str, container: str) -> str:
    selector = f"{constants.LABEL_WORKFLOW}={run.metadata.name},{constants.LABEL_TASK}={task}"
    (pod,) = (await on.api.list(PODS, NAMESPACE, label_selector=selector)).items
    name = pod["metadata"]["name"]
    return await asyncio.to_thread(on.kubectl.run, "logs", "-n", NAMESPACE, name, "-c", container)


async def _cpu(on: BenchCluster, meter: CgroupMeter) -> dict[str, float]:
    """Seconds of processor time of the archive and of the operator."""
    await meter.look()
    pods = (await on.api.list(PODS, SYSTEM)).items
    return {
        name: meter.cpu(
            pod["metadata"]["uid"] for pod in pods if pod["metadata"]["name"].startswith(f"torpor-{deployment}-")
        )
        for name, deployment in (("archive", "archive"), ("operator", "operator"))
    }


def _task(name: str, files: dict[str, Any], script: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "container": {"command": ["sh", "-c", script]}, "files": files, "pod": _POD, **fields}


def _mapped(tasks: int) -> list[dict[str, Any]]:
    """Tasks without files."""
    plain = {"name": "it", "container": {"command": ["true"]}, "pod": _POD}
    return [plain | {"expand": [{"name": "n", "over": list(range(tasks))}]}]


def _chained(tasks: int) -> list[dict[str, Any]]:
    """Tasks with an input and an output, and the task that they read."""
    over = [{"name": "n", "over": list(range(tasks))}]
    copies = _task("it", _IN | _OUT, "cp /files/in/data /files/out/data", expand=over)
    return [_task("make", _OUT, "echo > /files/out/data"), copies]


async def _writes(on: BenchCluster, tasks: list[dict[str, Any]]) -> Counter[WriteKind]:
    """Torpor's own writes for a run of these tasks."""
    await asyncio.sleep(_SETTLE)
    before = await read_writes(on.api, _LEFT_OUT)
    run = await on.run({"image": images.CENSUS.name, "tasks": tasks})
    await asyncio.sleep(_SETTLE)
    counted = await read_writes(on.api, _LEFT_OUT) - before
    await on.remove(run)
    return Counter({kind: count for kind, count in counted.items() if kind.resource in _OURS})


if __name__ == "__main__":
    main()

"""`python -m benchmarks.scale.sizing`: computes the tables of docs/operations/sizing.md from the figures.

`Costs.read` takes what was measured, on one API server with two cores. All else is arithmetic, with the assumptions of
`SizedCluster` and the constants here. Prints the tables. A test compares them with the page.
"""

import json
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from torpor_demo.cluster import ROOT

from benchmarks.harness.figures import markdown

FIGURES = ROOT / "docs/design/figures"
HOUR = 3600
WATCH_CACHE_SHARE = 0.038
"""Part of the API server's CPU per task that each further API server needs for its watch cache (cost-of-a-task.md)."""
PUTS_PER_TASK, LOG_KB_PER_TASK = 8.01, 28.1
"""Writes to etcd, and its log (cost-of-a-task.md)."""
FINISHED_KB = 2.6 + 4.6
"""A finished TaskRun and its pod in etcd (cost-of-a-task.md)."""
OPERATOR_CORES = 0.7
"""Part of one core that the operator's event loop may use before other Workflows notice."""
QUOTA_MB, QUOTA_SHARE = 8 * 1024**3 / 1e6, 0.5
"""etcd's largest suggested quota, and the part for Torpor: former versions need room until they are compacted."""
REPLICA_WAITS = 20_000
TRIGGERER_BASE, TRIGGERER_WAIT = 75.0, 6.0
"""MiB, and KiB a wait: the rule of thumb of the page for any class of trigger."""
OPERATOR_FINISHED_KIB = 9.39 / 1.024
"""Of a finished TaskRun with its pod: the fan-out of 10,000 in workflow.json."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuEach:
    """Milliseconds of CPU of one task, run or wait."""

    api_server: float
    etcd: float
    operator: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What was measured. Memory is MiB, and KiB for each waiting TaskRun."""

    task: CpuEach
    run: CpuEach
    wait: CpuEach
    wait_kb: float
    operator_base: float
    operator_wait: float
    server_base: float
    server_wait: float
    fires: float

    @classmethod
    def read(cls, folder: Path = FIGURES) -> "Costs":
        """From the files of the figures."""
        scale, triggerer = (_figures(folder / f"{name}.json") for name in ("scale", "triggerer"))
        sizes = json.loads((folder / "scale.json").read_text())["sizes"]
        waits = sizes["waits"] // sizes["workflows"] * sizes["workflows"] + sizes["instances"]
        rows = json.loads((folder / "workflow.json").read_text())["rows"]
        (many,) = [row for row in rows if row["name"] == "200 workflows"]
        cpu = {name: 1000 * value / many["tasks"] for name, value in many["cpu"].items()}
        return cls(
            task=_each(scale, "beside"),
            run=CpuEach(api_server=cpu["kube-apiserver"], etcd=cpu["etcd"], operator=cpu["operator"]),
            wait=_each(scale, "wait"),
            wait_kb=scale["etcd_taskrun"],
            operator_base=scale["empty_leader"],
            operator_wait=(scale["pss_leader"] - scale["empty_leader"]) * 1024 / waits,
            server_base=scale["empty_kube-apiserver"],
            server_wait=(scale["pss_kube-apiserver"] - scale["empty_kube-apiserver"]) * 1024 / waits,
            fires=triggerer["burst_rate_5000"],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SizedCluster:
    """`cores` are those of all API servers and etcd members together, of which Torpor may use `share`.

    CpuEach API server has an etcd member, and each fills its own watch cache.
    """

    name: str
    servers: int
    cores: int
    share: float = 0.5

    def control_plane(self, each: CpuEach) -> float:
        """Milliseconds of CPU of all API servers and etcd members."""
        return each.api_server * (1 + WATCH_CACHE_SHARE * (self.servers - 1)) + each.etcd * self.servers

    def rate(self, each: CpuEach) -> float:
        """How many a second the API servers allow."""
        return 1000 * self.cores * self.share / self.control_plane(each)


@dataclass(frozen=True, slots=True, kw_only=True)
class HourlyLoad:
    """Python tasks with pods an hour, waits that fire an hour, waits at one time, and hours that runs are kept."""

    tasks: int
    fires: int
    waits: int
    kept: float = 1.0


CLUSTERS = (
    SizedCluster(name="1 API server, 2 cores", servers=1, cores=2),
    SizedCluster(name="3 API servers, 16 cores", servers=3, cores=16),
)
LOADS = (
    HourlyLoad(tasks=10_000, fires=1_000, waits=1_000),
    HourlyLoad(tasks=50_000, fires=10_000, waits=20_000),
    HourlyLoad(tasks=100_000, fires=50_000, waits=50_000),
    HourlyLoad(tasks=200_000, fires=50_000, waits=100_000),
)


def operator_rate(each: CpuEach) -> float:
    """How many a second one operator plans and writes."""
    return 1000 * OPERATOR_CORES / each.operator


def capacity(costs: Costs, clusters: Sequence[SizedCluster] = CLUSTERS) -> str:
    """What each cluster carries, if it does nothing else."""
    kinds = {
        "Python tasks with a pod, in large fan-outs": costs.task,
        "Workflows of one task with a pod": costs.run,
        "waits without a pod, from creation to success": costs.wait,
    }
    rows = [(f"{what}, per hour", *(_limited(cluster, each) for cluster in clusters)) for what, each in kinds.items()]
    rates = [_rate(cluster, costs.task) for cluster in clusters]
    room = QUOTA_MB * QUOTA_SHARE * 1000
    rows += [
        ("writes to etcd per second at that rate of tasks", *(_about(PUTS_PER_TASK * rate) for rate in rates)),
        ("log of etcd at that rate, MB per second", *(f"{LOG_KB_PER_TASK * rate / 1000:.1f}" for rate in rates)),
        ("waiting TaskRuns in half of an etcd quota of 8 GiB", *(_about(room / costs.wait_kb) for _ in clusters)),
        ("finished TaskRuns with pods in the same", *(_about(room / FINISHED_KB) for _ in clusters)),
    ]
    return markdown(("", *(cluster.name for cluster in clusters)), rows, numbers=True)


def requirements(costs: Costs, cluster: SizedCluster = CLUSTERS[-1], loads: Sequence[HourlyLoad] = LOADS) -> str:
    """What each load needs."""
    head = ("", *(f"{load.tasks:,} tasks per hour, {load.waits:,} waits" for load in loads))
    rows = [
        ("waits that fire per hour", *(f"{load.fires:,}" for load in loads)),
        ("TaskRuns at one time", *(f"{taskruns(load):,.0f}" for load in loads)),
        ("CPU of API servers and etcd, cores", *(f"{cores(costs, cluster, load):.1f}" for load in loads)),
        ("CPU of the leading operator, cores", *(f"{operator_cores(costs, load):.2f}" for load in loads)),
        ("memory of each operator", *(_mib(operator_memory(costs, load)) for load in loads)),
        ("memory of each API server for TaskRuns", *(_mib(server_memory(costs, load)) for load in loads)),
        ("TaskRuns and pods in etcd", *(f"{etcd_mb(costs, load):,.0f} MB" for load in loads)),
        ("triggerer replicas", *(str(replicas(costs, load)) for load in loads)),
        ("memory of each triggerer", *(_mib(triggerer_memory(costs, load)) for load in loads)),
    ]
    return markdown(head, rows, numbers=True)


def cores(costs: Costs, cluster: SizedCluster, load: HourlyLoad) -> float:
    """Of all API servers and etcd members."""
    tasks = load.tasks * cluster.control_plane(costs.task)
    return (tasks + load.fires * cluster.control_plane(costs.wait)) / 1000 / HOUR


def operator_cores(costs: Costs, load: HourlyLoad) -> float:
    """Of the leader."""
    return (load.tasks * costs.task.operator + load.fires * costs.wait.operator) / 1000 / HOUR


def operator_memory(costs: Costs, load: HourlyLoad) -> float:
    """MiB of each replica: the standby has the same caches."""
    finished = (load.tasks + load.fires) * load.kept * OPERATOR_FINISHED_KIB
    return costs.operator_base + (load.waits * costs.operator_wait + finished) / 1024


def server_memory(costs: Costs, load: HourlyLoad) -> float:
    """MiB above an empty API server, without pods: each TaskRun counts as one that waits."""
    return taskruns(load) * costs.server_wait / 1024


def taskruns(load: HourlyLoad) -> float:
    """Those that wait, and those that have ended and are kept."""
    return load.waits + (load.tasks + load.fires) * load.kept


def etcd_mb(costs: Costs, load: HourlyLoad) -> float:
    """MB of objects, without former versions."""
    return (load.waits * costs.wait_kb + (load.tasks + load.fires) * load.kept * FINISHED_KB) / 1000


def replicas(costs: Costs, load: HourlyLoad) -> int:
    """So many that one can be lost, and that half of the measured rate of fires is enough."""
    by_waits = math.ceil(load.waits / REPLICA_WAITS)
    by_fires = math.ceil(load.fires / HOUR / (costs.fires / 2))
    return max(by_waits, by_fires) + 1


def triggerer_memory(costs: Costs, load: HourlyLoad) -> float:
    """MiB of each replica after the loss of one; no replica has more than its capacity."""
    return TRIGGERER_BASE + load.waits / (replicas(costs, load) - 1) * TRIGGERER_WAIT / 1024


def _rate(cluster: SizedCluster, each: CpuEach) -> float:
    return min(cluster.rate(each), operator_rate(each))


def _limited(cluster: SizedCluster, each: CpuEach) -> str:
    limit = "API server" if cluster.rate(each) < operator_rate(each) else "operator"
    return f"{_about(HOUR * _rate(cluster, each))} ({limit})"


def _figures(path: Path) -> dict[str, float]:
    return {figure["name"]: float(figure["value"]) for figure in json.loads(path.read_text())["figures"]}


def _each(figures: Mapping[str, float], name: str) -> CpuEach:
    return CpuEach(
        api_server=figures[f"{name}_api_server"], etcd=figures[f"{name}_etcd"], operator=figures[f"{name}_operator"]
    )


def _about(value: float) -> str:
    """Two digits, since that is what the figures are good for."""
    digits = 1 - math.floor(math.log10(value))
    return f"{round(value, digits):,.0f}"


def _mib(value: float) -> str:
    return f"{math.ceil(value / 10) * 10:,} MiB"


def main() -> int:
    """Print the tables."""
    costs = Costs.read()
    sys.stdout.write(f"{capacity(costs)}\n{requirements(costs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

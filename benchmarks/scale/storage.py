"""Bytes in etcd: of the objects as they are stored, and of the database."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from benchmarks.harness.figures import Figure
from benchmarks.scale import copies
from benchmarks.scale.system import ScaleSystem
from benchmarks.scale.workload import LARGE, PYTHON, TRIGGERS

_LIMIT = 300.0
_KINDS = {
    TRIGGERS: "a waiting TaskRun, a trigger without a pod",
    PYTHON: "a waiting TaskRun, a python task that deferred",
    LARGE: "a waiting TaskRun of the large Workflow",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseSize:
    """Bytes of the file, and of the part that is in use."""

    file: int
    used: int


async def database(on: ScaleSystem) -> DatabaseSize:
    """As it is."""
    sizes = await _maintain(on, "maintenance/status", {})
    return DatabaseSize(file=int(sizes["dbSize"]), used=int(sizes["dbSizeInUse"]))


async def compacted(on: ScaleSystem) -> DatabaseSize:
    """After former versions are removed and the file is rewritten, as the API server and an administrator do."""
    revision = (await _maintain(on, "maintenance/status", {}))["header"]["revision"]
    await _maintain(on, "kv/compaction", {"revision": revision, "physical": True})
    await _maintain(on, "maintenance/defragment", {})
    return await database(on)


async def stored(on: ScaleSystem, empty: DatabaseSize) -> list[Figure]:
    """What the objects take. `empty`: the database before any of the waits."""
    grown = await database(on)
    runs = [item for name in on.namespaces for item in (await _sizes(on, "taskruns", name)).items()]
    workflows = [size for name in on.namespaces for size in (await _sizes(on, "workflows", name)).values()]
    least = await compacted(on)
    each = (least.used - empty.used) / len(runs)
    aside = f"{grown.file / 1e6:.0f} MB before, of which {grown.used / 1e6:.0f} MB were in use"
    return [
        *_by_kind(runs),
        Figure(name="etcd_workflow", what="a Workflow, mean", value=statistics.mean(workflows) / 1000, unit="kB"),
        Figure(
            name="etcd_database",
            what=f"the database with {len(runs):,} TaskRuns, without former versions",
            value=least.file / 1e6,
            unit="MB",
            aside=aside,
        ),
        Figure(name="etcd_taskrun", what="the database for each TaskRun", value=each / 1000, unit="kB"),
    ]


def _by_kind(runs: Sequence[tuple[str, int]]) -> list[Figure]:
    figures = []
    for kind, what in _KINDS.items():
        sizes = [size for name, size in runs if name.startswith(kind)]
        if sizes:
            figures.append(
                Figure(name=f"etcd_{kind}", what=f"etcd: {what}", value=statistics.mean(sizes) / 1000, unit="kB")
            )
    return figures


async def _sizes(on: ScaleSystem, plural: str, namespace: str) -> dict[str, int]:
    """By the names of the objects: the bytes of the value."""
    prefix = copies.folder(plural, namespace)
    return {key.removeprefix(prefix): size for key, (size, _) in (await on.plane.etcd.sizes(prefix)).items()}


async def _maintain(on: ScaleSystem, verb: str, body: Mapping[str, Any]) -> dict[str, Any]:
    timeout = aiohttp.ClientTimeout(total=_LIMIT)
    async with (
        aiohttp.ClientSession(timeout=timeout) as session,
        session.post(f"{on.plane.etcd.url}/v3/{verb}", json=body) as response,
    ):
        response.raise_for_status()
        response_body: dict[str, Any] = await response.json()
        return response_body

"""`python -m benchmarks.archive`: what the archive costs each run: uploads, status writes and bytes.

The shipped operator and archive run as processes against a real API server; nodes, pods and workers are simulated.
Small runs are counted without an archive, then with one.
"""

import asyncio
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from torpor_demo.install import SYSTEM
from torpor_kubernetes.client.archive import find_endpoint
from torpor_kubernetes.client.resources import WORKFLOWS

from benchmarks.harness import processes, program
from benchmarks.harness.api_writes import WriteKind, read_writes, series
from benchmarks.harness.control_plane import NAMESPACE, ControlPlane, open_plane
from benchmarks.harness.figures import Figure
from benchmarks.harness.processes import OPERATOR, start_operator
from benchmarks.harness.runs import WatchedRuns, step, watch_runs
from benchmarks.harness.waiting import until
from tests.support.ports import free_port

_LIMIT = 300.0
_LOOK = 0.5
_DISCOVERY = 12.0
"""Longer than the operator takes to find the archive."""
_SETTLE = 5.0
_STATUS = WriteKind("PATCH", "workflows/status")
_LEFT_OUT = frozenset({"events", "leases"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveWrites:
    """Writes of the API server by kind, without and with an archive; uploads and their bytes."""

    runs: int
    without: Counter[WriteKind]
    archived: Counter[WriteKind]
    uploads: float
    size: float


def main() -> None:
    """Measure, print and write."""
    parser = program.parser(__doc__)
    parser.add_argument("--runs", type=int, default=50)
    given = parser.parse_args()
    program.report(given, "archive", figures(asyncio.run(_measure(given.runs))), runs=given.runs)


def figures(taken: ArchiveWrites) -> list[Figure]:
    """Per run."""
    plain, archived, count = taken.without, taken.archived, taken.runs
    status, writes = f"status writes of a Workflow, {count} runs of one task", "all writes to the API server"
    return [
        Figure(name="status", what=f"{status}, without an archive", value=plain[_STATUS] / count, unit="writes"),
        Figure(name="status_archived", what="the same with one", value=archived[_STATUS] / count, unit="writes"),
        Figure(name="writes", what=f"{writes}, without an archive", value=plain.total() / count, unit="writes"),
        Figure(name="writes_archived", what="the same with one", value=archived.total() / count, unit="writes"),
        Figure(name="uploads", what="uploads", value=taken.uploads / count, unit="uploads"),
        Figure(name="upload_kb", what="an upload", value=taken.size / max(taken.uploads, 1) / 1000, unit="kB"),
    ]


async def _measure(count: int) -> ArchiveWrites:
    async with open_plane() as plane:
        token = ("--token-file", str(plane.account(OPERATOR) / "archive-token"))
        async with start_operator(plane, *token), watch_runs(plane.api) as runs:
            without = await _counted(plane, runs, "plain", count)
            for number in range(count):
                await plane.api.delete(WORKFLOWS, NAMESPACE, f"plain-{number}")
            async with _archive(plane) as metrics_url:
                before = await asyncio.to_thread(_archive_metrics, metrics_url)
                archived = await _counted(plane, runs, "archived", count, condition="Archived")
                after = await asyncio.to_thread(_archive_metrics, metrics_url)
    uploads, size = after["put"] - before["put"], after["bytes"] - before["bytes"]
    return ArchiveWrites(runs=count, without=without, archived=archived, uploads=uploads, size=size)


async def _counted(
    plane: ControlPlane, runs: WatchedRuns, name: str, count: int, condition: str = "Succeeded"
) -> Counter[WriteKind]:
    """The writes of some runs of one task until each has the condition."""
    before = await _writes(plane)
    names = {f"{name}-{number}" for number in range(count)}
    for each in sorted(names):
        await runs.start(each, [step("only")])
    await runs.end(*names)

    async def complete() -> bool:
        return not await _lacking(plane, names, condition)

    await until(complete, _LIMIT, every=_LOOK)
    await asyncio.sleep(_SETTLE)
    return await _writes(plane) - before


async def _writes(plane: ControlPlane) -> Counter[WriteKind]:
    return await read_writes(plane.api, _LEFT_OUT)


async def _lacking(plane: ControlPlane, names: set[str], condition: str) -> bool:
    workflows = {body["metadata"]["name"]: body for body in (await plane.api.list(WORKFLOWS, NAMESPACE)).items}
    conditions = (workflows[name].get("status", {}).get("conditions", []) for name in names)
    return any((condition, "True") not in {(entry["type"], entry["status"]) for entry in each} for each in conditions)


@asynccontextmanager
async def _archive(plane: ControlPlane) -> AsyncIterator[str]:
    """An archive with SQLite that the operator has found. Gives the URL of its metrics."""
    health_port = free_port()

    async def is_found() -> bool:
        return await find_endpoint(plane.api, SYSTEM) is not None

    async with processes.running(processes.archive(plane, free_port(), health_port)):
        await until(is_found, _LIMIT, every=_LOOK)
        await asyncio.sleep(_DISCOVERY)
        yield f"http://127.0.0.1:{health_port}/metrics"


def _archive_metrics(url: str) -> dict[str, float]:
    with urllib.request.urlopen(url) as answer:
        metrics = answer.read().decode()
    requests = series(metrics, "torpor_archive_requests_total")
    sizes = series(metrics, "torpor_archive_body_bytes_total")
    return {
        "put": sum(value for labels, value in requests if labels == {"reason": "OK", "route": "put_run"}),
        "bytes": sum(value for labels, value in sizes if labels == {"direction": "in"}),
    }


if __name__ == "__main__":
    main()

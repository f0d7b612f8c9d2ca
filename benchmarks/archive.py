"""`python -m benchmarks.archive`: what the archive costs each run: uploads, status writes and bytes.

The shipped operator and archive run as processes against a real API server; nodes, pods and workers are simulated.
Small runs are counted without an archive, then with one.
"""

import argparse
import asyncio
import json
import os
import re
import sys
import urllib.request
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from torpor_demo.cluster import ROOT
from torpor_demo.install import SYSTEM
from torpor_demo.kubectl import Kubectl
from torpor_dev import kubectl
from torpor_kubernetes.client.archive import find_endpoint
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire import constants

from benchmarks.workflow import plane, processes, runs
from benchmarks.workflow.plane import NAMESPACE, Plane
from benchmarks.workflow.runs import Runs, step
from benchmarks.writes import Kind, parse

_PORT, _HEALTH_PORT = 18443, 18081
_LIMIT = 300.0
_LOOK = 0.5
_DISCOVERY = 12.0
"""Longer than the operator takes to find the archive."""
_SETTLE = 5.0
_STATUS = Kind("PATCH", "workflows/status")
_LEFT_OUT = frozenset({"events", "leases"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Writes of the API server by kind, without and with an archive; uploads and their bytes."""

    runs: int
    without: Counter[Kind]
    archived: Counter[Kind]
    uploads: float
    size: float


def main() -> None:
    """Measure and print a table, then JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    sys.stdout.write(text(asyncio.run(_measure(parser.parse_args().runs))))


def text(found: Figures) -> str:
    """Format the figures as a table, and on the last line as JSON."""
    count = found.runs
    rows = {
        "status writes of the Workflow, without an archive": found.without[_STATUS] / count,
        "status writes of the Workflow, with an archive": found.archived[_STATUS] / count,
        "all writes to the API server, without an archive": found.without.total() / count,
        "all writes to the API server, with an archive": found.archived.total() / count,
        "uploads": found.uploads / count,
        "kB of an upload": found.size / max(found.uploads, 1) / 1000,
    }
    lines = [f"Per run, over {count} runs of one task", *(f"  {name:<52}{value:>8.2f}" for name, value in rows.items())]
    lines.append(json.dumps({"bench": "archive", "runs": count, **{name: round(rows[name], 3) for name in rows}}))
    return "\n".join(lines) + "\n"


def _admin(at: Plane) -> Kubectl:
    return Kubectl(at.state / "kubeconfig", kubectl.ensure())


async def _measure(count: int) -> Figures:
    async with plane.plane() as at:
        token = at.state / "operator.token"
        token.touch(mode=0o600)
        words = ("-n", SYSTEM, f"--audience={constants.ARCHIVE_AUDIENCE}", "--duration=24h")
        token.write_text(_admin(at).run("create", "token", "torpor-operator", *words).strip())
        async with processes.start(at, "--token-file", str(token)), runs.runs(at) as asked:
            without = await _counted(at, asked, "plain", count)
            for number in range(count):
                await at.api.delete(WORKFLOWS, NAMESPACE, f"plain-{number}")
            async with _archive(at):
                before = _archive_metrics()
                archived = await _counted(at, asked, "archived", count, condition="Archived")
                after = _archive_metrics()
    uploads, size = after["put"] - before["put"], after["bytes"] - before["bytes"]
    return Figures(runs=count, without=without, archived=archived, uploads=uploads, size=size)


async def _counted(at: Plane, asked: Runs, name: str, count: int, condition: str = "Succeeded") -> Counter[Kind]:
    """The writes of some runs of one task until each has the condition."""
    before = await _writes(at)
    names = {f"{name}-{number}" for number in range(count)}
    for each in sorted(names):
        await asked.start(each, [step("only")])
    await asked.end(*names)
    async with asyncio.timeout(_LIMIT):
        while await _lacking(at, names, condition):  # noqa: ASYNC110 - a condition sends no notification
            await asyncio.sleep(_LOOK)
    await asyncio.sleep(_SETTLE)
    return await _writes(at) - before


async def _writes(at: Plane) -> Counter[Kind]:
    return parse(await at.api.read("/metrics"), _LEFT_OUT)


async def _lacking(at: Plane, names: set[str], condition: str) -> bool:
    found = {one["metadata"]["name"]: one for one in (await at.api.list(WORKFLOWS, NAMESPACE)).items}
    conditions = (found[name].get("status", {}).get("conditions", []) for name in names)
    return any((condition, "True") not in {(one["type"], one["status"]) for one in each} for each in conditions)


@asynccontextmanager
async def _archive(at: Plane) -> AsyncIterator[None]:
    """An archive with SQLite that the operator has found."""
    config = plane.kubeconfig(_admin(at), at.state / "archive.kubeconfig", constants.ARCHIVE_CONFIG)
    flags = ("--namespace", SYSTEM, "--url", f"https://127.0.0.1:{_PORT}", "--kubeconfig", str(config))
    ports = ("--port", str(_PORT), "--health-port", str(_HEALTH_PORT))
    environ = os.environ | {"DATABASE_URL": f"sqlite:///{at.state}/archive.db"}
    with (at.state / "archive.log").open("w") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "torpor_archive", *flags, *ports, stdout=log, stderr=log, env=environ, cwd=ROOT
        )
    try:
        async with asyncio.timeout(_LIMIT):
            while await find_endpoint(at.api, SYSTEM) is None:  # noqa: ASYNC110 - nor does a ConfigMap
                await asyncio.sleep(_LOOK)
        await asyncio.sleep(_DISCOVERY)
        yield
    finally:
        process.kill()
        await process.wait()


def _archive_metrics() -> dict[str, float]:
    with urllib.request.urlopen(f"http://127.0.0.1:{_HEALTH_PORT}/metrics") as answer:
        metrics = answer.read().decode()
    names = {
        "put": r'torpor_archive_requests_total{reason="OK",route="put_run"}',
        "bytes": r'torpor_archive_body_bytes_total{direction="in"}',
    }
    found = {name: re.search(f"^{re.escape(series)} (.*)$", metrics, re.MULTILINE) for name, series in names.items()}
    return {name: float(match[1]) if match else 0.0 for name, match in found.items()}


if __name__ == "__main__":
    main()

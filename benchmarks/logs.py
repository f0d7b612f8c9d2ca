"""How many logs the archive keeps in a second, and its memory, while 1,000 pods end within a minute.

`make bench-logs`: a control plane of its own, the archive as a process with SQLite, and a kubelet that serves logs on
loopback. Pods are objects that end at a steady rate; a log is kept when its entry says so.
"""

import argparse
import asyncio
import os
import random
import sqlite3
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.client.resources import NODES, PODS, Resource
from torpor_kubernetes.timing import SystemClock
from torpor_wire import constants

from benchmarks.harness import control_plane, program, usage
from benchmarks.harness.figures import Figure
from benchmarks.harness.processes import ChildProcess, running
from tests.support.kubelet import log_server
from tests.support.kubelet.log_server import KubeletLogs, PodLog
from tests.support.ports import free_port

NAMESPACES = Resource(group="", version="v1", plural="namespaces", kind="Namespace", namespaced=False)
NAMESPACE = "bench-logs"
WORDS = (
    *("reading", "writing", "opened", "closed", "rows", "batch", "customer"),
    *("order", "error", "warning", "retry", "commit", "page", "token"),
)
_PATCH = "application/json-patch+json"


def main() -> None:
    """Measure, print and write."""
    parser = program.parser(__doc__)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--bytes", type=int, default=100_000)
    given = parser.parse_args()
    with control_plane.started() as state, log_server.started() as kubelet:
        folder = state / "archive"
        folder.mkdir()
        figures = asyncio.run(measure(given, folder, state / "kubeconfig", kubelet))
    program.report(given, "logs", figures, pods=given.pods, bytes=given.bytes)


async def measure(given: argparse.Namespace, folder: Path, kubeconfig: Path, kubelet: KubeletLogs) -> list[Figure]:
    """End the pods, wait for their logs, and return the figures."""
    async with connect(str(kubeconfig), program="bench-logs") as transport:
        api = Api(transport, SystemClock())
        await _prepare(api, kubelet)
        text = _text(given.bytes)
        names = [f"run-load-{number}-abcde-a1-s0" for number in range(given.pods)]
        await _in_parallel([_create(api, name) for name in names])
        for name in names:
            kubelet.logs[name] = PodLog(text=text)
        archive = _archive(folder, kubeconfig)
        async with running(archive):
            await _wait(folder, 0)
            await asyncio.sleep(5)
            idle = usage.read_usage(archive.pid).rss
            started = time.monotonic()
            async with usage.peaks({"archive": archive.pid}) as peaks:
                await _end_all(api, names, given.seconds)
                ended = time.monotonic()
                kept_at = await _wait(folder, given.pods)
            rows = {
                "ended_s": ("pods ended within", ended - started, "s"),
                "last_kept_s": ("last log kept after the last end", kept_at - ended, "s"),
                "rate": ("logs kept a second", given.pods / (kept_at - started), "/s"),
                "idle_mib": ("archive, idle (RSS)", idle / 1024, "MiB"),
                "peak_mib": ("archive, at its peak (RSS)", peaks.mib()["archive"], "MiB"),
                "cpu_s": ("CPU of the archive for a log", usage.cpu(archive.pid) / given.pods, "s"),
                "database_bytes": ("database for a log", _database_bytes(folder) / given.pods, "bytes"),
            }
            return [Figure(name=name, what=what, value=value, unit=unit) for name, (what, value, unit) in rows.items()]


async def _prepare(api: Api, kubelet: KubeletLogs) -> None:
    for name in (NAMESPACE, "torpor-system"):
        await api.create(NAMESPACES, None, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
    node, status = kubelet.node("bench")
    await api.create(NODES, None, node)
    ops = [{"op": "add", "path": "/status", "value": status}]
    await api.transport.request("PATCH", NODES.path(None, "bench", "status"), body=ops, content_type=_PATCH)
    for path, kind in (("secrets", "Secret"), ("configmaps", "ConfigMap")):
        body = {"apiVersion": "v1", "kind": kind, "metadata": {"name": constants.ARCHIVE_CONFIG}}
        await api.transport.request("POST", f"/api/v1/namespaces/torpor-system/{path}", body=body)


async def _create(api: Api, name: str) -> None:
    labels = {
        constants.LABEL_TASKRUN_UID: "t",
        constants.LABEL_WORKFLOW_UID: "w",
        constants.LABEL_TASK: "load",
        constants.LABEL_INDEX: name.split("-")[2],
    }
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels},
        "spec": {"nodeName": "bench", "containers": [{"name": "main", "image": "x"}]},
    }
    await api.create(PODS, NAMESPACE, body)


async def _end(api: Api, name: str) -> None:
    times = {"startedAt": "2026-01-01T00:00:01Z", "finishedAt": "2026-01-01T00:00:09Z"}
    state = {"terminated": {"exitCode": 0, "reason": "Completed", **times}}
    container = {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0, "state": state}
    ops = [
        {"op": "add", "path": "/status/phase", "value": "Succeeded"},
        {"op": "add", "path": "/status/containerStatuses", "value": [container]},
    ]
    path = PODS.path(NAMESPACE, name, "status")
    await api.transport.request("PATCH", path, body=ops, content_type=_PATCH)


async def _end_all(api: Api, names: list[str], seconds: float) -> None:
    """End the pods at a steady rate."""
    started = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number, name in enumerate(names):
            await asyncio.sleep(max(started + seconds * number / len(names) - time.monotonic(), 0.0))
            group.create_task(_end(api, name))


async def _in_parallel(tasks: list[Any]) -> None:
    limit = asyncio.Semaphore(16)

    async def limited(task: Any) -> None:
        async with limit:
            await task

    await asyncio.gather(*map(limited, tasks))


async def _wait(folder: Path, count: int) -> float:
    """Return when all logs are kept."""
    while True:
        connection = sqlite3.connect(folder / "archive.db", timeout=30)
        with closing(connection), suppress(sqlite3.OperationalError):  # before the migration
            (kept,) = connection.execute("SELECT count(*) FROM logs WHERE state = 'Kept'").fetchone()
            if kept >= count:
                return time.monotonic()
        await asyncio.sleep(0.2)


def _archive(folder: Path, kubeconfig: Path) -> ChildProcess:
    options = ("--kubeconfig", str(kubeconfig), "--namespace", "torpor-system")
    ports = ("--port", str(free_port()), "--health-port", str(free_port()))
    return ChildProcess(
        name="archive",
        words=("torpor_archive", *options, *ports),
        log=folder / "archive.log",
        environ=os.environ | {"DATABASE_URL": f"sqlite:///{folder}/archive.db"},
    )


def _text(size: int) -> bytes:
    """Lines as programs write them: they compress to about a tenth."""
    choose = random.Random(0)
    lines = bytearray()
    while len(lines) < size:
        words = " ".join(choose.choices(WORDS, k=8))
        second, fraction = len(lines) // 1000 % 60, choose.randrange(10**9)
        lines += f"2026-01-01T00:00:{second:02d}.{fraction:09d}Z INFO {words} {choose.randrange(10**6)}\n".encode()
    return bytes(lines)


def _database_bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("archive.db*"))


if __name__ == "__main__":
    main()

"""`kubectl get taskruns`: the requests that it sends, page by page, and the command as a whole."""

import asyncio
import gzip
import json
import os
import ssl
import statistics
import subprocess
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import aiohttp
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire import constants

from benchmarks.harness import usage
from benchmarks.harness.control_plane import API_SERVER, NAMESPACE
from benchmarks.harness.figures import Figure
from benchmarks.scale.system import ScaleSystem

CHUNK = 500
"""kubectl's default of --chunk-size."""
_TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
_LIMIT = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedPage:
    """One response: seconds until it is complete, bytes as sent (gzip) and decoded, and how many objects it has."""

    seconds: float
    sent: int
    size: int
    objects: int


@dataclass(frozen=True, slots=True, kw_only=True)
class KubectlRun:
    """One process: seconds until its first output and its end, of processor time, bytes of memory, lines."""

    first: float
    seconds: float
    cpu: float
    memory: int
    lines: int


async def listed(on: ScaleSystem) -> list[Figure]:
    """All namespaces, and one."""
    server = on.plane.servers[API_SERVER]
    before = usage.cpu(server)
    pages = [page async for page in _pages(on)]
    spent = usage.cpu(server) - before
    return [
        *_by_page(pages, spent),
        *_whole("all", "kubectl get taskruns -A", await _command(on, "get", "taskruns", "-A")),
        *_whole(
            "namespace", "kubectl get taskruns -n NAMESPACE", await _command(on, "get", "taskruns", "-n", NAMESPACE)
        ),
        *_whole("workflow", "kubectl get taskruns -n NAMESPACE -l torpor.dev/workflow=NAME", await _one_workflow(on)),
    ]


async def _one_workflow(on: ScaleSystem) -> KubectlRun:
    return await _command(on, "get", "taskruns", "-n", NAMESPACE, "-l", f"{constants.LABEL_WORKFLOW}=waiting-0")


def _by_page(pages: Sequence[ListedPage], server: float) -> list[Figure]:
    count = sum(page.objects for page in pages)
    sent, size = (sum(values) / len(pages) for values in zip(*((page.sent, page.size) for page in pages), strict=True))
    median = statistics.median(page.seconds for page in pages)
    return [
        Figure(name="page_first", what=f"first page of {CHUNK}, as a table", value=1000 * pages[0].seconds, unit="ms"),
        Figure(name="page_median", what=f"median of {len(pages)} pages", value=1000 * median, unit="ms"),
        Figure(
            name="pages",
            what=f"all {len(pages)} pages, {count:,} TaskRuns, without kubectl",
            value=sum(page.seconds for page in pages),
            unit="s",
            aside=f"{1000 * server / len(pages):.0f} ms of the API server's CPU for a page",
        ),
        Figure(
            name="page_bytes",
            what="bytes of a page",
            value=sent / 1000,
            unit="kB",
            aside=f"{size / 1000:.0f} kB before gzip",
        ),
    ]


def _whole(name: str, what: str, taken: KubectlRun) -> list[Figure]:
    return [
        Figure(
            name=f"kubectl_{name}",
            what=f"`{what}`",
            value=taken.seconds,
            unit="s",
            aside=f"{taken.lines - 1:,} lines, the first after {taken.first:.1f} s; kubectl took {taken.cpu:.1f} s of"
            f" CPU and {taken.memory / 1024**2:.0f} MiB",
        )
    ]


async def _pages(on: ScaleSystem) -> AsyncIterator[ListedPage]:
    trust = ssl.create_default_context(cafile=str(on.plane.state / "pki/ca.crt"))
    trust.load_cert_chain(on.plane.state / "pki/admin.crt", on.plane.state / "pki/admin.key")
    headers = {"Accept": _TABLE, "Accept-Encoding": "gzip"}
    url, query = f"{on.plane.server}{TASKRUNS.path(None)}", {"limit": str(CHUNK)}
    async with aiohttp.ClientSession(headers=headers, auto_decompress=False) as session:
        while True:
            began = time.monotonic()
            async with session.get(url, params=query, ssl=trust) as response:
                response.raise_for_status()
                sent = await response.read()
            seconds = time.monotonic() - began
            text = gzip.decompress(sent) if response.headers.get("Content-Encoding") == "gzip" else sent
            table = json.loads(text)
            yield ListedPage(seconds=seconds, sent=len(sent), size=len(text), objects=len(table["rows"]))
            query["continue"] = table["metadata"].get("continue", "")
            if not query["continue"]:
                return


async def _command(on: ScaleSystem, *words: str) -> KubectlRun:
    program = [str(on.plane.admin.program), "--kubeconfig", str(on.plane.admin.kubeconfig), *words]
    async with asyncio.timeout(_LIMIT):
        return await asyncio.to_thread(_run, program)


def _run(program: Sequence[str]) -> KubectlRun:
    began = time.monotonic()
    with subprocess.Popen(program, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        lines = 1 if process.stdout.readline() else 0
        first = time.monotonic() - began
        lines += sum(1 for _ in process.stdout)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(program)} ended with {process.returncode}")
    return KubectlRun(
        first=first,
        seconds=time.monotonic() - began,
        cpu=used.ru_utime + used.ru_stime,
        memory=used.ru_maxrss * 1024,
        lines=lines,
    )

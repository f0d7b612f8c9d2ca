"""The waiting TaskRuns of a scenario, and what every scenario receives.

One is created and deferred through the API. The others are copies of its stored form with their own name, uid and
trigger, so that lists and watches have the same content as from the API server.
"""

import asyncio
import itertools
import json
import ssl
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import aiohttp
from torpor_crds.models import taskrun
from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_kubernetes.client.transport import JSON_PATCH
from torpor_wire import constants, times, transitions, trigger

from benchmarks.harness import etcd, usage
from benchmarks.harness.api_writes import series
from benchmarks.harness.control_plane import NAMESPACE, ControlPlane
from tests.support.manifests import manifest

_numbers = itertools.count()
_CALM = 0.3
_LOOK = 0.5
_FOLDER = f"/registry/torpor.dev/taskruns/{NAMESPACE}"
_PATIENCE = 60.0
_SPEC = {
    "workflow": {"name": "nightly-report", "uid": str(uuid.uuid4())},
    "task": "arrived",
    "triggerPool": constants.DEFAULT_POOL,
    "image": "registry.example.org/reports:2026.11",
    "python": "reports.tasks:load",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitSpec:
    """A trigger to wait for; `due` is when it fires (seconds since the epoch), where that is known."""

    class_name: str
    kwargs: Mapping[str, Any]
    due: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchWaits:
    """All waits of the bench."""

    plane: ControlPlane
    sample: dict[str, Any]
    names: set[str] = field(default_factory=set)

    async def add(self, specs: Iterable[WaitSpec], *, live: bool = False) -> dict[str, TaskRun]:
        """Defer one TaskRun for each; gives them by name.

        `live`: while somebody watches. Otherwise it returns once the API server has taken them in.
        """
        bodies = [self._copy(spec) for spec in specs]
        stored = {_key(body): json.dumps(body).encode() for body in bodies}
        await self.plane.etcd.write(stored, at_once=1 if live else etcd.MANY)
        by_name = {body["metadata"]["name"]: body for body in bodies}
        self.names.update(by_name)
        if not live:
            await calm(self.plane)
        return {name: taskrun.parse(body) for name, body in by_name.items()}

    async def remove(self, names: Sequence[str], *, live: bool = False) -> None:
        """Delete these."""
        await self.plane.etcd.remove([f"{_FOLDER}/{name}" for name in names], at_once=1 if live else etcd.MANY)
        self.names.difference_update(names)

    async def clear(self) -> None:
        """Delete all."""
        await self.remove(sorted(self.names))
        await calm(self.plane)

    def _copy(self, spec: WaitSpec) -> dict[str, Any]:
        name = f"nightly-report-arrived-{uuid.uuid4().hex[:12]}"
        now = time.time()
        waiting = trigger.build(
            spec.class_name, spec.kwargs, namespace=NAMESPACE, pool=constants.DEFAULT_POOL, now=now, taskrun=name
        )
        metadata = {**self.sample["metadata"], "name": name, "uid": str(uuid.uuid4())}
        status = {**self.sample["status"], "trigger": waiting.on_status(), "deferredAt": times.rfc3339(now)}
        return {**self.sample, "metadata": metadata, "status": status}


async def opened(plane: ControlPlane) -> BenchWaits:
    """The waits of a plane: none yet."""
    body = manifest("TaskRun", "sample", _SPEC, namespace=NAMESPACE, labels={"torpor.dev/workflow": "nightly-report"})
    created = taskrun.parse(await plane.api.create(TASKRUNS, NAMESPACE, body))
    await _guarded(plane)
    waiting = trigger.build("time", {"at": "2100-01-01T00:00:00Z"}, namespace=NAMESPACE, pool="default", now=0.0)
    resume = {"method": "reports.tasks:load", "kwargs": "{}"}
    patch = transitions.defer(created.pin(), waiting, resume=resume, deadline=None, now=time.time())
    await plane.api.patch(TASKRUNS, NAMESPACE, "sample", patch, subresource="status")
    sample = json.loads(await plane.etcd.read(f"{_FOLDER}/sample"))
    await plane.api.delete(TASKRUNS, NAMESPACE, "sample")
    return BenchWaits(plane=plane, sample=sample)


async def _guarded(plane: ControlPlane) -> None:
    """Wait for the admission policies, because their evaluation is part of a write's cost."""
    token = (plane.account("triggerer") / "token").read_text()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": JSON_PATCH}
    path = f"{plane.server}{TASKRUNS.path(NAMESPACE, 'sample', 'status')}?dryRun=All"
    trust = ssl.create_default_context(cafile=str(plane.account("triggerer") / "ca.crt"))
    patch = json.dumps([{"op": "add", "path": "/status/message", "value": "may I?"}])
    async with asyncio.timeout(_PATIENCE), aiohttp.ClientSession(headers=headers) as session:
        while True:
            async with session.patch(path, data=patch, ssl=trust) as response:
                if "torpor-status" in await response.text():
                    return
            await asyncio.sleep(0.5)


def _key(raw: Mapping[str, Any]) -> str:
    return f"{_FOLDER}/{raw['metadata']['name']}"


async def calm(plane: ControlPlane) -> None:
    """Return once the servers have taken in what was put into etcd: until then they answer late."""
    before, busy = _servers_cpu(plane), True
    while busy:
        await asyncio.sleep(_LOOK)
        now = _servers_cpu(plane)
        before, busy = now, now - before > _CALM * _LOOK or await _read_seconds(plane) > _CALM


async def count_lists(plane: ControlPlane) -> int:
    """How many requests have listed TaskRuns so far."""
    counts = series(await plane.api.read("/metrics"), "apiserver_request_total")
    return round(sum(value for labels, value in counts if (labels["resource"], labels["verb"]) == ("taskruns", "LIST")))


async def _read_seconds(plane: ControlPlane) -> float:
    """Seconds until the first page of a list is there: the API server waits until it is up to date with etcd."""
    began = time.monotonic()
    async with aclosing(plane.api.pages(TASKRUNS, NAMESPACE, limit=1)) as pages:
        await anext(pages)
    return time.monotonic() - began


def _servers_cpu(plane: ControlPlane) -> float:
    return sum(map(usage.cpu, plane.servers.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggererSizes:
    """Counts of waits, seconds, fires a second."""

    few: int = 5_000
    many: int = 20_000
    rate: float = 50.0
    steady: float = 20.0
    idle: float = 30.0
    churn: float = 45.0
    block: float = 30.0
    rounds: int = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggererBench:
    """A control plane, the waits in it, and how large things are to be."""

    plane: ControlPlane
    waits: BenchWaits
    sizes: TriggererSizes


def sleeping(count: int) -> list[WaitSpec]:
    """Waits that never end and are all different."""
    return [WaitSpec(class_name="sleeps", kwargs={"number": next(_numbers)}) for _ in range(count)]


def polling(count: int) -> list[WaitSpec]:
    """Waits that poll, never end and are all different."""
    return [WaitSpec(class_name="polls", kwargs={"number": next(_numbers)}) for _ in range(count)]


def counting(count: int, distinct: int, *, every: float) -> list[WaitSpec]:
    """Waits that look every so many seconds, so many of them different."""
    first = next(_numbers) + 1
    kwargs = [{"number": first + number % distinct, "every": every} for number in range(count)]
    return [WaitSpec(class_name="counts", kwargs=each) for each in kwargs]


def timers(moments: Sequence[float]) -> list[WaitSpec]:
    """Waits for moments (seconds since the epoch)."""
    return [WaitSpec(class_name="time", kwargs={"at": _text(moment)}, due=moment) for moment in moments]


def far(count: int) -> list[float]:
    """Moments after the bench, all different."""
    return [time.time() + 86_400 + number / 1000 for number in range(count)]


def at_once(moment: float, count: int) -> list[float]:
    """One moment, in microseconds so far apart that no two waits are the same."""
    return [moment + number / 1e6 for number in range(count)]


def due(specs: Sequence[WaitSpec], taskruns: Mapping[str, TaskRun]) -> dict[str, float]:
    """Return the fire time of each trigger by its name, in the order of creation."""
    return {name: spec.due for name, spec in zip(taskruns, specs, strict=True) if spec.due is not None}


def evenly(begin: float, rate: float, seconds: float) -> Iterator[float]:
    """Moments, so many a second."""
    return (begin + number / rate for number in range(int(rate * seconds)))


def _text(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")

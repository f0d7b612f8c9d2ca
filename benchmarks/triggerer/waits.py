"""Creates the waiting TaskRuns of a scenario.

One is created and deferred through the API. The others are copies of its stored form with their own name, uid and
trigger, so that lists and watches have the same content as from the API server.
"""

import asyncio
import json
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import aiohttp
from torpor_crds.models import taskrun
from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_kubernetes.client.transport import JSON_PATCH
from torpor_wire import constants, times, transitions, trigger

from benchmarks.triggerer import etcd
from benchmarks.triggerer.plane import NAMESPACE, Plane

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
class Waits:
    """All waits of the bench."""

    plane: Plane
    sample: dict[str, Any]
    names: set[str] = field(default_factory=set)

    async def add(self, asked: Iterable[WaitSpec], *, live: bool = False) -> dict[str, TaskRun]:
        """Defer one TaskRun for each; gives them by name.

        `live`: while somebody watches. Otherwise it returns once the API server has taken them in.
        """
        made = [self._copy(one) for one in asked]
        stored = {_key(one): json.dumps(one).encode() for one in made}
        await self.plane.etcd.write(stored, at_once=1 if live else etcd.MANY)
        found = {one["metadata"]["name"]: one for one in made}
        self.names.update(found)
        if not live:
            await self.plane.calm()
        return {name: taskrun.parse(one) for name, one in found.items()}

    async def remove(self, names: Sequence[str], *, live: bool = False) -> None:
        """Delete these."""
        await self.plane.etcd.remove([f"{_FOLDER}/{name}" for name in names], at_once=1 if live else etcd.MANY)
        self.names.difference_update(names)

    async def clear(self) -> None:
        """Delete all."""
        await self.remove(sorted(self.names))
        await self.plane.calm()

    def _copy(self, asked: WaitSpec) -> dict[str, Any]:
        name = f"nightly-report-arrived-{uuid.uuid4().hex[:12]}"
        now = time.time()
        waiting = trigger.build(
            asked.class_name, asked.kwargs, namespace=NAMESPACE, pool=constants.DEFAULT_POOL, now=now, taskrun=name
        )
        metadata = {**self.sample["metadata"], "name": name, "uid": str(uuid.uuid4())}
        status = {**self.sample["status"], "trigger": waiting.on_status(), "deferredAt": times.rfc3339(now)}
        return {**self.sample, "metadata": metadata, "status": status}


async def opened(plane: Plane) -> Waits:
    """The waits of a plane: none yet."""
    body = {
        "apiVersion": constants.API_VERSION,
        "kind": "TaskRun",
        "metadata": {"name": "sample", "namespace": NAMESPACE, "labels": {"torpor.dev/workflow": "nightly-report"}},
        "spec": _SPEC,
    }
    created = taskrun.parse(await plane.api.create(TASKRUNS, NAMESPACE, body))
    await _guarded(plane)
    waiting = trigger.build("time", {"at": "2100-01-01T00:00:00Z"}, namespace=NAMESPACE, pool="default", now=0.0)
    resume = {"method": "reports.tasks:load", "kwargs": "{}"}
    patch = transitions.defer(created.pin(), waiting, resume=resume, deadline=None, now=time.time())
    await plane.api.patch(TASKRUNS, NAMESPACE, "sample", patch, subresource="status")
    sample = json.loads(await plane.etcd.read(f"{_FOLDER}/sample"))
    await plane.api.delete(TASKRUNS, NAMESPACE, "sample")
    return Waits(plane=plane, sample=sample)


async def _guarded(plane: Plane) -> None:
    """Wait for the admission policies, because their evaluation is part of a write's cost."""
    token = (plane.account / "token").read_text()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": JSON_PATCH}
    path = f"{plane.url}{TASKRUNS.path(NAMESPACE, 'sample', 'status')}?dryRun=All"
    said = json.dumps([{"op": "add", "path": "/status/message", "value": "may I?"}])
    async with asyncio.timeout(_PATIENCE), aiohttp.ClientSession(headers=headers) as session:
        while True:
            async with session.patch(path, data=said, ssl=plane.tls()) as response:
                if "torpor-status" in await response.text():
                    return
            await asyncio.sleep(0.5)


def _key(raw: Mapping[str, Any]) -> str:
    return f"{_FOLDER}/{raw['metadata']['name']}"

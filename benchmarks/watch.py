"""Watches one Workflow of a bench: its pods and waits, and the usage of the pods and of Torpor."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

from torpor_demo.install import SYSTEM
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS, TASKRUNS
from torpor_wire import constants

from benchmarks.harness.cgroups import CgroupMeter
from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.samples import Sample

_LOOK, _LOOKS_A_SAMPLE = 0.5, 4
_PARTS = ("triggerer", "operator")


class RunWatch:
    """Samples of a run, every two seconds; cgroups are looked at more often, since a pod's goes soon after it."""

    def __init__(self, api: Api, meter: CgroupMeter, parts: Mapping[str, frozenset[str]]) -> None:
        self._api = api
        self._meter = meter
        self._parts = parts
        self._before = {part: meter.cpu(uids) for part, uids in parts.items()}
        self.began = time.time()
        self.samples: list[Sample] = []
        self.tasks: set[str] = set()
        """The uids of all pods of its tasks; one that lingers after its last word is deleted before the run ends."""

    @classmethod
    async def begin(cls, api: Api, meter: CgroupMeter) -> "RunWatch":
        """What Torpor has used until now does not count."""
        await meter.look()
        return cls(api, meter, await _torpor(api))

    def now(self) -> float:
        """Seconds since the beginning."""
        return time.time() - self.began

    @asynccontextmanager
    async def watching(self, workflow: str) -> AsyncIterator[None]:
        """Take samples for as long as the block lasts. Raises SystemExit where Torpor's own pods were replaced."""
        watch = asyncio.create_task(self._watch(workflow))
        try:
            yield
        finally:
            watch.cancel()
            (failure,) = await asyncio.gather(watch, return_exceptions=True)
        if not isinstance(failure, asyncio.CancelledError):
            raise SystemExit(f"the watch ended early: {failure!r}")
        if await _torpor(self._api) != self._parts:
            raise SystemExit("Torpor's pods were replaced during the run, so the figures are invalid")

    async def _watch(self, workflow: str) -> None:
        while True:
            for _ in range(_LOOKS_A_SAMPLE):
                await self._meter.look()
                await asyncio.sleep(_LOOK)
            self.samples.append(await self._sample(workflow))

    async def _sample(self, workflow: str) -> Sample:
        seconds = self.now()
        ours = f"{constants.LABEL_WORKFLOW}={workflow}"
        pods = (await self._api.list(PODS, NAMESPACE, label_selector=ours)).items
        waiting = "status.state=Deferred"
        deferred = await self._api.list(TASKRUNS, NAMESPACE, label_selector=ours, field_selector=waiting)
        phases = [pod["status"].get("phase", "Pending") for pod in pods]
        self.tasks |= {pod["metadata"]["uid"] for pod in pods}
        return Sample(
            seconds=seconds,
            running=phases.count("Running"),
            pending=phases.count("Pending"),
            deferred=len(deferred.items),
            tasks_cpu=self._meter.cpu(self.tasks),
            tasks_memory=self._meter.memory(self.tasks),
            triggerer_cpu=self._used("triggerer"),
            triggerer_memory=self._meter.memory(self._parts["triggerer"]),
            operator_cpu=self._used("operator"),
            operator_memory=self._meter.memory(self._parts["operator"]),
        )

    def _used(self, part: str) -> float:
        return self._meter.cpu(self._parts[part]) - self._before[part]


async def _torpor(api: Api) -> dict[str, frozenset[str]]:
    """The uids of the pods of each part."""
    uids = {}
    for part in _PARTS:
        pods = await api.list(PODS, SYSTEM, label_selector=f"app.kubernetes.io/component={part}")
        uids[part] = frozenset(pod["metadata"]["uid"] for pod in pods.items)
    return uids

"""Records one run: creates its Workflow, and watches it, its TaskRuns and its pods until it has ended.

The watches start before the Workflow exists, so that no change is missed. Decides and prints nothing: `torpor get -w`
shows the run.
"""

import asyncio
import random
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torpor_crds.models import taskrun, workflow
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.cache.reflector import Change, Notice, Reflector
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_kubernetes.timing import SystemClock
from torpor_wire import constants
from torpor_wire.state import TERMINAL

from torpor_demo.recording import Film, PodSeen, RunSeen

_SETTLE = 5.0
_ACTIVE = frozenset({"Pending", "Running"})


class Camera:
    """Records changes."""

    def __init__(self) -> None:
        self.film = Film()
        self.over = asyncio.Event()
        self.still = asyncio.Event()
        self._began = 0.0
        self._runs: dict[str, TaskRun] = {}
        self._active: set[str] = set()

    def action(self) -> None:
        """Start the clock of the recording."""
        self._began = time.monotonic()

    def on_workflow(self, notice: Notice[Workflow]) -> None:
        """Record a change of the Workflow."""
        if isinstance(notice, Change) and notice.item is not None:
            self.film.workflow = notice.item
            if notice.item.status.completion_time is not None:
                self.over.set()

    def on_taskrun(self, notice: Notice[TaskRun]) -> None:
        """Record a TaskRun whose state, attempt or segment changed."""
        if not isinstance(notice, Change) or notice.item is None:
            return
        run, before = notice.item, self._runs.get(notice.item.metadata.uid)
        self._runs[run.metadata.uid] = run
        if before is None or _stands(before) != _stands(run):
            self.film.runs.append(RunSeen(at=self._elapsed(), run=run))
        if all(each.status.state in TERMINAL for each in self._runs.values()):
            self.still.set()
        else:
            self.still.clear()

    def on_pod(self, notice: Notice[Mapping[str, Any]]) -> None:
        """Record when a pod begins and when it ends to be Pending or Running."""
        if not isinstance(notice, Change):
            return
        body = notice.item or notice.previous or {}
        active = notice.item is not None and body["status"].get("phase") in _ACTIVE
        if active == (notice.name in self._active):
            return
        self._active ^= {notice.name}
        uid = body["metadata"]["labels"][constants.LABEL_TASKRUN_UID]
        self.film.pods.append(PodSeen(at=self._elapsed(), taskrun_uid=uid, name=notice.name, active=active))

    def _elapsed(self) -> float:
        return time.monotonic() - self._began


async def follow(kubeconfig: Path, body: Mapping[str, Any], *, created: Callable[[], None], limit: float) -> Film:
    """The recording of the Workflow `body`, from its creation to its end, for at most `limit` seconds.

    Calls `created` as soon as the Workflow exists.
    """
    camera = Camera()
    namespace = body["metadata"]["namespace"]
    async with connect(str(kubeconfig), program="torpor-demo") as transport:
        api = Api(transport, SystemClock())
        reflectors = _reflectors(api, camera, namespace, body["metadata"]["name"])
        watching = [asyncio.create_task(reflector.run()) for reflector in reflectors]
        try:
            for reflector in reflectors:
                await _wait(reflector.synced, _SETTLE)
            camera.action()
            await api.create(WORKFLOWS, namespace, body)
            created()
            await _wait(camera.over, limit)
            # The Workflow's end may be told before the last TaskRun's: watches are not ordered among each other.
            await _wait(camera.still, _SETTLE)
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
    return camera.film


async def _wait(event: asyncio.Event, limit: float) -> None:
    try:
        async with asyncio.timeout(limit):
            await event.wait()
    except TimeoutError:
        return


def _reflectors(api: Api, camera: Camera, namespace: str, name: str) -> tuple[Reflector[Any], ...]:
    ours = f"{constants.LABEL_WORKFLOW}={name}"
    return (
        Reflector(
            api,
            WORKFLOWS,
            workflow.parse,
            on_change=camera.on_workflow,
            jitter=random.random,
            namespaces=(namespace,),
            field_selector=f"metadata.name={name}",
        ),
        Reflector(
            api,
            TASKRUNS,
            taskrun.parse,
            on_change=camera.on_taskrun,
            jitter=random.random,
            namespaces=(namespace,),
            label_selector=ours,
        ),
        Reflector(
            api,
            PODS,
            dict,
            on_change=camera.on_pod,
            jitter=random.random,
            namespaces=(namespace,),
            label_selector=ours,
        ),
    )


def _stands(run: TaskRun) -> tuple[str, int, int, int]:
    status = run.status
    return status.state, status.attempt, status.segment, status.launch

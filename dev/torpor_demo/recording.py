"""Shows and records one run: what changed and when, in the order of the API server.

The watches start before the Workflow exists, so that no change is missed. `torpor get -w` shows the run.
"""

import asyncio
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from torpor_crds.models import taskrun, workflow
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.cache.reflector import Notice, Reflector
from torpor_kubernetes.cache.store import StoreChange
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.client.resources import PODS, TASKRUNS, WORKFLOWS
from torpor_kubernetes.timing import SystemClock
from torpor_wire import constants
from torpor_wire.state import TERMINAL


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSeen:
    """A new state of a TaskRun; `at` is in seconds since the watch began."""

    at: float
    run: TaskRun


@dataclass(frozen=True, slots=True, kw_only=True)
class PodSeen:
    """A pod of a TaskRun became Pending or Running, or ended to be."""

    at: float
    taskrun_uid: str
    name: str
    active: bool


@dataclass(slots=True, kw_only=True)
class RunRecording:
    """The whole recording; `workflow` is its last state."""

    workflow: Workflow | None = None
    runs: list[RunSeen] = field(default_factory=list)
    pods: list[PodSeen] = field(default_factory=list)


def label(run: TaskRun) -> str:
    """`measure[3]`: the task and the index, which are clearer than the name with its hash."""
    return run.spec.task if run.spec.map_index == constants.UNMAPPED else f"{run.spec.task}[{run.spec.map_index}]"


_END_S = 30.0
"""How long the command may go on after the run has ended."""


class RunFollower:
    """The command as a process. It ends by itself with the run; leaving the block ends it in any case."""

    def __init__(self, kubeconfig: Path, namespace: str, name: str) -> None:
        cluster = ("--kubeconfig", str(kubeconfig), "-n", namespace)
        self._command = (sys.executable, "-m", "torpor_cli", "get", "-w", *cluster, name)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the command. The Workflow must exist."""
        self._process = subprocess.Popen(self._command)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        try:
            self._process.wait(_END_S if kind is None else 0.0)
        except subprocess.TimeoutExpired:
            self._process.terminate()
            self._process.wait()


_SETTLE = 5.0
_ACTIVE = frozenset({"Pending", "Running"})


class RunRecorder:
    """Records changes."""

    def __init__(self) -> None:
        self.recording = RunRecording()
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
        if isinstance(notice, StoreChange) and notice.item is not None:
            self.recording.workflow = notice.item
            if notice.item.status.completion_time is not None:
                self.over.set()

    def on_taskrun(self, notice: Notice[TaskRun]) -> None:
        """Record a TaskRun whose state, attempt or segment changed."""
        if not isinstance(notice, StoreChange) or notice.item is None:
            return
        run, before = notice.item, self._runs.get(notice.item.metadata.uid)
        self._runs[run.metadata.uid] = run
        if before is None or _progress(before) != _progress(run):
            self.recording.runs.append(RunSeen(at=self._elapsed(), run=run))
        if all(each.status.state in TERMINAL for each in self._runs.values()):
            self.still.set()
        else:
            self.still.clear()

    def on_pod(self, notice: Notice[Mapping[str, Any]]) -> None:
        """Record when a pod begins and when it ends to be Pending or Running."""
        if not isinstance(notice, StoreChange):
            return
        body = notice.item or notice.previous or {}
        active = notice.item is not None and body["status"].get("phase") in _ACTIVE
        if active == (notice.name in self._active):
            return
        self._active ^= {notice.name}
        uid = body["metadata"]["labels"][constants.LABEL_TASKRUN_UID]
        self.recording.pods.append(PodSeen(at=self._elapsed(), taskrun_uid=uid, name=notice.name, active=active))

    def _elapsed(self) -> float:
        return time.monotonic() - self._began


async def follow(
    kubeconfig: Path, body: Mapping[str, Any], *, created: Callable[[], None], limit: float
) -> RunRecording:
    """The recording of the Workflow `body`, from its creation to its end, for at most `limit` seconds.

    Calls `created` as soon as the Workflow exists.
    """
    camera = RunRecorder()
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
            # The Workflow's end may be reported before the last TaskRun's: watches are not ordered among each other.
            await _wait(camera.still, _SETTLE)
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
    return camera.recording


async def _wait(event: asyncio.Event, limit: float) -> None:
    try:
        async with asyncio.timeout(limit):
            await event.wait()
    except TimeoutError:
        return


def _reflectors(api: Api, camera: RunRecorder, namespace: str, name: str) -> tuple[Reflector[Any], ...]:
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


def _progress(run: TaskRun) -> tuple[str, int, int, int]:
    status = run.status
    return status.state, status.attempt, status.segment, status.launch

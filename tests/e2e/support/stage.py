"""Where a test plays: a namespace of the real cluster, and what a test says and sees there.

Everything is read from the API server; nothing here asks Torpor's own processes.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeVar

from torpor_crds.models import taskrun, workflow
from torpor_crds.models.taskrun import TaskRun
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import EVENTS, PODS, TASKRUNS, WORKFLOWS, Resource
from torpor_wire import constants
from torpor_wire.state import State

from tests.support.manifests import manifest

Spec = Mapping[str, Any]
T = TypeVar("T")

TIMEOUT = 300.0
"""For a machine that is busy with other work: only a test that fails waits for so long."""
_PAUSE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class PodState:
    """A pod's phase at a moment (monotonic)."""

    at: float
    name: str
    phase: str  # "Gone" once it is deleted


@dataclass(slots=True, kw_only=True)
class Sightings:
    """The phases that pods went through while they were watched."""

    states: list[PodState] = field(default_factory=list)

    def live(self, since: float, until: float) -> list[PodState]:
        """Pods that were Pending or Running at any time between two moments."""
        seen: dict[str, PodState] = {}
        appeared = []
        for state in self.states:
            if state.at <= since:
                seen[state.name] = state
            elif state.at < until:
                appeared.append(state)
        return [state for state in [*seen.values(), *appeared] if state.phase in {"Pending", "Running"}]


class ClusterFixture:
    """A namespace and the verbs of a test."""

    def __init__(self, api: Api, namespace: str) -> None:
        self.api = api
        self.namespace = namespace

    async def start(self, name: str, spec: Spec) -> Workflow:
        """Create a Workflow."""
        body = manifest("Workflow", name, dict(spec), namespace=self.namespace)
        return workflow.parse(await self.api.create(WORKFLOWS, self.namespace, body))

    async def edit(self, name: str, field: str, value: Any) -> None:
        """Set a field of a Workflow's spec."""
        await self.api.patch(WORKFLOWS, self.namespace, name, [{"op": "add", "path": f"/spec/{field}", "value": value}])

    async def annotate(self, name: str, key: str, value: str) -> None:
        """As `kubectl annotate workflow` does."""
        path = f"/metadata/annotations/{key.replace('/', '~1')}"
        ops: list[dict[str, Any]] = [{"op": "add", "path": path, "value": value}]
        if not (await self.workflow(name)).metadata.annotations:
            ops.insert(0, {"op": "add", "path": "/metadata/annotations", "value": {}})
        await self.api.patch(WORKFLOWS, self.namespace, name, ops)

    async def workflow(self, name: str) -> Workflow:
        """The Workflow as it is now."""
        return workflow.parse(await self.api.get(WORKFLOWS, self.namespace, name))

    async def taskruns(self, name: str, task: str | None = None) -> list[TaskRun]:
        """The TaskRuns of a Workflow, or of one of its tasks, by index."""
        selector = f"{constants.LABEL_WORKFLOW}={name}" + (f",{constants.LABEL_TASK}={task}" if task else "")
        page = await self.api.list(TASKRUNS, self.namespace, label_selector=selector)
        return sorted(map(taskrun.parse, page.items), key=lambda run: (run.spec.task, run.spec.map_index))

    async def ended(self, name: str, limit: float = TIMEOUT) -> Workflow:
        """The Workflow once it is over."""

        async def over() -> Workflow | None:
            workflow = await self.workflow(name)
            return workflow if workflow.status.completion_time else None

        return await self.until(over, limit, f"workflow {name} to end")

    async def reached(self, name: str, task: str, state: State, limit: float = TIMEOUT) -> TaskRun:
        """The first TaskRun of a task once it is in a state."""

        async def there() -> TaskRun | None:
            return next((run for run in await self.taskruns(name, task) if run.status.state is state), None)

        return await self.until(there, limit, f"{task} of {name} to be {state}")

    async def until(self, look: Callable[[], Awaitable[T | None]], limit: float, what: str) -> T:
        """What `look` finds, once that is not None."""
        began = time.monotonic()
        while (result := await look()) is None:
            if time.monotonic() - began > limit:
                raise AssertionError(f"waited {limit} s in vain for {what}; {await self._state()}")
            await asyncio.sleep(_PAUSE)
        return result

    async def reasons(self, uid: str) -> dict[str, str]:
        """The Events on an object: reason and note."""
        page = await self.api.list(EVENTS, self.namespace)
        return {each["reason"]: each.get("note", "") for each in page.items if each["regarding"].get("uid") == uid}

    async def event(self, uid: str, reason: str) -> str:
        """The note of the Event of a reason on an object, once it is posted: that follows the status."""

        async def posted() -> str | None:
            return (await self.reasons(uid)).get(reason)

        return await self.until(posted, TIMEOUT, f"the Event {reason}")

    async def log(self, pod: str) -> str:
        """Return the log of a pod once it can be read: the kubelet may report a start later than the task its end."""
        path = PODS.path(self.namespace, pod, "log")

        async def readable() -> str | None:
            try:
                log: str = await self.api.read(path)
            except errors.ApiError as error:
                if error.status != HTTPStatus.BAD_REQUEST:
                    raise
                return None
            return log

        return await self.until(readable, TIMEOUT, f"the log of pod {pod}")

    @asynccontextmanager
    async def watching(self, selector: str) -> AsyncIterator[Sightings]:
        """The phases of the pods that a label selector selects, noted for as long as the block lasts."""
        sightings = Sightings()
        page = await self.api.list(PODS, self.namespace, label_selector=selector)
        for body in page.items:
            _note(sightings, body)
        watch = asyncio.create_task(self._watch(sightings, selector, page.resource_version))
        try:
            yield sightings
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    async def _watch(self, sightings: Sightings, selector: str, version: str) -> None:
        events = self.api.watch(PODS, self.namespace, resource_version=version, label_selector=selector)
        async for event in events:
            if event.type != "BOOKMARK":
                _note(sightings, event.object, gone=event.type == "DELETED")

    async def _state(self) -> str:
        async def each(resource: Resource) -> list[str]:
            page = await self.api.list(resource, self.namespace)
            return [f"{body['metadata']['name']}: {body.get('status', {}).get('state')}" for body in page.items]

        return f"there are {await each(WORKFLOWS)} and {await each(TASKRUNS)}"


def _note(sightings: Sightings, body: Mapping[str, Any], *, gone: bool = False) -> None:
    phase = "Gone" if gone else body["status"].get("phase", "Pending")
    sightings.states.append(PodState(at=time.monotonic(), name=body["metadata"]["name"], phase=phase))


def of_taskrun(run: TaskRun) -> str:
    """The label selector of a TaskRun's pods."""
    return f"{constants.LABEL_TASKRUN_UID}={run.metadata.uid}"


def condition(subject: Workflow | TaskRun, kind: str = "Succeeded") -> tuple[str, str]:
    """Status and reason of a condition."""
    condition = next(entry for entry in subject.status.conditions if entry.type == kind)
    return condition.status, condition.reason

"""Starts and watches Workflows: the time of each request, and the time at which its end was seen."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import WORKFLOWS, Resource
from torpor_wire import constants

from benchmarks.workflow.plane import NAMESPACE, Plane

PATIENCE = 1800.0
Object = dict[str, Any]


class Runs:
    """`states` are words of the runs that have ended. `read` gives a run's name, and its word once it has ended."""

    def __init__(self, api: Api, kind: Resource, read: Callable[[Object], tuple[str, str]]) -> None:
        self.api = api
        self.kind = kind
        self.ended: dict[str, float] = {}
        self.states: dict[str, str] = {}
        self._changed = asyncio.Event()
        self.workflows: Reflector[tuple[str, str]] = Reflector(
            api, kind, read, on_change=self._note, jitter=lambda: 0.5
        )

    async def start(self, name: str, tasks: Sequence[Mapping[str, Any]], **spec: Any) -> float:
        """Create a Workflow. Return the monotonic time of the request."""
        body = {
            "apiVersion": constants.API_VERSION,
            "kind": "Workflow",
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"image": "bench", "runtime": "Image", "tasks": list(tasks), **spec},
        }
        return await self.create(body)

    async def create(self, body: Object) -> float:
        """Create a run of this kind. Return the monotonic time of the request."""
        began = time.monotonic()
        await self.api.create(self.kind, body["metadata"]["namespace"], body)
        return began

    async def end(self, *names: str) -> float:
        """When the last of them was seen to have ended (monotonic). Raises SystemExit where one did not succeed."""
        async with asyncio.timeout(PATIENCE):
            while not self.ended.keys() >= set(names):
                self._changed.clear()
                await self._changed.wait()
        failed = {name: self.states[name] for name in names if self.states[name] != "Succeeded"}
        if failed:
            raise SystemExit(json.dumps(failed))
        return max((self.ended[name] for name in names), default=0.0)

    def _note(self, change: Notice[tuple[str, str]]) -> None:
        if isinstance(change, Unreadable):
            raise TypeError(change.message)
        if change.item is not None and change.item[1] and change.item[0] not in self.ended:
            name, state = change.item
            self.ended[name], self.states[name] = time.monotonic(), state
            self._changed.set()


@asynccontextmanager
async def runs(
    plane: Plane, kind: Resource = WORKFLOWS, read: Callable[[Object], tuple[str, str]] | None = None
) -> AsyncIterator[Runs]:
    """Watched from here on."""
    found = Runs(plane.api, kind, read or _state)
    watching = asyncio.create_task(found.workflows.run())
    await found.workflows.synced.wait()
    try:
        yield found
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


def step(name: str, **fields: Any) -> Object:
    """A python task."""
    return {"name": name, "python": "bench:step", **fields}


def _state(body: Object) -> tuple[str, str]:
    """The name, and the state it ended in; an empty one while it runs."""
    status = body.get("status", {})
    return body["metadata"]["name"], status.get("state", "") if status.get("completionTime") else ""

"""Starts runs and watches them: the time of each request, and the time at which its end was seen."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import WORKFLOWS, Resource
from torpor_wire import constants

from benchmarks.harness.control_plane import NAMESPACE
from benchmarks.harness.waiting import Object, watched

LIMIT = 1800.0
_SETTLE = 2.0
_AXIS = 100
_WARM = 8


class WatchedRuns:
    """`states` are words of the runs that have ended, `ended` their times (monotonic), by name."""

    def __init__(self, api: Api, kind: Resource = WORKFLOWS) -> None:
        self.api = api
        self.kind = kind
        self.ended: dict[str, float] = {}
        self.states: dict[str, str] = {}
        self._changed = asyncio.Event()

    async def start(self, name: str, tasks: Sequence[Mapping[str, Any]], **spec: Any) -> float:
        """Create a Workflow. Return the monotonic time of the request."""
        return await self.create(workflow(name, {"image": "bench", "runtime": "Image", "tasks": list(tasks), **spec}))

    async def create(self, body: Object) -> float:
        """Create a run of this kind. Return the monotonic time of the request."""
        began = time.monotonic()
        await self.api.create(self.kind, body["metadata"]["namespace"], body)
        return began

    async def end(self, *names: str) -> float:
        """When the last of them was seen to have ended (monotonic). Raises SystemExit where one did not succeed."""
        async with asyncio.timeout(LIMIT):
            while not self.ended.keys() >= set(names):
                self._changed.clear()
                await self._changed.wait()
        failed = {name: self.states[name] for name in names if self.states[name] != "Succeeded"}
        if failed:
            raise SystemExit(json.dumps(failed))
        return max((self.ended[name] for name in names), default=0.0)

    def note(self, run: tuple[str, str]) -> None:
        """Take in a name and a state, which is empty until the run has ended."""
        name, state = run
        if state and name not in self.ended:
            self.ended[name], self.states[name] = time.monotonic(), state
            self._changed.set()


def end_state(body: Object) -> tuple[str, str]:
    """The name of a Workflow, and the state it ended in; an empty one while it runs."""
    status = body.get("status", {})
    return body["metadata"]["name"], status.get("state", "") if status.get("completionTime") else ""


@asynccontextmanager
async def watch_runs(
    api: Api, kind: Resource = WORKFLOWS, read: Callable[[Object], tuple[str, str]] = end_state, **selection: Any
) -> AsyncIterator[WatchedRuns]:
    """Watched from here on."""
    runs = WatchedRuns(api, kind)
    async with watched(api, kind, read, runs.note, **selection):
        yield runs


def workflow(name: str, spec: Mapping[str, Any], namespace: str = NAMESPACE) -> Object:
    """A Workflow."""
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": constants.API_VERSION, "kind": "Workflow", "metadata": metadata, "spec": dict(spec)}


def step(name: str, **fields: Any) -> Object:
    """A python task, unless a field says otherwise. A field without a value is left out."""
    task = {"name": name, "python": "bench:step", **fields}
    return {name: value for name, value in task.items() if value is not None}


def mapped(count: int) -> Object:
    """A python task with `count` instances."""
    return expanded(step("each"), count)


def expanded(task: Object, count: int) -> Object:
    """The task over a literal list, or over two: a Workflow has no place for ten thousand values."""
    rows = count // _AXIS
    over = {"row": list(range(rows)), "n": list(range(_AXIS))} if rows * _AXIS == count else {"n": list(range(count))}
    return task | {"expand": [{"name": name, "over": values} for name, values in over.items()]}


async def warm(runs: WatchedRuns, task: Object | None = None) -> None:
    """The first run pays for connections, and for what the API server compiles."""
    await runs.start("warm", [expanded(task or step("only"), _WARM)])
    await runs.end("warm")
    await asyncio.sleep(_SETTLE)

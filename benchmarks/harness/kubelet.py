"""`python -m benchmarks.harness.kubelet SOCKET`: the kubelet of all nodes, without containers.

It reports a bound pod as Running. It sends the environment of a task's pod to the worker behind the socket, and reports
Succeeded when the worker has finished. Other pods succeed at once. A pod therefore costs two status patches, as with
kwok; kwok itself would need another write to learn the end of the worker.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple, Never

from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.http import connect
from torpor_kubernetes.client.resources import PODS
from torpor_kubernetes.timing import SystemClock
from torpor_wire import constants, times

_MERGE = "application/strategic-merge-patch+json"
_PROGRAM = "tests-kubelet"


class BoundPod(NamedTuple):
    """What is kept of a pod; containers are names and images, `environ` is that of a task's."""

    namespace: str
    name: str
    uid: str
    bound: bool
    containers: tuple[tuple[str, str], ...]
    before: tuple[tuple[str, str], ...]
    """The init containers."""
    environ: str | None


class NodesKubelet:
    """Runs every pod that is bound."""

    def __init__(self, api: Api, worker: asyncio.StreamWriter) -> None:
        self._api = api
        self._worker = worker
        self._begun: set[str] = set()
        self._ends: dict[str, asyncio.Future[None]] = {}
        self._pods: Reflector[BoundPod] = Reflector(api, PODS, _slim, on_change=self._changed, jitter=lambda: 0.5)

    async def run(self, answers: asyncio.StreamReader) -> None:
        """Until the worker is gone."""
        async with asyncio.TaskGroup() as self._group:
            watching = self._group.create_task(self._watch())
            async for line in answers:
                self._ends.pop(line.decode().strip()).set_result(None)
            watching.cancel()

    async def _watch(self) -> Never:
        await self._pods.run()

    def _changed(self, change: Notice[BoundPod]) -> None:
        if isinstance(change, Unreadable):
            raise TypeError(change.message)
        pod = change.item
        if pod is not None and pod.bound and pod.uid not in self._begun:
            self._begun.add(pod.uid)
            self._group.create_task(self._live(pod))

    async def _live(self, pod: BoundPod) -> None:
        started = times.rfc3339(time.time())
        with suppress(errors.NotFound):
            await self._say(pod, "Running", started, {"running": {"startedAt": started}})
            if pod.environ is not None:
                await self._work(pod, pod.environ)
            await self._say(pod, "Succeeded", started, _ended(started))

    async def _work(self, pod: BoundPod, environ: str) -> None:
        end = self._ends[pod.uid] = asyncio.get_running_loop().create_future()
        self._worker.write(environ.encode() + b"\n")
        await end

    async def _say(self, pod: BoundPod, phase: str, started: str, state: Mapping[str, Any]) -> None:
        answer = await self._api.transport.request(
            "PATCH",
            PODS.path(pod.namespace, pod.name, "status"),
            body={"metadata": {"uid": pod.uid}, "status": _status(pod, phase, started, state)},
            content_type=_MERGE,
        )
        if answer.status >= 400:
            raise errors.from_response(answer)


def _status(pod: BoundPod, phase: str, started: str, state: Mapping[str, Any]) -> dict[str, Any]:
    ready = phase == "Running"
    kinds = ("Initialized", "Ready", "ContainersReady")
    conditions = [{"type": kind, "status": str(ready), "lastTransitionTime": started} for kind in kinds]
    address = {"hostIP": "10.0.0.1", "podIP": "10.1.0.1", "startTime": started}
    containers = {
        "containerStatuses": [_container(container, ready=ready, state=state) for container in pod.containers]
    }
    if pod.before:
        over = _ended(started)
        containers["initContainerStatuses"] = [_container(one, ready=ready, state=over) for one in pod.before]
    return {"phase": phase, **address, "conditions": conditions, **containers}


def _container(named: tuple[str, str], *, ready: bool, state: Mapping[str, Any]) -> dict[str, Any]:
    name, image = named
    status = {"name": name, "image": image, "imageID": image, "ready": ready, "started": ready}
    return {**status, "restartCount": 0, "state": state}


def _ended(started: str) -> dict[str, Any]:
    return {"terminated": {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": started}}


def _slim(body: dict[str, Any]) -> BoundPod:
    metadata, spec = body["metadata"], body["spec"]
    values = {each["name"]: each.get("value", "") for each in spec["containers"][0].get("env", [])}
    environ = json.dumps(values | {constants.ENV_POD_UID: metadata["uid"]}) if constants.ENV_RUNTIME in values else None
    bound = bool(spec.get("nodeName"))
    return BoundPod(
        metadata["namespace"],
        metadata["name"],
        metadata["uid"],
        bound,
        _named(spec["containers"]),
        _named(spec.get("initContainers", [])),
        environ if bound and metadata["uid"] else None,
    )


def _named(containers: list[dict[str, Any]]) -> tuple[tuple[str, str], ...]:
    return tuple((each["name"], each["image"]) for each in containers)


async def main(path: str) -> None:
    """Serve the one worker that connects, until it hangs up."""
    done = asyncio.Event()
    async with connect(program=_PROGRAM) as transport:

        async def serve(answers: asyncio.StreamReader, worker: asyncio.StreamWriter) -> None:
            try:
                await NodesKubelet(Api(transport, SystemClock()), worker).run(answers)
            finally:
                worker.close()
                done.set()

        async with await asyncio.start_unix_server(serve, path):
            await done.wait()


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    asyncio.run(main(sys.argv[1]))

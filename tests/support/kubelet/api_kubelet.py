"""A kubelet over a real API server, without containers: a `ContainerRunner` says what the container of a pod does.

It imitates the requests of a kubelet: the status of a pod that runs, the status of a pod whose container has exited,
and the deletion of a pod that had to stop. With the name of a node it also binds pods, as a scheduler does. It must do
nothing else: it leaves gates, finalizers and TaskRuns alone.
"""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple, Never, Protocol, TypeVar

from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS
from torpor_local.pods import status
from torpor_wire import times

_MERGE = "application/strategic-merge-patch+json"
_CONDITIONS = ("Initialized", "Ready", "ContainersReady")
_GRACE_SECONDS = 10
_RETRY_SECONDS = 0.5
_IDENTITY = ("deletionTimestamp", "name", "namespace", "uid")
Pod = dict[str, Any]
T = TypeVar("T")


class ContainerExit(NamedTuple):
    """How a container ended. A negative code is the number of a signal, as in Python."""

    code: int = 0
    message: str = ""


class ContainerRunner(Protocol):
    """Runs the containers of pods."""

    async def start(self, pod: Pod) -> None:
        """Start the container of a pod."""

    async def wait(self, pod: Pod) -> ContainerExit:
        """Wait until the container has exited. The pod has been reported as Running."""

    def send(self, uid: str, number: signal.Signals) -> None:
        """Send a signal to the container of a pod: SIGTERM on a deletion, SIGKILL after the grace period."""


@dataclass(slots=True, kw_only=True, eq=False)
class KubeletPod:
    """A pod that this kubelet runs."""

    body: Pod
    started: str = ""
    deleting: bool = False

    @property
    def uid(self) -> str:
        return str(self.body["metadata"]["uid"])

    @property
    def address(self) -> tuple[str, str]:
        return self.body["metadata"]["namespace"], self.body["metadata"]["name"]


class ApiKubelet:
    """The kubelet of all nodes, or of the one `node` to which it binds the pods of TaskRuns."""

    def __init__(self, api: Api, runner: ContainerRunner, *, node: str = "", label_selector: str = "") -> None:
        self._api = api
        self._runner = runner
        self._node = node
        self._running: dict[str, KubeletPod] = {}
        self._accepted: set[str] = set()
        self._pods: Reflector[Pod] = Reflector(
            api, PODS, _project, label_selector=label_selector, on_change=self._observe, jitter=lambda: 0.5
        )

    async def run(self) -> Never:
        """Run until cancelled, then kill what still runs."""
        try:
            async with asyncio.TaskGroup() as self._group:
                await self._pods.run()
        finally:
            for uid in self._running:
                self._runner.send(uid, signal.SIGKILL)

    def _observe(self, change: Notice[Pod]) -> None:
        if isinstance(change, Unreadable):
            raise TypeError(change.message)
        body = change.item or change.previous or {}
        uid = body["metadata"]["uid"]
        pod = self._running.get(uid)
        if pod is None:
            if change.item is not None and uid not in self._accepted and self._accepts(body):
                self._accepted.add(uid)
                self._running[uid] = KubeletPod(body=body)
                self._group.create_task(self._run_pod(self._running[uid]))
        elif change.item is None:
            self._runner.send(uid, signal.SIGKILL)
        elif "deletionTimestamp" in body["metadata"] and not pod.deleting:
            pod.deleting = True
            self._runner.send(uid, signal.SIGTERM)
            grace = body["metadata"].get("deletionGracePeriodSeconds", _GRACE_SECONDS)
            asyncio.get_running_loop().call_later(grace, self._runner.send, uid, signal.SIGKILL)

    def _accepts(self, body: Pod) -> bool:
        return _is_schedulable(body) if self._node else bool(body["spec"].get("nodeName"))

    async def _run_pod(self, pod: KubeletPod) -> None:
        with suppress(errors.NotFound, errors.Conflict, errors.LostRace):
            if self._node:
                await retry(lambda: self._bind(pod))
            await self._runner.start(pod.body)
            now = time.time()
            pod.started = times.rfc3339(now)
            await retry(lambda: self._report(pod, status.running(pod.body, now)))
            ended = await self._runner.wait(pod.body)
            await retry(lambda: self._report(pod, status.ended(pod.body, *ended, time.time())))
            if pod.deleting:
                await retry(lambda: self._api.delete(PODS, *pod.address, uid=pod.uid, grace_seconds=0))
        del self._running[pod.uid]

    async def _bind(self, pod: KubeletPod) -> None:
        namespace, name = pod.address
        metadata, target = {"name": name, "uid": pod.uid}, {"kind": "Node", "name": self._node}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        response = await self._api.transport.request("POST", PODS.path(namespace, name, "binding"), body=body)
        if response.status >= 400 and response.status != 409:  # bound already, by a request that got no response
            raise errors.from_response(response)

    def complete(self, pod: KubeletPod, reported: dict[str, Any]) -> dict[str, Any]:
        """The status of a pod with the other fields of a kubelet's report."""
        return reported | _details(pod, reported["phase"])

    async def _report(self, pod: KubeletPod, reported: dict[str, Any]) -> None:
        response = await self._api.transport.request(
            "PATCH",
            PODS.path(*pod.address, "status"),
            body={"metadata": {"uid": pod.uid}, "status": self.complete(pod, reported)},
            content_type=_MERGE,
        )
        if response.status >= 400:
            raise errors.from_response(response)


async def retry(act: Callable[[], Awaitable[T]]) -> T:
    """Repeat a request until the API server answers. One that has just started forbids all for a moment."""
    while True:
        try:
            return await act()
        except (errors.ApiUnavailable, errors.Forbidden):
            await asyncio.sleep(_RETRY_SECONDS)


def _details(pod: KubeletPod, phase: str) -> dict[str, Any]:
    """Return the other fields of a kubelet's report: start, addresses, conditions and init containers."""
    ready = str(phase == "Running")
    conditions = [{"type": kind, "status": ready, "lastTransitionTime": pod.started} for kind in _CONDITIONS]
    details = {"hostIP": "10.0.0.1", "podIP": "10.1.0.1", "startTime": pod.started, "conditions": conditions}
    over = {"exitCode": 0, "reason": "Completed", "startedAt": pod.started, "finishedAt": pod.started}
    before = pod.body["spec"].get("initContainers", [])
    statuses = [status.container_status(container, {"terminated": over}) for container in before]
    return details | ({"initContainerStatuses": statuses} if statuses else {})


def _project(body: Pod) -> Pod:
    """Return what a kubelet needs of a pod: of one that has ended, only which it is."""
    if body.get("status", {}).get("phase") in {"Succeeded", "Failed"}:
        return {"metadata": {key: body["metadata"][key] for key in _IDENTITY if key in body["metadata"]}, "spec": {}}
    return {"metadata": body["metadata"], "spec": body["spec"]}


def _is_schedulable(body: Pod) -> bool:
    """Return whether a scheduler would bind it to a node without labels. Only pods of TaskRuns are run."""
    owners = body["metadata"].get("ownerReferences", [])
    fresh = "deletionTimestamp" not in body["metadata"] and "nodeName" not in body["spec"]
    held_back = body["spec"].get("schedulingGates") or body["spec"].get("nodeSelector")
    return fresh and not held_back and any(owner["kind"] == "TaskRun" for owner in owners)

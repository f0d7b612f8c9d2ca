"""A kubelet of plain processes: it runs the pods of TaskRuns as a node would, without containers and without root.

A python task's pod becomes the real worker with the pod's environment and a token bound to that pod; a container task's
pod, once its gate is lifted, its command. It speaks as the administrator. It must not help: what a kubelet does not do
(gates, finalizers, TaskRuns) is not done here.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Never
from urllib.parse import urlsplit

from torpor_api.cache.reflector import Notice, Reflector, Unreadable
from torpor_api.client import errors
from torpor_api.client.api import Api
from torpor_api.client.resources import PODS
from torpor_wire import constants

from tests.integration.controller.tasks import ENV_NOTES

ROOT = Path(__file__).resolve().parents[2]
PYTHON_PATH = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
NODE = "tests"
_LINGER = 0.2
_TERMINATION_LOG = "/dev/termination-log"
_TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
Pod = dict[str, Any]


@dataclass(slots=True, kw_only=True, eq=False)
class Box:
    """A pod on this node, and its process while it has one."""

    pod: Pod
    folder: Path
    process: asyncio.subprocess.Process | None = None
    deleting: bool = False
    ended: bool = False

    @property
    def address(self) -> tuple[str, str]:
        return self.pod["metadata"]["namespace"], self.pod["metadata"]["name"]

    @property
    def container(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.pod["spec"]["containers"][0]
        return found

    @property
    def is_worker(self) -> bool:
        return list(self.container.get("command", []))[:3] == ["python", "-m", "torpor"]

    def send(self, what: signal.Signals) -> None:
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.send_signal(what)


class Kubelet:
    """One node. `server` is the API server's address as pods are told it, `ca` whom they trust."""

    def __init__(self, api: Api, *, folder: Path, server: str, ca: str) -> None:
        self.notes = folder / "notes"
        self.notes.touch()
        self.boxes: dict[str, Box] = {}
        self._api = api
        self._folder = folder
        self._server, self._ca = urlsplit(server), ca
        self._pods: Reflector[Pod] = Reflector(
            api, PODS, dict, label_selector=constants.LABEL_TASKRUN_UID, on_change=self._changed, jitter=lambda: 0.5
        )

    async def run(self) -> Never:
        """Until it is cancelled; the processes end with it."""
        try:
            async with asyncio.TaskGroup() as self._group:
                await self._pods.run()
        finally:
            for box in self.boxes.values():
                box.send(signal.SIGKILL)

    def log(self, name: str) -> str:
        """What the process of a pod wrote."""
        return "".join((box.folder / "log").read_text() for box in self.boxes.values() if box.address[1] == name)

    def die(self, uid: str) -> None:
        """The process of a pod ends without a word."""
        self.boxes[uid].send(signal.SIGKILL)

    def _changed(self, change: Notice[Pod]) -> None:
        if isinstance(change, Unreadable):
            raise TypeError(change.message)
        pod = change.item or change.previous or {}
        box = self.boxes.get(pod["metadata"]["uid"])
        if box is None:
            if change.item is not None and _due(pod):
                box = Box(pod=pod, folder=self._folder / pod["metadata"]["uid"])
                self.boxes[pod["metadata"]["uid"]] = box
                self._group.create_task(self._live(box))
        elif change.item is None:
            box.send(signal.SIGKILL)
        elif "deletionTimestamp" in pod["metadata"] and not box.deleting:
            box.deleting = True
            box.send(signal.SIGTERM)
            grace = pod["metadata"].get("deletionGracePeriodSeconds", 10)
            asyncio.get_running_loop().call_later(grace, box.send, signal.SIGKILL)

    async def _live(self, box: Box) -> None:
        with suppress(errors.NotFound, errors.Conflict, errors.LostRace):
            await self._insist(lambda: self._bind(box))
            await self._start(box)
            await self._insist(lambda: self._say(box, "Running", {"running": {}}))
            code = await box.process.wait() if box.process is not None else 137
            await asyncio.sleep(_LINGER)
            box.ended = True
            await self._insist(lambda: self._say(box, "Failed" if code else "Succeeded", _terminated(box, code)))
            if box.deleting:
                namespace, name = box.address
                uid = box.pod["metadata"]["uid"]
                await self._insist(lambda: self._api.delete(PODS, namespace, name, uid=uid, grace_seconds=0))

    async def _bind(self, box: Box) -> None:
        namespace, name = box.address
        uid = box.pod["metadata"]["uid"]
        metadata, target = {"name": name, "uid": uid}, {"kind": "Node", "name": NODE}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        answer = await self._api.transport.request("POST", PODS.path(namespace, name, "binding"), body=body)
        if answer.status >= 400 and answer.status != 409:  # bound already, by a request whose answer was lost
            raise errors.of(answer)

    async def _start(self, box: Box) -> None:
        box.folder.mkdir()
        argv = [*box.container.get("command", []), *box.container.get("args", [])]
        argv = [word.replace(_TERMINATION_LOG, str(box.folder / "message")) for word in argv]
        if box.is_worker:
            (box.folder / "ca.crt").write_text(self._ca)
            for source in _tokens(box.pod):
                await self._insist(partial(self._renew_token, box, source))
            argv = [sys.executable, "-m", "tests.integration.controller.in_pod", str(box.folder)]
        else:
            with self.notes.open("a") as notes:
                notes.write(f"{box.pod['metadata']['labels'][constants.LABEL_TASKRUN_UID]} {box.address[1]}\n")
        if box.deleting:
            return
        with (box.folder / "log").open("w") as log:
            box.process = await asyncio.create_subprocess_exec(
                *argv, env=self._environment(box.pod, box.container), stdout=log, stderr=subprocess.STDOUT, cwd=ROOT
            )

    async def _renew_token(self, box: Box, source: Mapping[str, Any]) -> None:
        namespace, name = box.address
        bound = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": box.pod["metadata"]["uid"]}
        account = box.pod["spec"]["serviceAccountName"]
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        spec = {"boundObjectRef": bound} | ({"audiences": [source["audience"]]} if "audience" in source else {})
        answer = await self._api.transport.request("POST", path, body=_TOKEN | {"spec": spec})
        if answer.status >= 400:
            raise errors.of(answer)
        (box.folder / source["path"]).write_text(answer.body["status"]["token"])

    def _environment(self, pod: Pod, container: Mapping[str, Any]) -> dict[str, str]:
        own = {each["name"]: each.get("value", "") for each in container.get("env", []) if "valueFrom" not in each}
        own |= {each["name"]: pod["metadata"]["uid"] for each in container.get("env", []) if "valueFrom" in each}
        return own | {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": PYTHON_PATH,
            "KUBERNETES_SERVICE_HOST": str(self._server.hostname),
            "KUBERNETES_SERVICE_PORT": str(self._server.port),
            ENV_NOTES: str(self.notes),
        }

    async def _say(self, box: Box, phase: str, state: Mapping[str, Any]) -> None:
        namespace, name = box.address
        container = {
            "name": box.container["name"],
            "image": box.container["image"],
            "imageID": "",
            "ready": phase == "Running",
            "restartCount": 0,
            "state": state,
        }
        ops = [
            {"op": "test", "path": "/metadata/uid", "value": box.pod["metadata"]["uid"]},
            {"op": "add", "path": "/status/phase", "value": phase},
            {"op": "add", "path": "/status/containerStatuses", "value": [container]},
        ]
        await self._api.patch(PODS, namespace, name, ops, subresource="status")

    async def _insist(self, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await act()
            except errors.Unavailable:
                await asyncio.sleep(0.5)
            else:
                return


def _due(pod: Pod) -> bool:
    """Whether a scheduler would give it to this node now, which has no labels; only the pods of TaskRuns are run."""
    owners = pod["metadata"].get("ownerReferences", [])
    fresh = "deletionTimestamp" not in pod["metadata"] and "nodeName" not in pod["spec"]
    kept_back = pod["spec"].get("schedulingGates") or pod["spec"].get("nodeSelector")
    return fresh and not kept_back and any(owner["kind"] == "TaskRun" for owner in owners)


def _terminated(box: Box, code: int) -> Mapping[str, Any]:
    message = box.folder / "message"
    said = message.read_text() if message.exists() else ""
    code = code if code >= 0 else 128 - code
    return {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": said}}


def _tokens(pod: Pod) -> Iterator[Mapping[str, Any]]:
    """The tokens that are projected into the pod: for the API server, and for an audience."""
    for volume in pod["spec"].get("volumes", []):
        for source in volume.get("projected", {}).get("sources", []):
            if "serviceAccountToken" in source:
                yield source["serviceAccountToken"]

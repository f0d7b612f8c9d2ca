"""A kubelet of plain processes: it runs the pods of TaskRuns without containers and without root.

For a python task it starts the real worker, with the environment of the pod and a token that is bound to the pod; for a
container task the command, once the scheduling gate is lifted. Its requests are those of the administrator. It must do
nothing that a kubelet does not do: it leaves gates, finalizers and TaskRuns alone.
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

from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import PODS
from torpor_wire import constants

from tests.integration.controller.tasks import ENV_NOTES

ROOT = Path(__file__).resolve().parents[2]
PYTHON_PATH = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
NODE = "tests"
_TERMINATION_SECONDS = 0.2
_TERMINATION_LOG = "/dev/termination-log"
_TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
Pod = dict[str, Any]


@dataclass(slots=True, kw_only=True, eq=False)
class RunningPod:
    """A pod on this node, with its process once it has started."""

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
        return list(self.container.get("command", [])) in (["python", "-m", "torpor"], ["python3", "/torpor/start.py"])

    def send(self, what: signal.Signals) -> None:
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.send_signal(what)


class Kubelet:
    """One node. `server` and `ca` are the API server's address and CA certificate for pods."""

    def __init__(self, api: Api, *, folder: Path, server: str, ca: str) -> None:
        self.notes = folder / "notes"
        self.notes.touch()
        self.running: dict[str, RunningPod] = {}
        self._api = api
        self._folder = folder
        self._server, self._ca = urlsplit(server), ca
        self._pods: Reflector[Pod] = Reflector(
            api, PODS, dict, label_selector=constants.LABEL_TASKRUN_UID, on_change=self._changed, jitter=lambda: 0.5
        )

    async def run(self) -> Never:
        """Run until cancelled, then kill the processes."""
        try:
            async with asyncio.TaskGroup() as self._group:
                await self._pods.run()
        finally:
            for running in self.running.values():
                running.send(signal.SIGKILL)

    def log(self, name: str) -> str:
        """The output of a pod's process."""
        return "".join(
            (running.folder / "log").read_text() for running in self.running.values() if running.address[1] == name
        )

    def kill(self, uid: str) -> None:
        """Kill the process of a pod, so that it cannot report."""
        self.running[uid].send(signal.SIGKILL)

    def _changed(self, change: Notice[Pod]) -> None:
        if isinstance(change, Unreadable):
            raise TypeError(change.message)
        pod = change.item or change.previous or {}
        running = self.running.get(pod["metadata"]["uid"])
        if running is None:
            if change.item is not None and _is_schedulable(pod):
                running = RunningPod(pod=pod, folder=self._folder / pod["metadata"]["uid"])
                self.running[pod["metadata"]["uid"]] = running
                self._group.create_task(self._run_pod(running))
        elif change.item is None:
            running.send(signal.SIGKILL)
        elif "deletionTimestamp" in pod["metadata"] and not running.deleting:
            running.deleting = True
            running.send(signal.SIGTERM)
            grace = pod["metadata"].get("deletionGracePeriodSeconds", 10)
            asyncio.get_running_loop().call_later(grace, running.send, signal.SIGKILL)

    async def _run_pod(self, running: RunningPod) -> None:
        with suppress(errors.NotFound, errors.Conflict, errors.LostRace):
            await self._retry(lambda: self._bind(running))
            await self._start(running)
            await self._retry(lambda: self._report(running, "Running", {"running": {}}))
            code = await running.process.wait() if running.process is not None else 137
            await asyncio.sleep(_TERMINATION_SECONDS)
            running.ended = True
            await self._retry(
                lambda: self._report(running, "Failed" if code else "Succeeded", _terminated(running, code))
            )
            if running.deleting:
                namespace, name = running.address
                uid = running.pod["metadata"]["uid"]
                await self._retry(lambda: self._api.delete(PODS, namespace, name, uid=uid, grace_seconds=0))

    async def _bind(self, running: RunningPod) -> None:
        namespace, name = running.address
        uid = running.pod["metadata"]["uid"]
        metadata, target = {"name": name, "uid": uid}, {"kind": "Node", "name": NODE}
        body = {"apiVersion": "v1", "kind": "Binding", "metadata": metadata, "target": target}
        answer = await self._api.transport.request("POST", PODS.path(namespace, name, "binding"), body=body)
        if answer.status >= 400 and answer.status != 409:  # bound already, by a request that got no response
            raise errors.from_response(answer)

    async def _start(self, running: RunningPod) -> None:
        running.folder.mkdir()
        argv = [*running.container.get("command", []), *running.container.get("args", [])]
        argv = [word.replace(_TERMINATION_LOG, str(running.folder / "message")) for word in argv]
        if running.is_worker:
            (running.folder / "ca.crt").write_text(self._ca)
            for source in _tokens(running.pod):
                await self._retry(partial(self._renew_token, running, source))
            argv = [sys.executable, "-m", "tests.integration.controller.in_pod", str(running.folder)]
        else:
            with self.notes.open("a") as notes:
                notes.write(f"{running.pod['metadata']['labels'][constants.LABEL_TASKRUN_UID]} {running.address[1]}\n")
        if running.deleting:
            return
        with (running.folder / "log").open("w") as log:
            running.process = await asyncio.create_subprocess_exec(
                *argv,
                env=self._environment(running),
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
            )

    async def _renew_token(self, running: RunningPod, source: Mapping[str, Any]) -> None:
        namespace, name = running.address
        bound = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": running.pod["metadata"]["uid"]}
        account = running.pod["spec"]["serviceAccountName"]
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{account}/token"
        spec = {"boundObjectRef": bound} | ({"audiences": [source["audience"]]} if "audience" in source else {})
        answer = await self._api.transport.request("POST", path, body=_TOKEN | {"spec": spec})
        if answer.status >= 400:
            raise errors.from_response(answer)
        (running.folder / source["path"]).write_text(answer.body["status"]["token"])

    def _environment(self, running: RunningPod) -> dict[str, str]:
        pod, container = running.pod, running.container
        own = {each["name"]: each.get("value", "") for each in container.get("env", []) if "valueFrom" not in each}
        own = {name: value.replace("$$", "$") for name, value in own.items()}
        if own.get(constants.ENV_OUTCOME) == _TERMINATION_LOG:
            own[constants.ENV_OUTCOME] = str(running.folder / "message")
        own |= {each["name"]: pod["metadata"]["uid"] for each in container.get("env", []) if "valueFrom" in each}
        return own | {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": PYTHON_PATH,
            "KUBERNETES_SERVICE_HOST": str(self._server.hostname),
            "KUBERNETES_SERVICE_PORT": str(self._server.port),
            ENV_NOTES: str(self.notes),
        }

    async def _report(self, running: RunningPod, phase: str, state: Mapping[str, Any]) -> None:
        namespace, name = running.address
        container = {
            "name": running.container["name"],
            "image": running.container["image"],
            "imageID": "",
            "ready": phase == "Running",
            "restartCount": 0,
            "state": state,
        }
        ops = [
            {"op": "test", "path": "/metadata/uid", "value": running.pod["metadata"]["uid"]},
            {"op": "add", "path": "/status/phase", "value": phase},
            {"op": "add", "path": "/status/containerStatuses", "value": [container]},
        ]
        await self._api.patch(PODS, namespace, name, ops, subresource="status")

    async def _retry(self, act: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await act()
            except errors.ApiUnavailable:
                await asyncio.sleep(0.5)
            else:
                return


def _is_schedulable(pod: Pod) -> bool:
    """Whether a scheduler would bind it to this node now, which has no labels. Only pods of TaskRuns are run."""
    owners = pod["metadata"].get("ownerReferences", [])
    fresh = "deletionTimestamp" not in pod["metadata"] and "nodeName" not in pod["spec"]
    held_back = pod["spec"].get("schedulingGates") or pod["spec"].get("nodeSelector")
    return fresh and not held_back and any(owner["kind"] == "TaskRun" for owner in owners)


def _terminated(running: RunningPod, code: int) -> Mapping[str, Any]:
    message = running.folder / "message"
    text = message.read_text() if message.exists() else ""
    code = code if code >= 0 else 128 - code
    return {"terminated": {"exitCode": code, "reason": "Error" if code else "Completed", "message": text}}


def _tokens(pod: Pod) -> Iterator[Mapping[str, Any]]:
    """The projected tokens of the pod: for the API server, and for an audience."""
    for volume in pod["spec"].get("volumes", []):
        for source in volume.get("projected", {}).get("sources", []):
            if "serviceAccountToken" in source:
                yield source["serviceAccountToken"]

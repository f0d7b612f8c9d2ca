"""Runs the containers of pods as processes of this machine, without root, for the kubelet of the tests.

For a python task it starts the real worker, with the environment of the pod and a token that is bound to the pod; for a
container task the command. Its requests are those of the administrator.
"""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from torpor_dev.offline import golang
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_wire import constants

from tests.integration.controller.tasks import ENV_NOTES
from tests.support.kubelet.api_kubelet import ContainerExit, Pod, retry

ROOT = Path(__file__).resolve().parents[4]
PYTHON_PATH = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
NODE = "tests"
_KILLED = 137
_TERMINATION_SECONDS = 0.2
_TERMINATION_LOG = "/dev/termination-log"
_TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
_TOOL = f"{constants.RUNTIME_FOLDER}/torpor-tool"
_WORKERS = (["python", "-m", "torpor"], ["python3", "/torpor/start.py"])


@dataclass(slots=True, kw_only=True, eq=False)
class PodFolder:
    """The files of a pod and its process, once that has started. `stopped`: it must not start."""

    folder: Path
    process: asyncio.subprocess.Process | None = None
    stopped: bool = False

    def send(self, number: signal.Signals) -> None:
        self.stopped = True
        if self.process is not None and self.process.returncode is None:
            with suppress(ProcessLookupError):
                self.process.send_signal(number)

    def message(self) -> str:
        """Return what the process wrote as its termination message."""
        path = self.folder / "message"
        return path.read_text() if path.exists() else ""


class PodProcesses:
    """The processes of one node. `server` and `ca` are the API server's address and CA certificate for pods."""

    def __init__(self, api: Api, *, folder: Path, server: str, ca: str) -> None:
        self.python_paths: dict[str, str] = {}
        """Of images that have the worker of another version."""
        self.notes = folder / "notes"
        self.notes.touch()
        self._api = api
        self._folder = folder
        self._server, self._ca = urlsplit(server), ca
        self._pods: dict[str, PodFolder] = {}

    def send(self, uid: str, number: signal.Signals) -> None:
        self._pod(uid).send(number)

    async def start(self, pod: Pod) -> None:
        files, container = self._pod(pod["metadata"]["uid"]), pod["spec"]["containers"][0]
        files.folder.mkdir()
        command = container.get("command", [])
        argv = [word.replace(_TERMINATION_LOG, str(files.folder / "message")) for word in command]
        argv += [word.replace(_TERMINATION_LOG, str(files.folder / "message")) for word in container.get("args", [])]
        (files.folder / "ca.crt").write_text(self._ca)
        for source in _tokens(pod):
            token = await retry(partial(self._create_token, pod, source))
            (files.folder / source["path"]).write_text(token)
        if command in _WORKERS:
            argv = [sys.executable, "-m", "tests.integration.controller.in_pod", str(files.folder)]
        else:
            argv = _with_tool(argv, files.folder)
            with self.notes.open("a") as notes:
                notes.write(f"{pod['metadata']['labels'][constants.LABEL_TASKRUN_UID]} {pod['metadata']['name']}\n")
        if files.stopped:
            return
        with (files.folder / "log").open("w") as log:
            files.process = await asyncio.create_subprocess_exec(
                *argv, env=self._environment(pod, files.folder), stdout=log, stderr=subprocess.STDOUT, cwd=ROOT
            )

    async def wait(self, pod: Pod) -> ContainerExit:
        files = self._pod(pod["metadata"]["uid"])
        code = await files.process.wait() if files.process is not None else _KILLED
        await asyncio.sleep(_TERMINATION_SECONDS)
        return ContainerExit(code, files.message())

    def _pod(self, uid: str) -> PodFolder:
        return self._pods.setdefault(uid, PodFolder(folder=self._folder / uid))

    async def _create_token(self, pod: Pod, source: Mapping[str, Any]) -> str:
        namespace, name = pod["metadata"]["namespace"], pod["metadata"]["name"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": name, "uid": pod["metadata"]["uid"]}
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{pod['spec']['serviceAccountName']}/token"
        spec = {"boundObjectRef": bound} | ({"audiences": [source["audience"]]} if "audience" in source else {})
        response = await self._api.transport.request("POST", path, body=_TOKEN | {"spec": spec})
        if response.status >= 400:
            raise errors.from_response(response)
        return str(response.body["status"]["token"])

    def _environment(self, pod: Pod, folder: Path) -> dict[str, str]:
        variables = pod["spec"]["containers"][0].get("env", [])
        own = {each["name"]: each.get("value", "").replace("$$", "$") for each in variables}
        if own.get(constants.ENV_OUTCOME) == _TERMINATION_LOG:
            own[constants.ENV_OUTCOME] = str(folder / "message")
        own |= {each["name"]: pod["metadata"]["uid"] for each in variables if "valueFrom" in each}
        return own | {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": self.python_paths.get(pod["spec"]["containers"][0].get("image", ""), PYTHON_PATH),
            "KUBERNETES_SERVICE_HOST": str(self._server.hostname),
            "KUBERNETES_SERVICE_PORT": str(self._server.port),
            ENV_NOTES: str(self.notes),
        }


def _with_tool(argv: list[str], credentials: Path) -> list[str]:
    """Return the command with the tool of this machine: no init container copies it, and no volume is mounted."""
    if argv[0] != _TOOL:
        return argv
    return [str(golang.build(golang.TORPOR_TOOL)), argv[1], "--credentials", str(credentials), *argv[2:]]


def _tokens(pod: Pod) -> Iterator[Mapping[str, Any]]:
    """Return the projected tokens of the pod: for the API server, and for an audience."""
    for volume in pod["spec"].get("volumes", []):
        for source in volume.get("projected", {}).get("sources", []):
            if "serviceAccountToken" in source:
                yield source["serviceAccountToken"]

"""The environment of these tests: two controllers and a triggerer, each behind a recording proxy, and Workflows.

All tests share the processes. A test that ends one starts another.
"""

import itertools
import json
import os
import subprocess
import sys
import time
import uuid
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torpor_wire import constants

from tests.integration.conftest import Server, collection
from tests.integration.controller.pods.processes import PYTHON_PATH, PodProcesses
from tests.integration.controller.recording_proxy import RecordingProxy
from tests.support.controller_process import Plane
from tests.support.manifests import manifest
from tests.support.ports import free_port

PYTHON = "tests.integration.controller.tasks"
_LEASE = "/apis/coordination.k8s.io/v1/namespaces/torpor-system/leases/torpor-operator"
_JSON_PATCH = "application/json-patch+json"
_UNEXPECTED = "unexpected error;"
# A machine may be busy with other work: only a test that fails waits for so long.
_TIMEOUT = 180.0
Object = dict[str, Any]


@dataclass(kw_only=True)
class ControllerProcess:
    """A process with its log and its proxy."""

    identity: str
    process: subprocess.Popen[bytes]
    log: Path
    proxy: RecordingProxy
    read: int = 0

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    @property
    def saw_lease(self) -> bool:
        """Whether it has read the Lease: from then on it measures how long the Lease is not renewed."""
        return any(call.about_leases for call in self.proxy.calls)

    def text(self) -> str:
        return self.log.read_text()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


@dataclass(kw_only=True)
class ControllerFixture:
    """All that runs. `open_proxy` starts a proxy."""

    plane: Plane
    pods: PodProcesses
    folder: Path
    open_proxy: Callable[[], RecordingProxy]
    namespace: str
    processes: list[ControllerProcess] = field(default_factory=list)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    @property
    def server(self) -> Server:
        return self.plane.server

    # processes

    def start_controller(self) -> ControllerProcess:
        identity = f"controller-{next(self.numbers)}"
        liveness = f"http://127.0.0.1:{free_port()}/healthz"
        flags = ["--liveness", liveness, "--metrics-port", "0", "--archive-grace", "1", "--stray-grace", "2"]
        flags += ["--state-folder", str(self.folder)]
        token = str(self._token("torpor-operator"))
        return self._start(identity, "torpor-operator", ["torpor_operator", *flags, "--token-file", token])

    def start_triggerer(self) -> ControllerProcess:
        own = ["--trigger", f"{PYTHON}.Elsewise", "--allow-networks", "127.0.0.0/8"]
        return self._start("triggerer", "torpor-triggerer", ["torpor_triggerer", "--health-port", "0", *own])

    def controllers(self) -> list[ControllerProcess]:
        return [process for process in self.processes if process.identity.startswith("controller") and process.alive]

    def holder(self) -> str:
        return str(self.server.request("GET", _LEASE).body.get("spec", {}).get("holderIdentity", ""))

    def leader(self) -> ControllerProcess:
        """The running controller that holds the Lease."""
        self.until(
            lambda: self.holder() in [controller.identity for controller in self.controllers()], "a controller leads"
        )
        holder = self.holder()
        return next(controller for controller in self.controllers() if controller.identity == holder)

    def standby(self) -> ControllerProcess:
        leader = self.leader()
        return next(controller for controller in self.controllers() if controller is not leader)

    def assert_still_leads(self, leader: ControllerProcess) -> None:
        """Nothing has ended this leader; on a busy machine it may have renewed its Lease too late."""
        assert self.leader() is leader or "LeaseLost" in leader.text() or "Timeout (" in leader.text()

    def assert_no_bug(self) -> None:
        """Assert that no process has logged an exception since the last call, except for the loss of its Lease."""
        for process in self.processes:
            log = process.text()[process.read :]
            process.read += len(log)
            assert _UNEXPECTED not in log, log
            # kopf exits after status 410 to its watch, and the process with it.
            expected = "LeaseLost" in log or "a fault of 410" in log
            assert "Traceback" not in log or expected, log

    def skip_log(self, identity: str) -> None:
        """Take what a process has logged until now as expected: the traceback of a trigger that failed."""
        for process in self.processes:
            if process.identity == identity:
                process.read = len(process.text())

    # workflows

    def submit(self, tasks: Sequence[Mapping[str, Any]], name: str = "", **spec: Any) -> str:
        """Create a Workflow of these tasks. Returns its name."""
        name = name or f"run-{uuid.uuid4().hex[:8]}"
        body = manifest("Workflow", name, {"image": "tests", "tasks": list(tasks), **spec})
        self.server.create("workflows", self.namespace, body).expect(201)
        return name

    def change(self, plural: str, name: str, ops: Sequence[Mapping[str, Any]], subresource: str = "") -> Object:
        """Apply a JSON Patch as the administrator."""
        path = f"{collection(plural, self.namespace)}/{name}" + (f"/{subresource}" if subresource else "")
        return self.server.request("PATCH", path, list(ops), content_type=_JSON_PATCH).expect(200)

    def cancel(self, workflow: str) -> None:
        self.change("workflows", workflow, [{"op": "add", "path": "/spec/cancel", "value": True}])

    def get(self, plural: str, name: str) -> Object:
        return self.server.request("GET", f"{collection(plural, self.namespace)}/{name}").expect(200)

    def status(self, workflow: str) -> Object:
        return dict(self.get("workflows", workflow).get("status", {}))

    def state(self, workflow: str) -> str:
        return str(self.status(workflow).get("state", ""))

    def taskruns(self, workflow: str) -> list[Object]:
        """The TaskRuns whose spec names the Workflow, by task and index."""
        items = self.server.request("GET", collection("taskruns", self.namespace)).expect(200)["items"]
        mine = [item for item in items if item["spec"].get("workflow", {}).get("name") == workflow]
        return sorted(mine, key=lambda taskrun: (taskrun["spec"]["task"], taskrun["spec"].get("mapIndex", -1)))

    def taskrun(self, workflow: str, task: str) -> Object:
        """Wait for the first TaskRun of a task."""
        self.until(lambda: any(run["spec"]["task"] == task for run in self.taskruns(workflow)), f"{task} has begun")
        return next(run for run in self.taskruns(workflow) if run["spec"]["task"] == task)

    def ends(self, workflow: str, timeout: float = _TIMEOUT) -> Object:
        """Wait for the end of the run. Returns the status of the Workflow."""
        deadline = time.monotonic() + timeout
        while "completionTime" not in self.status(workflow):
            if time.monotonic() > deadline:
                runs = [(run["metadata"]["name"], run["status"]) for run in self.taskruns(workflow)]
                raise AssertionError(f"after {timeout:.0f} s {workflow} has not ended: {runs}\n{self._logs()}")
            self._restart()
            time.sleep(0.1)
        return self.status(workflow)

    def set_status(self, run: Object, **fields: Any) -> None:
        """Edit the status of a TaskRun as the administrator."""
        ops = [{"op": "add", "path": f"/status/{name}", "value": value} for name, value in fields.items()]
        self.change("taskruns", run["metadata"]["name"], ops, "status")

    def pods_of(self, run: Object) -> list[Object]:
        """The pods that are named after the TaskRun."""
        items = self.server.request("GET", collection("pods", self.namespace)).expect(200)["items"]
        return [item for item in items if item["metadata"]["name"].startswith(f"{run['metadata']['name']}-a")]

    def events(self, name: str) -> list[str]:
        """The reasons of the Events on an object of this name."""
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        items = self.server.request("GET", path).expect(200)["items"]
        return [item["reason"] for item in items if item["regarding"]["name"] == name]

    def notes(self, workflow: str) -> list[str]:
        """The lines that the processes of the Workflow's tasks wrote when they started."""
        uids = {run["metadata"]["uid"] for run in self.taskruns(workflow)}
        return [line for line in self.pods.notes.read_text().splitlines() if line.split()[0] in uids]

    def assert_none_twice(self, workflow: str) -> None:
        notes = self.notes(workflow)
        assert len(notes) == len(set(notes)), notes

    def until(self, holds: Callable[[], bool], what: str, timeout: float = _TIMEOUT) -> None:
        deadline = time.monotonic() + timeout
        while not holds():
            assert time.monotonic() < deadline, f"after {timeout:.0f} s still not: {what}\n{self._logs()}"
            self._restart()
            time.sleep(0.1)

    def _restart(self) -> None:
        """As a kubelet does: a controller that lost its Lease ends, and on a busy machine each may lose it."""
        if not self.controllers():
            self.start_controller()

    def _token(self, account: str) -> Path:
        path = self.folder / f"{account}.token"
        path.write_text(self.server.token("torpor-system", account, audience=constants.ARCHIVE_AUDIENCE))
        return path

    def _logs(self) -> str:
        return "\n".join(
            f"{process.identity}, {process.process.poll()}:\n{process.text()[-3000:]}" for process in self.processes
        )

    def _start(self, identity: str, account: str, arguments: Iterable[str]) -> ControllerProcess:
        proxy = self.open_proxy()
        log, config = self.folder / f"{identity}.log", self.folder / f"{identity}.kubeconfig"
        config.write_text(kubeconfig_of(proxy.url, self.server.token("torpor-system", account)))
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", *arguments, "--identity", identity, "--namespace", "torpor-system"],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=os.environ | {"KUBECONFIG": str(config), "PYTHONPATH": PYTHON_PATH},
            )
        started = ControllerProcess(identity=identity, process=process, log=log, proxy=proxy)
        self.processes.append(started)
        return started


def limit_memory(stage: ControllerFixture, name: str, memory: str) -> str:
    """Create a ResourceQuota, and return its path once the API server counts by it."""
    path = f"/api/v1/namespaces/{stage.namespace}/resourcequotas"
    hard = {"requests.memory": memory}
    body = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": name}, "spec": {"hard": hard}}
    stage.server.request("POST", path, body).expect(201)
    # What the controller of quotas would write; without it the admission has nothing to count by.
    ops = [{"op": "add", "path": "/status", "value": {"hard": hard, "used": {"requests.memory": "0"}}}]
    stage.server.request("PATCH", f"{path}/{name}/status", ops, content_type=_JSON_PATCH).expect(200)
    # A pod without requests is rejected by any quota.
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe"}, "spec": restricted_pod_spec()}

    def counts() -> bool:
        return "failed quota" in stage.server.create("pods", stage.namespace, pod, dryRun="All").message

    stage.until(counts, "the quota is in force")
    return f"{path}/{name}"


def restricted_pod_spec() -> Object:
    """A pod that Pod Security `restricted` allows."""
    safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "main", "image": "x", "securityContext": safe}],
    }


def python(name: str, function: str, **fields: Any) -> Object:
    """A python task."""
    return {"name": name, "python": f"{PYTHON}:{function}", **fields}


def shell(name: str, script: str, **fields: Any) -> Object:
    """A container task."""
    return {"name": name, "container": {"command": ["sh", "-c", script]}, **fields}


def shell_with_outcome(name: str, script: str, **fields: Any) -> Object:
    """A container task that may write outcome documents."""
    return {"name": name, "container": {"command": ["sh", "-c", script], "outcome": True}, **fields}


def kubeconfig_of(url: str, token: str, authority: str = "") -> str:
    """A kubeconfig of one cluster and the user of a token. `authority` is the CA certificate of an HTTPS server."""
    trusted = {"certificate-authority-data": b64encode(authority.encode()).decode()} if authority else {}
    context = {"cluster": "tests", "user": "tests"}
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "tests", "cluster": {"server": url, **trusted}}],
            "users": [{"name": "tests", "user": {"token": token}}],
            "contexts": [{"name": "tests", "context": context}],
            "current-context": "tests",
        }
    )

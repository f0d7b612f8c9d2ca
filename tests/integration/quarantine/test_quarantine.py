"""An object at which the operator ends waits in quarantine, whatever ended the operator, and nobody else waits."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_dev import control_plane

from tests.integration.conftest import Server, _connect, _namespace_manifest, collection, eventually, install
from tests.integration.quarantine.poisoned_operator import FAULTS
from tests.support.manifests import manifest
from tests.support.ports import free_port

_LEASE = "/apis/coordination.k8s.io/v1/namespaces/torpor-system/leases/torpor-operator"


class RestartingOperator:
    """The one replica of an operator, which starts again whenever it ends, as a container does."""

    def __init__(self, kubeconfig: Path, folder: Path) -> None:
        self.ends: list[int] = []
        self._folder = folder
        self._environment = os.environ | {"KUBECONFIG": str(kubeconfig)}
        self._stopped = False
        self._process = self._start()
        self._thread = threading.Thread(target=self._restart)
        self._thread.start()

    def stop(self) -> None:
        """End it for good."""
        self._stopped = True
        self._process.kill()
        self._thread.join()

    def log(self) -> str:
        """What it has printed."""
        return (self._folder / "log").read_text()

    def _restart(self) -> None:
        while True:
            code = self._process.wait()
            if self._stopped:
                return
            self.ends.append(code)
            self._process = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        liveness = f"http://127.0.0.1:{free_port()}/healthz"
        flags = [
            "--identity",
            "replica",
            "--state-folder",
            str(self._folder),
            "--liveness",
            liveness,
            "--metrics-port",
            "0",
        ]
        flags += ["--hang-cpu", "2", "--hang", "20"]
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "tests.integration.quarantine.poisoned_operator", *flags],
                env=self._environment,
                stdout=log,
                stderr=subprocess.STDOUT,
            )


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """An API server of this module's own: its operator acts on every namespace."""
    state = tmp_path_factory.mktemp("plane")
    kubeconfig = control_plane.start(state)
    server = _connect(kubeconfig)
    try:
        install(server)
        yield server, kubeconfig
    finally:
        server.administrator.clear()
        server.stranger.clear()
        control_plane.stop(state)


@pytest.fixture(scope="module")
def replica(plane: tuple[Server, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartingOperator]:
    """An operator with faults."""
    replica = RestartingOperator(plane[1], tmp_path_factory.mktemp("replica"))
    try:
        yield replica
    finally:
        replica.stop()


def _namespace(server: Server, name: str) -> str:
    for document in yaml.safe_load_all(_namespace_manifest(name)):
        server.apply(document)
    return name


def _submit(server: Server, namespace: str, name: str) -> None:
    """A Workflow that ends without a pod."""
    task = {"name": "first", "python": "module:function", "when": "false"}
    body = manifest("Workflow", name, {"image": "tests", "tasks": [task]})
    server.create("workflows", namespace, body).expect(201)


def _status(server: Server, namespace: str, name: str) -> dict[str, Any]:
    workflow = server.request("GET", f"{collection('workflows', namespace)}/{name}").expect(200)
    return dict(workflow.get("status", {}))


def _condition(server: Server, namespace: str, name: str) -> dict[str, Any]:
    conditions = _status(server, namespace, name).get("conditions", [])
    return next((each for each in conditions if each["type"] == "Quarantined"), {})


def _reasons(server: Server, namespace: str) -> list[str]:
    path = f"/apis/events.k8s.io/v1/namespaces/{namespace}/events"
    return [event["reason"] for event in server.request("GET", path).expect(200)["items"]]


@pytest.mark.attack
@pytest.mark.parametrize("fault", FAULTS)
def test_a_workflow_that_ends_the_operator_stops_no_other_one(
    fault: str, plane: tuple[Server, Path], replica: RestartingOperator
) -> None:
    server, before = plane[0], len(replica.ends)
    namespace, neighbour = _namespace(server, f"fault-{fault}"), _namespace(server, f"neighbour-{fault}")
    _submit(server, namespace, fault)
    eventually(lambda: len(replica.ends) > before, f"the operator ends: {replica.log()[-2000:]}")
    _submit(server, neighbour, "honest")
    eventually(lambda: "completionTime" in _status(server, neighbour, "honest"), "the neighbour ends")
    assert len(replica.ends) == before + 1, "the operator ended once for it, and not again before the neighbour's run"
    eventually(lambda: _condition(server, namespace, fault).get("status") == "True", "it is reported")
    assert _condition(server, namespace, fault)["reason"] == "OperatorEnded"
    assert "this Workflow" in _condition(server, namespace, fault)["message"]
    eventually(lambda: "OperatorEnded" in _reasons(server, namespace), "an Event says so")
    server.request("DELETE", f"{collection('workflows', namespace)}/{fault}").expect(200)
    annotations = server.request("GET", _LEASE).expect(200)["metadata"]["annotations"]
    assert fault in annotations["torpor.dev/quarantine"]

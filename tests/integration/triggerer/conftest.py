"""Triggerers as processes, each with the token of the installed service account, on a pool of the session's own."""

import json
import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_crds.models import taskrun
from torpor_wire import constants, transitions, trigger
from torpor_wire.reason import Reason

from tests.support.manifests import manifest

_ROOT = Path(__file__).resolve().parents[3]
_GROUP = "rbac.authorization.k8s.io"
_LOOPBACK = ("--allow-networks", "127.0.0.0/8")
"""Where the servers of these tests listen."""
_TRIGGERS = (
    "raises=Raises",
    "ends=Ends",
    "too_much=TooMuch",
    "killed=Killed",
    "appears=Appears",
    "shows=Shows",
    "pkg.Foreign=Foreign",
    "blocks=blocks:Blocks",
    "spins=blocks:Spins",
    "poison=poison:Poison",
)
# For a machine that is busy with other work: only a test that fails waits for so long.
_TIMEOUT = 180.0


@dataclass(kw_only=True)
class TriggererProcess:
    """One process."""

    process: subprocess.Popen[str]
    log: Path

    def text(self) -> str:
        return self.log.read_text()

    @property
    def health(self) -> str:
        port = self.text().partition("health on port ")[2].partition("\n")[0]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=60) as response:
                return str(response.read().decode())
        except urllib.error.HTTPError as complaint:
            return str(complaint.read().decode())


@dataclass(kw_only=True)
class Pool:
    """A trigger pool with its replicas, and the TaskRuns that wait in it."""

    server: Any
    namespace: str
    name: str
    folder: Path
    kubeconfig: Path
    token: str
    replicas: list[TriggererProcess] = field(default_factory=list)

    def start(self, leases_in: str = "torpor-system", more: Sequence[str] = (), identity: str = "") -> TriggererProcess:
        """A replica that holds its Lease; those that hold them in other namespaces do not know of each other."""
        identity = identity or f"r{len(self.replicas)}-{uuid.uuid4().hex[:5]}"
        log = self.folder / f"{identity}.log"
        arguments = ["--pool", self.name, "--identity", identity, "--health-port", "0", "--lease-duration", "3"]
        arguments += ["--namespace", leases_in, "--trigger", "pkg.Gone=pkg.gone:Gone", *_LOOPBACK, *more]
        for definition in _TRIGGERS:
            name, _, cls = definition.partition("=")
            target = cls if ":" in cls else f"bad_triggers:{cls}"
            arguments += ["--trigger", f"{name}=tests.integration.triggerer.{target}"]
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "torpor_triggerer", "--kubeconfig", str(self.kubeconfig), *arguments],
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                env=os.environ | {"PYTHONPATH": str(_ROOT)},
            )
        replica = TriggererProcess(process=process, log=log)
        self.replicas.append(replica)
        self.until(lambda: f"-{identity}" in replica.text().partition("members: ")[2], "it is a member", replica)
        return replica

    def deferred(self, class_name: str, kwargs: Mapping[str, Any], **given: Any) -> str:
        """A TaskRun that has just been deferred; its name."""
        name = f"wait-{uuid.uuid4().hex[:8]}"
        spec = {"workflow": {"name": "w", "uid": "u"}, "task": "t", "triggerPool": self.name}
        body = manifest("TaskRun", name, {**spec, **given.get("spec", {"python": "m:f", "image": "i"})})
        created = taskrun.parse(self.server.create("taskruns", self.namespace, body).expect(201))
        now = time.time()
        account = created.spec.service_account or constants.TASK_ACCOUNT
        place = {"namespace": self.namespace, "pool": self.name, "account": account, "taskrun": name}
        waiting = trigger.build(class_name, kwargs, **place, now=now)
        waiting = waiting._replace(**given.get("trigger", {}))
        timeout = given.get("timeout")
        deadline = None if timeout is None else now + timeout
        resume = {"method": "m:f", "kwargs": "{}", "onTimeout": given.get("on_timeout")}
        patch = transitions.defer(created.pin(), waiting, resume=resume, deadline=deadline, now=now)
        self.server.patch_status(self.namespace, name, patch).expect(200)
        return name

    def cancel(self, name: str) -> None:
        patch = transitions.ask_cancel(self._read(name).pin(), now=time.time())
        self.server.patch_status(self.namespace, name, patch).expect(200)

    def ends(self, name: str, timeout: float = _TIMEOUT) -> taskrun.TaskRunStatus:
        """Its status once it no longer waits."""
        self.until(lambda: self._read(name).status.state != "Deferred", f"{name} no longer waits", timeout=timeout)
        return self._read(name).status

    def status(self, name: str) -> taskrun.TaskRunStatus:
        return self._read(name).status

    def waits(self, name: str) -> bool:
        return self._read(name).status.state == "Deferred"

    def events(self, name: str, kind: str = "Warning", *, blocks: bool = False) -> list[tuple[str, str]]:
        """Reason and note of the Events on a TaskRun; without `blocks`, not that it kept the event loop.

        A busy machine may keep any code from its end for that long.
        """
        path = f"/apis/events.k8s.io/v1/namespaces/{self.namespace}/events"
        items = self.server.request("GET", path).expect(200)["items"]
        mine = [item for item in items if item["regarding"]["name"] == name and item["type"] == kind]
        mine = [item for item in mine if blocks or item["reason"] != Reason.LOOP_BLOCKED]
        return [(item["reason"], item["note"]) for item in mine]

    def leases(self) -> list[str]:
        path = "/apis/coordination.k8s.io/v1/namespaces/torpor-system/leases"
        query = {"labelSelector": f"torpor.dev/trigger-pool={self.name}"}
        return [item["metadata"]["name"] for item in self.server.request("GET", path, **query).expect(200)["items"]]

    def until(
        self, holds: Callable[[], bool], what: str, replica: TriggererProcess | None = None, timeout: float = _TIMEOUT
    ) -> None:
        end, pause = time.monotonic() + timeout, 0.05
        while not holds():
            logs = (replica or self.replicas[-1]).text()
            assert time.monotonic() < end, f"after {timeout:.0f} s still not: {what}\n{logs}"
            time.sleep(pause)
            pause = min(2 * pause, 0.25)

    def _read(self, name: str) -> taskrun.TaskRun:
        path = f"/apis/torpor.dev/v1alpha1/namespaces/{self.namespace}/taskruns/{name}"
        return taskrun.parse(self.server.request("GET", path).expect(200))


@pytest.fixture
def empty_pool(server: Any, namespace: str, kubeconfig: Path, tmp_path: Path) -> Iterator[Pool]:
    """A pool without a replica."""
    with _opened(server, namespace, kubeconfig, tmp_path) as pool:
        yield pool


@pytest.fixture(scope="session")
def pool(
    server: Any, open_namespace: Callable[[], str], kubeconfig: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Pool]:
    """A pool with one replica, for all tests that leave it running."""
    with _opened(server, open_namespace(), kubeconfig, tmp_path_factory.mktemp("pool")) as pool:
        pool.start()
        yield pool


@contextmanager
def _opened(server: Any, namespace: str, kubeconfig: Path, folder: Path) -> Iterator[Pool]:
    """A pool that the installed triggerer's account may fire: a new pool takes a role and nothing else."""
    name = f"pool-{uuid.uuid4().hex[:6]}"
    account = {"kind": "ServiceAccount", "name": "torpor-triggerer", "namespace": "torpor-system"}
    rule = {"apiGroups": ["torpor.dev"], "resources": ["triggerpools"], "resourceNames": [name], "verbs": ["fire"]}
    role = {"apiVersion": f"{_GROUP}/v1", "kind": "ClusterRole", "metadata": {"name": name}, "rules": [rule]}
    reference = {"apiGroup": _GROUP, "kind": "ClusterRole", "name": name}
    binding = {**role, "kind": "ClusterRoleBinding", "roleRef": reference, "subjects": [account]}
    del binding["rules"]
    server.apply(role)
    server.apply(binding)
    for document in _seal(name, account):
        server.apply(document)
    token = server.token("torpor-system", "torpor-triggerer")
    pool = Pool(
        server=server,
        namespace=namespace,
        name=name,
        folder=folder,
        token=token,
        kubeconfig=_with_token(kubeconfig, token, folder / "kubeconfig"),
    )
    try:
        yield pool
    finally:
        for replica in pool.replicas:
            replica.process.kill()
            replica.process.wait()
        for plural in ("clusterrolebindings", "clusterroles"):
            server.request("DELETE", f"/apis/{_GROUP}/v1/{plural}/{name}")


def _seal(pool: str, account: dict[str, str]) -> Iterator[dict[str, Any]]:
    """What a pool has for its key pair, as its component installs it."""
    name = f"torpor-seal-{pool}"
    metadata = {"name": name, "namespace": "torpor-system", "labels": {constants.LABEL_POOL: pool}}
    for kind in ("Secret", "ConfigMap"):
        yield {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    rule = {"apiGroups": [""], "resources": ["secrets", "configmaps"], "resourceNames": [name]}
    yield {
        "apiVersion": f"{_GROUP}/v1",
        "kind": "Role",
        "metadata": metadata,
        "rules": [{**rule, "verbs": ["get", "patch"]}],
    }
    reference = {"apiGroup": _GROUP, "kind": "Role", "name": name}
    binding = {"apiVersion": f"{_GROUP}/v1", "kind": "RoleBinding", "metadata": metadata, "roleRef": reference}
    yield {**binding, "subjects": [account]}


def _with_token(kubeconfig: Path, token: str, to: Path) -> Path:
    """The same cluster, as the user of the token."""
    config = yaml.safe_load(kubeconfig.read_text())
    for cluster in config["clusters"]:
        authority = cluster["cluster"].get("certificate-authority")
        if authority:
            cluster["cluster"]["certificate-authority"] = str(kubeconfig.parent / authority)
    config["users"] = [{"name": "triggerer", "user": {"token": token}}]
    for context in config["contexts"]:
        context["context"]["user"] = "triggerer"
    to.write_text(json.dumps(config))
    return to

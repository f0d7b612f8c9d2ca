"""All of Torpor as processes on a real control plane: two operators, two triggerers, an archive, and a kubelet.

Each component is behind a proxy of its own, and so are the task pods together. A component that ends is started again,
as a kubelet does.
"""

import shutil
import signal
import ssl
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import urllib3
from torpor_wire import constants, times

from tests.integration.archive.databases import Postgresql, Sqlite
from tests.integration.conftest import Answer, Server, collection
from tests.integration.controller.stage import PYTHON, kubeconfig_of
from tests.integration.faults.component import Component
from tests.integration.faults.effects.order_service import OrderService
from tests.integration.faults.faulty_proxy import FaultyProxy
from tests.integration.faults.host_names import API_SERVER, DATABASE, HostNames
from tests.integration.faults.kube_controllers import KubeControllers
from tests.integration.faults.node import ProcessNode
from tests.integration.faults.proxy_faults import ProxyFault
from tests.integration.faults.release import CURRENT, SourceRelease
from tests.integration.faults.small_disk import SmallDisk
from tests.integration.triggers.servers import s3
from tests.integration.triggers.servers.s3 import S3
from tests.support.controller_process import Plane
from tests.support.manifests import manifest
from tests.support.ports import free_port

SYSTEM = "torpor-system"
_LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases"
LEASE = f"{_LEASES}/torpor-operator"
TIMEOUT = 600.0
_TOKEN = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest"}
_TOKEN_SECONDS = 6 * 3600
_PAUSE = 0.1
Object = dict[str, Any]


@dataclass(kw_only=True, eq=False)
class ProcessInstallation:
    """`open_proxy` starts a proxy in the background; `pods` is the proxy of all task pods.

    `tls` is what all proxies serve with, and `authority` the CA certificate of its clients. Without `names`, processes
    use addresses. Without `objects`, the archive stores files in its database.
    """

    plane: Plane
    node: ProcessNode
    controllers: KubeControllers
    folder: Path
    database: Sqlite | Postgresql
    random: Random
    open_proxy: Callable[[], FaultyProxy]
    pods: FaultyProxy
    tls: ssl.SSLContext
    authority: str
    orders: OrderService
    names: HostNames | None = None
    objects: S3 | None = None
    object_disk: SmallDisk | None = None
    state_disk: SmallDisk | None = None
    """Of the operators' state folders."""
    release: SourceRelease = CURRENT
    keeps_journals: bool = True
    """Whether the folder of an operator outlives its process, so that objects are quarantined: else its pod is new."""
    components: dict[str, Component] = field(default_factory=dict)
    archive_port: int = field(default_factory=free_port)
    archive_health_port: int = field(default_factory=free_port)
    lease_seconds: int = 15
    """Of the operators' Lease. An upgrade hands it over; on a busy machine, a longer one is not lost meanwhile."""

    @property
    def server(self) -> Server:
        return self.plane.server

    @property
    def proxies(self) -> list[FaultyProxy]:
        return [*(component.proxy for component in self.components.values()), self.pods]

    # components

    def start(self) -> None:
        """Start all components, and wait until runs can be archived."""
        for number in range(2):
            self.add_operator(f"operator-{number}")
        for number in range(2):
            self.add_triggerer(f"triggerer-{number}")
        self.add_archive()
        self.until(lambda: bool(self.leader()), "an operator leads")
        self.until(self.archive_is_published, "the archive is published")

    def add_operator(self, name: str, release: SourceRelease | None = None) -> Component:
        """Start an operator. Each process has a state folder of its own, as each pod has."""
        token = self.folder / f"{name}.token"
        state = (self.state_disk.folder if self.state_disk else self.folder) / f"{name}-state"
        state.mkdir(exist_ok=True)
        flags = ["--liveness", f"http://127.0.0.1:{free_port()}/healthz", "--token-file", str(token)]
        flags += ["--state-folder", str(state), "--archive-grace", "1", "--identity", name, "--namespace", SYSTEM]
        flags += ["--lease-duration", str(self.lease_seconds)]
        flags += (release or self.release).operator_flags

        def prepare() -> None:
            token.write_text(self._token("torpor-operator", audiences=[constants.ARCHIVE_AUDIENCE]))
            if not self.keeps_journals:
                shutil.rmtree(state)
                state.mkdir()

        return self._add(name, "torpor-operator", ["torpor_operator", *flags], release, prepare=prepare)

    def add_triggerer(self, name: str, release: SourceRelease | None = None) -> Component:
        flags = ["--health-port", "0", "--trigger", f"{PYTHON}.Elsewise", "--identity", name, "--namespace", SYSTEM]
        flags += ["--allow-networks", "127.0.0.0/8"]
        return self._add(name, "torpor-triggerer", ["torpor_triggerer", *flags], release)

    def add_archive(self, name: str = "archive", release: SourceRelease | None = None) -> Component:
        port = str(self.archive_port)
        flags = ["--namespace", SYSTEM, "--url", f"https://127.0.0.1:{port}", "--port", port]
        flags += ["--health-port", str(self.archive_health_port), "--retry-timeout", "5"]
        flags += ["--kubeconfig", str(self.folder / f"{name}.kubeconfig")]
        database = self.database.url.replace("127.0.0.1", DATABASE) if self.names else self.database.url
        variables = {"DATABASE_URL": database}
        if self.objects:
            flags += ["--objects", f"s3://{s3.BUCKET}/objects"]
            variables |= s3.variables(self.objects)
        return self._add(name, "torpor-archive", ["torpor_archive", *flags], release, variables=variables)

    def named(self, kind: str) -> list[Component]:
        """The components whose names begin so."""
        return [component for name, component in self.components.items() if name.startswith(kind)]

    def leader(self) -> Component | None:
        """The running operator that holds the Lease."""
        holder = str(self.get(LEASE).body.get("spec", {}).get("holderIdentity", ""))
        component = self.components.get(holder)
        return component if component is not None and component.alive else None

    def await_leader(self) -> Component:
        self.until(lambda: self.leader() is not None, "an operator leads")
        return self.leader() or self.await_leader()

    def await_triggerer(self, name: str) -> None:
        """Wait until a triggerer that has just been started is a member of its pool."""
        started = time.time()
        path = f"{_LEASES}/torpor-triggerer-default-{name}"

        def is_member() -> bool:
            renewed = self.get(path).body.get("spec", {}).get("renewTime")
            return renewed is not None and times.epoch(renewed) > started

        self.until(is_member, f"{name} has renewed its Lease")

    def await_archive(self) -> None:
        """Wait until the archive is ready."""

        def is_ready() -> bool:
            try:
                url = f"http://127.0.0.1:{self.archive_health_port}/readyz"
                return urllib3.request("GET", url, retries=False, timeout=10.0).status == 200
            except urllib3.exceptions.HTTPError:
                return False

        self.until(is_ready, "the archive is ready")

    def disturb(self, rates: Mapping[ProxyFault, float]) -> None:
        """Let all proxies disturb requests at these rates."""
        for proxy in self.proxies:
            proxy.rates = rates

    def stop(self) -> None:
        """End all processes."""
        for component in self.components.values():
            component.held = True
            component.send(signal.SIGCONT)
            component.kill()

    def archive_is_published(self) -> bool:
        data = self.get(f"{collection('configmaps', SYSTEM)}/torpor-archive").body.get("data") or {}
        return bool(data.get("ca.crt"))

    # runs

    def submit(self, namespace: str, tasks: Iterable[Mapping[str, Any]], image: str = "", **spec: Any) -> str:
        """Create a Workflow of these tasks. Returns its name."""
        name = f"run-{uuid.uuid4().hex[:8]}"
        body = manifest("Workflow", name, {"image": image or self.release.image, "tasks": list(tasks), **spec})
        self.request("POST", collection("workflows", namespace), body).expect(201)
        return name

    def workflow(self, namespace: str, name: str) -> Object:
        return self.get(f"{collection('workflows', namespace)}/{name}").body

    def taskruns(self, namespace: str, workflow: str) -> list[Object]:
        """The TaskRuns of a Workflow."""
        return [
            run for run in self.items("taskruns", namespace) if run["spec"].get("workflow", {}).get("name") == workflow
        ]

    def items(self, plural: str, namespace: str) -> list[Object]:
        return list(self.get(collection(plural, namespace)).expect(200)["items"])

    def notes(self, taskruns: Iterable[Object]) -> list[str]:
        """The lines that the processes of these TaskRuns wrote when they started."""
        uids = {run["metadata"]["uid"] for run in taskruns}
        return [line for line in self.node.pods.notes.read_text().splitlines() if line.split()[0] in uids]

    # requests of the administrator, past the proxies

    def get(self, path: str) -> Answer:
        return self.request("GET", path)

    def request(self, method: str, path: str, body: object = None, **options: Any) -> Answer:
        """Repeat a request until the API server answers, also while it is down."""
        deadline = time.monotonic() + TIMEOUT
        while True:
            try:
                answer = self.server.request(method, path, body, **options)
            except (urllib3.exceptions.HTTPError, ValueError):
                assert time.monotonic() < deadline, f"no answer: {method} {path}"
            else:
                # An API server that has just started has not read the roles yet.
                if answer.status < 500 and answer.status not in {403, 429}:
                    return answer
                assert time.monotonic() < deadline, f"{method} {path}: {answer.status} {answer.message}"
            time.sleep(_PAUSE)

    def until(self, holds: Callable[[], bool], what: str, timeout: float = TIMEOUT) -> None:
        """Wait, and start again what has ended meanwhile."""
        deadline = time.monotonic() + timeout
        while not holds():
            assert time.monotonic() < deadline, f"after {timeout:.0f} s still not: {what}\n{self.logs()}"
            self.tend()
            time.sleep(_PAUSE)

    def tend(self) -> None:
        """Start each component that has ended and is not held."""
        self.node.check()
        self.controllers.tend()
        for component in self.components.values():
            if not component.alive and not component.held:
                component.start()

    def logs(self) -> str:
        return "\n".join(f"{name}:\n{component.tail()}" for name, component in self.components.items())

    def _add(  # noqa: PLR0913
        self,
        name: str,
        account: str,
        argv: list[str],
        release: SourceRelease | None,
        *,
        variables: Mapping[str, str] | None = None,
        prepare: Callable[[], None] = lambda: None,
    ) -> Component:
        former, config = self.components.get(name), self.folder / f"{name}.kubeconfig"
        proxy = former.proxy if former else self.open_proxy()

        def write_credentials() -> None:
            url = proxy.url.replace("127.0.0.1", API_SERVER) if self.names else proxy.url
            config.write_text(kubeconfig_of(url, self._token(account), self.authority))
            prepare()

        environment = {"KUBECONFIG": str(config), "PYTHONPATH": (release or self.release).python_path}
        environment |= self.names.variables if self.names else {}
        component = Component(
            name=name,
            argv=argv,
            proxy=proxy,
            folder=self.folder,
            environment=environment | dict(variables or {}),
            prepare=write_credentials,
            starts=former.starts if former else 0,
        )
        self.components[name] = component
        component.start()
        return component

    def _token(self, account: str, **spec: Any) -> str:
        path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{account}/token"
        body = _TOKEN | {"spec": {"expirationSeconds": _TOKEN_SECONDS, **spec}}
        return str(self.request("POST", path, body).expect(201)["status"]["token"])


def has_ended(workflow: Mapping[str, Any]) -> bool:
    return "completionTime" in workflow.get("status", {})

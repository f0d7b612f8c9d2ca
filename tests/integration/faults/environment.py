"""Builds the installation of these tests on a control plane of its own, and removes both at the end."""

import asyncio
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, TypeVar

import aiohttp
import yaml
from torpor_dev import control_plane
from torpor_kubernetes.client import http
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.timing import SystemClock

from tests.integration.archive.databases import Postgresql, Sqlite
from tests.integration.conftest import _connect, _content, _namespace_manifest, install
from tests.integration.controller.pods.processes import PodProcesses
from tests.integration.faults import small_disk
from tests.integration.faults.effects import order_service
from tests.integration.faults.effects.order_service import OrderService
from tests.integration.faults.faulty_proxy import FaultyProxy
from tests.integration.faults.host_names import HostNames
from tests.integration.faults.installation import ProcessInstallation
from tests.integration.faults.kube_controllers import KubeControllers
from tests.integration.faults.node import ProcessNode
from tests.integration.faults.release import CURRENT, SourceRelease
from tests.integration.faults.small_disk import SmallDisk
from tests.integration.triggers.servers import process, s3
from tests.integration.triggers.servers.s3 import S3
from tests.support.controller_process import Plane

T = TypeVar("T")
_OBJECTS_MB, _STATE_MB = 256, 4
Call = Callable[[Coroutine[Any, Any, T]], T]


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What an installation uses beside the API server and the database, and what only `make faults` strikes."""

    names: HostNames | None = None
    objects: S3 | None = None
    object_disk: SmallDisk | None = None
    state_disk: SmallDisk | None = None

    def give_to(self, installation: ProcessInstallation) -> None:
        """Let the components use these from their start on."""
        installation.names, installation.objects = self.names, self.objects
        installation.object_disk, installation.state_disk = self.object_disk, self.state_disk


@contextmanager
def open_surroundings(folder: Path) -> Iterator[Surroundings]:
    """Start an object store on a small disk, mount another one for operators, and make names."""
    with (
        process.folder() as reachable,
        small_disk.mounted(reachable / "objects", _OBJECTS_MB) as object_disk,
        small_disk.mounted(folder / "state", _STATE_MB) as state_disk,
        s3.started(reachable / "objects/data") as objects,
    ):
        names = HostNames.create(folder)
        yield Surroundings(names=names, objects=objects, object_disk=object_disk, state_disk=state_disk)


@contextmanager
def open_plane(state: Path, release: SourceRelease = CURRENT) -> Iterator[Plane]:
    """Start a control plane with the kinds, policies and roles of a release."""
    kubeconfig = control_plane.start(state)
    server = _connect(kubeconfig)
    try:
        install(server, release.manifest)
        yield Plane(state=state, kubeconfig=kubeconfig, server=server)
    finally:
        server.administrator.clear()
        server.stranger.clear()
        control_plane.stop(state)


@contextmanager
def open_installation(  # noqa: PLR0913
    plane: Plane,
    folder: Path,
    database: Sqlite | Postgresql,
    *,
    seed: int = 0,
    release: SourceRelease = CURRENT,
    lease_seconds: int = 15,
    surroundings: Surroundings = Surroundings(),
) -> Iterator[ProcessInstallation]:
    """Start all components of a release."""
    random = Random(seed)
    with _background() as call:
        stack = AsyncExitStack()
        try:
            orders = stack.enter_context(order_service.started())
            installation = call(_build(plane, folder, database, random, release, orders, stack, call))
            surroundings.give_to(installation)
            installation.lease_seconds = lease_seconds
            installation.node.start()
            try:
                installation.start()
                yield installation
            finally:
                installation.stop()
                installation.node.stop()
        finally:
            call(stack.aclose())


def open_namespace(installation: ProcessInstallation, name: str) -> str:
    """Create a namespace in which Workflows may run."""
    for document in yaml.safe_load_all(_namespace_manifest(name)):
        installation.server.apply(document)
    return name


@contextmanager
def _background() -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """An event loop in a thread, and a function that runs a coroutine in it and waits."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result(timeout=180)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _build(  # noqa: PLR0913, PLR0917
    plane: Plane,
    folder: Path,
    database: Sqlite | Postgresql,
    random: Random,
    release: SourceRelease,
    orders: OrderService,
    stack: AsyncExitStack,
    call: Callable[[Coroutine[Any, Any, Any]], Any],
) -> ProcessInstallation:
    authority = _authority(plane.kubeconfig)

    tls = _serving_tls(plane)

    async def open_proxy() -> FaultyProxy:
        connector = aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context(cadata=authority))
        session = aiohttp.ClientSession(
            connector=connector, timeout=aiohttp.ClientTimeout(total=None), auto_decompress=False
        )
        proxy = FaultyProxy(
            upstream=plane.server.url,
            session=await stack.enter_async_context(session),
            random=Random(random.random()),
        )
        runner = await proxy.open(tls)
        stack.push_async_callback(runner.cleanup)
        return proxy

    pods_proxy = await open_proxy()
    transport = await stack.enter_async_context(http.connect(str(plane.kubeconfig), program="tests-kubelet"))
    api = Api(transport, SystemClock())
    pods = PodProcesses(api, folder=folder, server=pods_proxy.url, ca=authority)
    return ProcessInstallation(
        plane=plane,
        controllers=KubeControllers.find(plane),
        node=ProcessNode(api=api, pods=pods, call=call),
        folder=folder,
        database=database,
        random=random,
        open_proxy=lambda: call(open_proxy()),
        pods=pods_proxy,
        tls=tls,
        authority=authority,
        orders=orders,
        release=release,
    )


def _serving_tls(plane: Plane) -> ssl.SSLContext:
    """The side of a server that task pods trust: with the certificate of the API server, which is for 127.0.0.1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(plane.state / "pki/apiserver.crt", plane.state / "pki/apiserver.key")
    return context


def _authority(kubeconfig: Path) -> str:
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    return _content(cluster, "certificate-authority", kubeconfig)

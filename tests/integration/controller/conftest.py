"""The environment that these tests share: a control plane of their own, a kubelet, two controllers, a triggerer."""

import asyncio
import ssl
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import aiohttp
import pytest
import yaml
from torpor_dev import control_plane
from torpor_kubernetes.client import http
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.timing import SystemClock
from torpor_wire import constants

from tests.integration.conftest import (
    _connect,
    _content,
    _namespace_manifest,
    install,
)
from tests.integration.controller.pods.processes import NODE, PodProcesses
from tests.integration.controller.recording_proxy import RecordingProxy, tally
from tests.integration.controller.stage import ControllerFixture, python
from tests.support.controller_process import Plane
from tests.support.kubelet.api_kubelet import ApiKubelet

T = TypeVar("T")
_NAMESPACE = "stage"
# Two Workflows of a few tasks take some forty; what fails is tried again ever more seldom.
_MOST_CALLS = 150


@pytest.fixture(scope="session")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Plane]:
    """An API server that nobody else uses, with everything of ours installed but the Deployments."""
    state = tmp_path_factory.mktemp("plane")
    kubeconfig = control_plane.start(state)
    server = _connect(kubeconfig)
    try:
        install(server)
        for document in yaml.safe_load_all(_namespace_manifest(_NAMESPACE)):
            server.apply(document)
        yield Plane(state=state, kubeconfig=kubeconfig, server=server)
    finally:
        server.administrator.clear()
        server.stranger.clear()
        control_plane.stop(state)


@pytest.fixture(scope="session")
def stage(plane: Plane, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControllerFixture]:
    """Two controllers, of which one leads, and a triggerer."""
    folder = tmp_path_factory.mktemp("stage")
    with _background() as call, _pods_and_proxies(plane, folder, call) as (pods, open_proxy):
        stage = ControllerFixture(plane=plane, pods=pods, folder=folder, open_proxy=open_proxy, namespace=_NAMESPACE)
        try:
            for _ in range(2):
                stage.start_controller()
            stage.start_triggerer()
            stage.leader()
            yield stage
        finally:
            for process in stage.processes:
                process.end()


@pytest.fixture(autouse=True)
def _two_controllers_without_a_bug(stage: ControllerFixture) -> Iterator[None]:
    """Each test finds two controllers, one of them leading, and leaves no traceback in their logs."""
    while len(stage.controllers()) < 2:
        stage.start_controller()
    stage.until(
        lambda: all(controller.saw_lease for controller in stage.controllers()), "both controllers have read the Lease"
    )
    stage.leader()
    yield
    stage.assert_no_bug()


@pytest.fixture
def undisturbed(stage: ControllerFixture) -> Iterator[None]:
    """Whatever the test does to an object: another Workflow goes through meanwhile, under the same leader."""
    leader, began = stage.leader(), time.monotonic()
    alarm = {"name": "alarm", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}
    name = stage.submit([python("first", "echo"), alarm, python("last", "echo", after=["first", "alarm"])])
    yield
    assert stage.ends(name)["state"] == "Succeeded"
    stage.assert_still_leads(leader)
    # What is read every few seconds depends on the speed of the machine only.
    calls = [call for call in leader.proxy.since(began) if not (call.about_leases or "/configmaps" in call.path)]
    assert len(calls) <= _MOST_CALLS, tally(calls)


@contextmanager
def _background() -> Iterator[Callable[[Coroutine[Any, Any, T]], T]]:
    """An event loop in a thread, and a function that runs a coroutine in it and waits."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def call(coroutine: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(coroutine, loop).result(timeout=180)

    try:
        yield call
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@contextmanager
def _pods_and_proxies(
    plane: Plane, folder: Path, call: Callable[[Coroutine[Any, Any, Any]], Any]
) -> Iterator[tuple[PodProcesses, Callable[[], RecordingProxy]]]:
    stack = AsyncExitStack()

    async def start() -> tuple[PodProcesses, asyncio.Task[None]]:
        transport = await stack.enter_async_context(http.connect(str(plane.kubeconfig), program="tests-kubelet"))
        api = Api(transport, SystemClock())
        pods = PodProcesses(api, folder=folder, server=plane.server.url, ca=_authority(plane.kubeconfig))
        kubelet = ApiKubelet(api, pods, node=NODE, label_selector=constants.LABEL_TASKRUN_UID)
        return pods, asyncio.create_task(kubelet.run())

    async def open_proxy() -> RecordingProxy:
        connector = aiohttp.TCPConnector(limit=0, ssl=ssl.create_default_context(cadata=_authority(plane.kubeconfig)))
        timeout = aiohttp.ClientTimeout(total=None)
        session = aiohttp.ClientSession(connector=connector, timeout=timeout, auto_decompress=False)
        proxy = RecordingProxy(upstream=plane.server.url, session=await stack.enter_async_context(session))
        runner = await proxy.open()
        stack.push_async_callback(runner.cleanup)
        return proxy

    async def stop(running: asyncio.Task[None]) -> None:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await stack.aclose()

    pods, running = call(start())
    try:
        yield pods, lambda: call(open_proxy())
    finally:
        call(stop(running))


def _authority(kubeconfig: Path) -> str:
    return _content(
        yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"], "certificate-authority", kubeconfig
    )

"""What the operator asks the cluster about image volumes, and when."""

import asyncio
import copy
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn

import pytest
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.transport import JSON, Response
from torpor_operator.injection.detector import ImageVolumes, probe
from torpor_operator.settings import Injection, Settings

from tests.support.fake_api import VirtualClock, settle


@dataclass(kw_only=True)
class ImageVolumeApi:
    """An API server with nodes. It keeps or drops image volumes, and refuses pods in some namespaces."""

    keeps: bool = True
    runtimes: list[str] = field(default_factory=lambda: ["containerd://2.1.4"])
    refuses: set[str] = field(default_factory=set)
    nodes_forbidden: bool = False
    version: Any = field(default_factory=lambda: {"gitVersion": "v1.35.0"})
    asked: list[str] = field(default_factory=list)

    async def request(
        self, method: str, path: str, *, query: Any = None, body: Any = None, content_type: str = JSON
    ) -> Response:
        if path == "/version":
            return Response(200, self.version)
        if path == "/api/v1/nodes":
            return Response(403, {"message": "no nodes"}) if self.nodes_forbidden else Response(200, self.list())
        namespace = path.removeprefix("/api/v1/namespaces/").removesuffix("/pods")
        assert (method, query) == ("POST", {"dryRun": "All"}), "a pod must not be stored"
        self.asked.append(namespace)
        if namespace in self.refuses:
            return Response(403, {"message": "pods is forbidden"})
        stored = copy.deepcopy(body)
        if not self.keeps:
            stored["spec"].pop("volumes")
        return Response(201, stored)

    def list(self) -> dict[str, Any]:
        info = [
            {"containerRuntimeVersion": runtime, "kubeletVersion": "v1.35.0", "operatingSystem": "linux"}
            for runtime in self.runtimes
        ]
        nodes = [
            {"metadata": {"name": f"node-{number}"}, "status": {"nodeInfo": each}} for number, each in enumerate(info)
        ]
        return {"metadata": {"resourceVersion": "1"}, "items": nodes}

    def stream(self, path: str, *, query: Any) -> NoReturn:
        raise AssertionError(f"{path} {query}")


@dataclass(kw_only=True)
class DetectorFixture:
    cluster: ImageVolumeApi = field(default_factory=ImageVolumeApi)
    clock: VirtualClock = field(default_factory=VirtualClock)
    namespaces: set[str] = field(default_factory=lambda: {"team"})
    settings: Settings = field(default_factory=Settings)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[ImageVolumes]:
        volumes = ImageVolumes(Api(self.cluster, self.clock), self.settings, namespaces=lambda: self.namespaces)
        task = asyncio.create_task(volumes.run())
        await settle()
        try:
            yield volumes
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


async def test_a_cluster_that_supports_image_volumes_is_found(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with DetectorFixture().running() as volumes:
        assert volumes.supported()
    assert caplog.messages[-1].startswith("the runtime of python tasks gets into pods by an image volume: ")


async def test_an_api_server_without_the_feature_drops_the_volume() -> None:
    async with DetectorFixture(cluster=ImageVolumeApi(keeps=False)).running() as volumes:
        assert not volumes.supported()


async def test_one_old_node_is_enough_for_init_containers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    async with DetectorFixture(
        cluster=ImageVolumeApi(runtimes=["containerd://2.1.4", "containerd://1.7.0"])
    ).running() as volumes:
        assert not volumes.supported()
    assert "by an init container: node node-1 has containerd://1.7.0" in caplog.messages[-1]


async def test_another_namespace_is_asked_where_the_first_refuses_pods() -> None:
    case = DetectorFixture(cluster=ImageVolumeApi(refuses={"a"}), namespaces={"a", "b"})
    async with case.running() as volumes:
        assert volumes.supported()
    assert case.cluster.asked == ["a", "b"]


async def test_the_first_namespace_with_workflows_is_asked_soon() -> None:
    case = DetectorFixture(namespaces=set())
    async with case.running() as volumes:
        assert not volumes.supported()
        case.namespaces.add("team")
        await case.clock.advance(5)
        assert volumes.supported()


async def test_the_cluster_is_checked_again_from_time_to_time() -> None:
    case = DetectorFixture()
    async with case.running() as volumes:
        case.cluster.runtimes.append("docker://29.0")
        await case.clock.advance(300)
        assert volumes.supported()
        await case.clock.advance(300)
        assert not volumes.supported()


async def test_nodes_that_cannot_be_read_leave_the_former_decision(caplog: pytest.LogCaptureFixture) -> None:
    case = DetectorFixture()
    async with case.running() as volumes:
        case.cluster.nodes_forbidden = True
        await case.clock.advance(600)
        assert volumes.supported()
    assert "cannot find out whether nodes support image volumes" in caplog.messages[-1]


async def test_an_answer_that_cannot_be_read_leaves_the_former_decision() -> None:
    case = DetectorFixture()
    async with case.running() as volumes:
        case.cluster.version = ["no version"]
        await case.clock.advance(600)
        assert volumes.supported()
        case.cluster.version = {"gitVersion": "v1.35.0"}
        case.cluster.keeps = False
        await case.clock.advance(600)
        assert not volumes.supported()


async def test_namespaces_that_refuse_pods_are_asked_less_and_less_often() -> None:
    case = DetectorFixture(cluster=ImageVolumeApi(refuses={"a"}), namespaces={"a"})
    async with case.running():
        await case.clock.advance(3600)
    assert 5 < len(case.cluster.asked) < 20


@pytest.mark.parametrize("injection", [Injection.IMAGE_VOLUME, Injection.INIT_CONTAINER])
async def test_a_setting_asks_nothing(injection: Injection) -> None:
    case = DetectorFixture(settings=Settings(runtime_injection=injection))
    async with case.running() as volumes:
        assert volumes.supported() is (injection is Injection.IMAGE_VOLUME)
    assert case.cluster.asked == []


def test_the_pod_that_is_tried_has_the_image_of_the_runtime() -> None:
    spec = probe("team", Settings(runtime_image="registry.example.org/torpor-runtime:1"))["spec"]

    assert spec["volumes"] == [
        {"name": "runtime", "image": {"reference": "registry.example.org/torpor-runtime:1"}},
    ]
    assert spec["containers"][0]["securityContext"]["runAsUser"] == 65532

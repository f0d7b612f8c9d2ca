"""The page as the component `ui` installs it: read-only pods without rights, and a person who pastes a token."""

import asyncio
import json
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
import pytest_asyncio
from torpor_demo import images, manifest
from torpor_demo.images import image_id
from torpor_demo.install import SYSTEM, roll_out
from torpor_demo.kubectl import Kubectl

from tests.e2e.support.concurrent_runs import trigger
from tests.e2e.support.stage import ClusterFixture
from tests.support.page_server.browser import Browser, new_browser
from tests.support.ports import free_port

_COMPONENT = Path(__file__).resolve().parents[2] / "manifests/components/ui"
_DEPLOYMENT = "deployment/torpor-ui"
QUICK = trigger("time", at="2026-01-01T00:00:00Z")


@pytest.fixture(scope="session")
def address(kubectl: Kubectl) -> Iterator[str]:
    """The address of the page, which is forwarded to a pod of it."""
    url = f"http://127.0.0.1:{free_port()}"
    rendered = manifest.render({"components": [_COMPONENT], "patches": list(_patches(url))})
    secret = ("create", "secret", "generic", "torpor-ui", "--from-literal=sessions=0123456789abcdef")
    text = kubectl.run("-n", SYSTEM, *secret, "--dry-run=client", "-o", "yaml")
    kubectl.run("apply", "--server-side", "--force-conflicts", "-f", "-", stdin=f"{text}\n---\n{rendered}")
    roll_out(kubectl, _DEPLOYMENT)
    words = [kubectl.program, "--kubeconfig", kubectl.kubeconfig, "-n", SYSTEM, "port-forward", "service/torpor-ui"]
    words += [f"{url.rpartition(':')[2]}:80"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as forward:
        assert forward.stdout is not None
        assert "Forwarding" in forward.stdout.readline()
        yield url
        forward.terminate()
    kubectl.run("-n", SYSTEM, "delete", _DEPLOYMENT, "service/torpor-ui", "--wait=false")


def _patches(url: str) -> Iterator[dict[str, str]]:
    """The address of the page, and what restarts its pods for another address or image."""
    metadata = {"name": "torpor-ui", "namespace": SYSTEM}
    yield _patch({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"TORPOR_UI_URL": url}})
    built = {"metadata": {"annotations": {"test/build": f"{image_id(images.TORPOR)} {url}"}}}
    yield _patch({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": built}})


def _patch(body: dict[str, object]) -> dict[str, str]:
    return {"patch": json.dumps(body)}


@pytest_asyncio.fixture(loop_scope="session")
async def viewer(stage: ClusterFixture, kubectl: Kubectl, address: str) -> AsyncIterator[Browser]:
    """The browser of a person who may view the namespace."""
    kubectl.run("-n", stage.namespace, "create", "serviceaccount", "viewer")
    account = f"--serviceaccount={stage.namespace}:viewer"
    kubectl.run("-n", stage.namespace, "create", "rolebinding", "viewer", "--clusterrole=view", account)
    token = kubectl.run("-n", stage.namespace, "create", "token", "viewer").strip()
    async with new_browser(address) as browser:
        await browser.open()
        body, headers = {"token": token}, browser.headers()
        async with browser.session.post(f"{address}/api/session", json=body, headers=headers) as response:
            assert response.status == 200, await response.text()
        yield browser


async def test_a_person_sees_a_run_live_and_then_archived(stage: ClusterFixture, viewer: Browser) -> None:
    await stage.start("quick", QUICK)
    await stage.ended("quick")
    async with viewer.stream(f"api/run/live/{stage.namespace}/quick/stream") as events:
        snapshot = await events.until("snapshot")
        assert snapshot["run"]["state"] == "Succeeded"
        assert snapshot["instances"]["key"] == ["it"]
        assert snapshot["acts"]["retry"]["allowed"] is False
    uid = snapshot["run"]["uid"]
    await _archived(viewer, stage.namespace, uid)
    async with viewer.stream(f"api/run/archive/{stage.namespace}/{uid}/stream") as events:
        assert (await events.until("snapshot"))["run"]["name"] == "quick"


@pytest.mark.attack
async def test_a_person_sees_no_other_namespace(viewer: Browser) -> None:
    for path in ("api/runs?ns=torpor-system", "api/runs?source=live", "api/run/live/torpor-system/x/yaml"):
        assert await viewer.status("GET", path) in {403, 404}


async def _archived(viewer: Browser, namespace: str, uid: str) -> None:
    async with asyncio.timeout(120):
        while True:
            runs = await viewer.get(f"api/runs?ns={namespace}&source=archive")
            if any(row[3] == uid for row in runs["rows"]):
                return
            await asyncio.sleep(1.0)

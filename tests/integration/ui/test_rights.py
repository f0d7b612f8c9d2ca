"""The page in front of a real API server, with users of different rights: what is not granted is a 403."""

import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from torpor_kubernetes.client.endpoint import ClusterEndpoint
from torpor_ui.feeds import run, run_list
from torpor_ui.sessions.pasted import PastedTokenLogin
from torpor_ui.sessions.sealed_cookie import SealedCookie
from torpor_ui.sessions.secret import ServerSecret

from tests.integration.conftest import Server, _content
from tests.support.page_server.browser import Browser, new_browser, served_page

pytestmark = pytest.mark.attack
SECRET = ServerSecret(b"0123456789abcdef")


@pytest.fixture
def endpoint(kubeconfig: Path) -> ClusterEndpoint:
    """The API server without credentials."""

    async def nobody() -> str | None:
        return None

    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    tls = ssl.create_default_context(cadata=_content(cluster, "certificate-authority", kubeconfig))
    return ClusterEndpoint(host=cluster["server"], tls=tls, authorization=nobody)


@pytest.fixture
async def page(endpoint: ClusterEndpoint) -> AsyncIterator[Browser]:
    cookie = SealedCookie(secret=SECRET, name="session", path="", secure=False, seconds=3600)
    async with served_page(endpoint, lambda _: PastedTokenLogin(cookie), secret=SECRET) as browser:
        yield browser


@asynccontextmanager
async def logged_in(page: Browser, token: str) -> AsyncIterator[Browser]:
    async with new_browser(page.url) as browser:
        await browser.open()
        body, headers = {"token": token}, browser.headers()
        async with browser.session.post(f"{page.url}/api/session", json=body, headers=headers) as response:
            assert response.status == 200, await response.text()
        await browser.open()
        yield browser


def viewer(server: Server, namespace: str, name: str) -> str:
    """The token of a ServiceAccount with ClusterRole view in its namespace."""
    metadata = {"namespace": namespace, "name": name}
    server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": namespace}
    server.apply(
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": role,
            "subjects": [subject],
        }
    )
    return server.token(namespace, name)


def workflow(server: Server, namespace: str, name: str) -> None:
    spec = {"image": "etl:1", "tasks": [{"name": "load", "python": "etl:load"}]}
    body = {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "metadata": {"name": name}, "spec": spec}
    server.create("workflows", namespace, body).expect(201)


async def test_a_user_sees_a_namespace_of_its_own_and_no_other(
    server: Server, page: Browser, open_namespace: Callable[[], str]
) -> None:
    of_ann, of_bob = open_namespace(), open_namespace()
    ann, bob = viewer(server, of_ann, "ann"), viewer(server, of_bob, "bob")
    workflow(server, of_ann, "nightly")
    async with logged_in(page, ann) as browser, logged_in(page, bob) as other:
        assert (await browser.get("api/session"))["user"] == f"system:serviceaccount:{of_ann}:ann"
        list_path, run_path = f"api/runs/stream?ns={of_ann}", f"api/run/live/{of_ann}/nightly/stream"
        async with browser.stream(list_path) as runs, browser.stream(run_path) as events:
            assert [row[2] for row in (await runs.next())[1]["rows"]] == ["nightly"]
            assert [task["name"] for task in (await events.until("snapshot"))["tasks"]] == ["load"]
            for path in (list_path, run_path):
                async with other.stream(path) as refused:
                    problem = await refused.until("problem")
                    assert (problem["status"], problem["reason"]) == (403, "Forbidden")
                    assert "bob" in problem["message"]
        for path in (f"api/runs?ns={of_ann}", f"api/run/live/{of_ann}/nightly/yaml", "api/runs?source=live"):
            assert await other.status("GET", path) == 403


async def test_a_right_and_an_account_that_are_taken_away_end_the_stream(
    server: Server, page: Browser, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "WATCH_SECONDS", 2)
    monkeypatch.setattr(run, "WATCH_SECONDS", 2)
    workflow(server, namespace, "nightly")
    rolebinding = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/ann"
    ann, bob = viewer(server, namespace, "ann"), viewer(server, namespace, "bob")
    async with logged_in(page, ann) as browser, browser.stream(f"api/runs/stream?ns={namespace}") as events:
        await events.next()
        server.request("DELETE", rolebinding).expect(200)
        assert (await events.until("problem"))["status"] == 403
    async with logged_in(page, bob) as browser, browser.stream(f"api/run/live/{namespace}/nightly/stream") as events:
        await events.until("snapshot")
        server.request("DELETE", f"/api/v1/namespaces/{namespace}/serviceaccounts/bob").expect(200)
        assert (await events.until("problem"))["status"] == 401

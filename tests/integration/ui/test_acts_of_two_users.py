"""Acts of two users of different rights against a real API server with Torpor's roles and policies."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from torpor_kubernetes.client.endpoint import ClusterEndpoint
from torpor_wire import constants, names

from tests.integration.conftest import Server, collection, eventually
from tests.support.page_server.browser import Browser, opened_page

Object = dict[str, Any]


class PageUsers:
    """ServiceAccounts with ClusterRoles in a namespace, who open the page."""

    def __init__(self, server: Server, namespace: str) -> None:
        self.server = server
        self.namespace = namespace

    def user(self, name: str, *roles: str) -> str:
        """Return a token of a new ServiceAccount with these roles."""
        self.server.apply(
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": name, "namespace": self.namespace},
            }
        )
        for role in roles:
            self.server.apply(
                {
                    "apiVersion": "rbac.authorization.k8s.io/v1",
                    "kind": "RoleBinding",
                    "metadata": {"name": f"{name}-{role}", "namespace": self.namespace},
                    "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role},
                    "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": self.namespace}],
                }
            )
        return self.server.token(self.namespace, name)

    @asynccontextmanager
    async def opened(self, token: str) -> AsyncIterator[Browser]:
        async def authorization() -> str:
            return f"Bearer {token}"

        context = self.server.stranger.connection_pool_kw["ssl_context"]
        cluster = ClusterEndpoint(host=self.server.url, tls=context, authorization=authorization)
        async with opened_page(cluster, namespaces=(self.namespace,)) as browser:
            yield browser

    def create(self, name: str, **spec: Any) -> Object:
        tasks = [{"name": "a", "trigger": {"class": "duration", "kwargs": {"duration": "1h"}}}]
        body = {
            "apiVersion": constants.API_VERSION,
            "kind": "Workflow",
            "metadata": {"name": name},
            "spec": {"tasks": tasks, **spec},
        }
        return self.server.create("workflows", self.namespace, body).expect(201)

    def workflow(self, name: str) -> Object:
        return self.server.request("GET", f"{collection('workflows', self.namespace)}/{name}").expect(200)


@pytest.fixture
def pages(server: Server, namespace: str) -> PageUsers:
    return PageUsers(server, namespace)


async def act(browser: Browser, name: str, **body: Any) -> Any:
    path = f"{browser.origin}/api/acts/{name}"
    async with browser.session.post(path, json=body, headers=browser.headers()) as response:
        return await response.json()


async def test_an_editor_acts_and_the_run_names_the_editor(pages: PageUsers) -> None:
    pages.create("etl")
    key = f"live/{pages.namespace}/etl"
    async with pages.opened(pages.user("eve", "edit")) as browser:
        access = (await browser.get(f"api/access?ns={pages.namespace}"))["acts"]
        assert access["cancel"]["allowed"]
        assert (await act(browser, "suspend", runs=[key]))["done"] == ["etl suspended"]
        suspended = pages.workflow("etl")
        user = f"system:serviceaccount:{pages.namespace}:eve"
        assert suspended["spec"]["suspend"] is True
        assert suspended["metadata"]["annotations"][constants.CHANGED_BY] == f"2 {user}"
        assert (await act(browser, "delete", runs=[key]))["failed"] == []


async def test_a_viewer_is_refused_by_the_api_server(pages: PageUsers) -> None:
    pages.create("etl")
    key = f"live/{pages.namespace}/etl"
    async with pages.opened(pages.user("vera", "view")) as browser:
        access = (await browser.get(f"api/access?ns={pages.namespace}"))["acts"]
        assert not any(entry["allowed"] for entry in access.values())
        for name in ("cancel", "stop", "suspend", "delete"):
            outcome = await act(browser, name, runs=[key])
            assert outcome.get("failed"), (name, outcome)
        assert (await act(browser, "resubmit", runs=[key]))["status"] == 403
        assert (await browser.get(f"api/approvals?ns={pages.namespace}")) == []
        assert (await browser.get(f"api/schedules?ns={pages.namespace}")) == []
    assert not any(pages.workflow("etl")["spec"].get(field) for field in ("cancel", "stop", "suspend"))


async def test_a_user_of_another_namespace_sees_and_changes_nothing(
    pages: PageUsers, server: Server, open_namespace: Callable[[], str]
) -> None:
    pages.create("etl")
    other = PageUsers(server, await asyncio.to_thread(open_namespace))
    key = f"live/{pages.namespace}/etl"
    async with other.opened(other.user("otto", "edit")) as browser:
        for path in (
            f"api/run/live/{pages.namespace}/etl/task/a",
            f"api/run/live/{pages.namespace}/etl/task/a/result",
            f"api/run/live/{pages.namespace}/etl/task/a/logs",
            f"api/approvals?ns={pages.namespace}",
            f"api/schedules?ns={pages.namespace}",
            f"api/triggerers?ns={pages.namespace}",
            f"api/cluster?ns={pages.namespace}",
            f"api/templates?ns={pages.namespace}",
        ):
            assert await browser.status("GET", path) == 403, path
        assert "forbidden" in str(await act(browser, "cancel", runs=[key]))
    assert not pages.workflow("etl")["spec"].get("cancel")


async def test_the_dry_run_of_a_preview_creates_nothing(pages: PageUsers, server: Server) -> None:
    pages.create("etl", params={"day": "2026-11-20"})
    key = f"live/{pages.namespace}/etl"
    async with pages.opened(pages.user("eve", "edit")) as browser:
        preview = await act(browser, "resubmit/preview", runs=[key], params={"day": "2026-11-21"})
        assert (preview["allowed"], preview["warnings"]) == (True, [])
        listed = server.request("GET", collection("workflows", pages.namespace)).expect(200)["items"]
        assert [item["metadata"]["name"] for item in listed] == ["etl"]
        created = await act(browser, "resubmit", runs=[key], params={"day": "2026-11-21"})
        assert pages.workflow(created["created"].rpartition("/")[2])["spec"]["params"] == {"day": "2026-11-21"}


@pytest.mark.attack
async def test_the_policy_rejects_an_answer_of_who_is_no_approver(pages: PageUsers, server: Server) -> None:
    workflow = pages.create("etl")
    metadata = workflow["metadata"]
    name = names.taskrun("etl", metadata["uid"], "a", constants.UNMAPPED)
    labels = {constants.LABEL_WORKFLOW: names.label("etl"), constants.LABEL_TASK: names.label("a")}
    body = {
        "apiVersion": constants.API_VERSION,
        "kind": "TaskRun",
        "metadata": {"name": name, "labels": labels},
        "spec": {"workflow": {"name": "etl", "uid": metadata["uid"]}, "task": "a", "trigger": {"class": "approval"}},
    }
    server.create("taskruns", pages.namespace, body).expect(201)
    approvers = {"users": ["ada"]}
    trigger = {"class": "approval", "kwargs": "{}", "key": "k", "shard": 1, "waitsFor": "ok?", "approvers": approvers}
    changes: list[Object] = [
        {"op": "replace", "path": "/status/state", "value": "Deferred"},
        {"op": "add", "path": "/status/trigger", "value": trigger},
        {"op": "add", "path": "/status/deferredAt", "value": "2026-11-22T10:00:00.000Z"},
    ]
    server.patch_status(pages.namespace, name, changes).expect(200)
    async with pages.opened(pages.user("eve", "edit", "torpor-approve")) as browser:
        [shown] = await browser.get(f"api/approvals?ns={pages.namespace}")
        assert not shown["mayAnswer"]
        outcome = await act(browser, "approve", runs=[shown["run"]], tasks=[shown["key"]])
        assert "may answer" in outcome["failed"][0]["message"]


async def test_the_operators_answer_to_a_retry_is_awaited(pages: PageUsers, server: Server) -> None:
    pages.create("etl")
    path = f"{collection('workflows', pages.namespace)}/etl"

    def handle() -> None:
        """What the operator does with the annotation of a clear."""
        eventually(lambda: constants.CLEAR in (pages.workflow("etl")["metadata"].get("annotations") or {}), "a request")
        patch = [{"op": "remove", "path": f"/metadata/annotations/{constants.CLEAR.replace('/', '~1')}"}]
        server.request("PATCH", path, patch, content_type="application/json-patch+json").expect(200)

    operator = threading.Thread(target=handle)
    operator.start()
    async with pages.opened(pages.user("eve", "edit")) as browser:
        outcome = await act(browser, "clear", runs=[f"live/{pages.namespace}/etl"], tasks=["a"])
    operator.join()
    assert "Torpor refused to run them again" in outcome["failed"][0]["message"]

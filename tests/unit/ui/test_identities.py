"""Identities: no cache is shown to another one, and rights are those that the API server grants now."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_network
from typing import Any

import pytest
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_ui.cluster import caller
from torpor_ui.feeds import feed, registry, run, run_list
from torpor_ui.http import event_stream
from torpor_ui.sessions.proxy import ProxyLogin
from torpor_ui.sessions.session import Cookie

from tests.support.made_up_cluster import MadeUpApi, User
from tests.support.made_up_cluster.content import BIG, Size, fill
from tests.support.page_server.browser import Browser, endpoint, served_page

pytestmark = pytest.mark.attack
ANN, BOB = {"X-Token": "ann-token"}, {"X-Token": "bob-token"}


@pytest.fixture
async def shared(cluster: MadeUpApi) -> AsyncIterator[Browser]:
    """A page that ann and bob use; ann reads `data`, bob `ml`."""
    fill(cluster, Size(runs=30, instances=20, taskruns=0, archived=30))
    cluster.users["ann-token"] = User(name="ann", reads={"data"})
    cluster.users["bob-token"] = User(name="bob", reads={"ml"})
    login = ProxyLogin([ip_network("127.0.0.0/8")], "X-Token", Cookie(name="browser", secure=False))
    async with served_page(endpoint(cluster, None), lambda _: login) as browser:
        yield browser


@asynccontextmanager
async def events(browser: Browser, path: str, headers: dict[str, str]) -> AsyncIterator[Any]:
    async with browser.stream(path, headers=headers) as reader:
        yield reader


async def test_what_one_identity_has_read_is_a_403_for_another(shared: Browser) -> None:
    path, run_path = "api/runs/stream?ns=data", f"api/run/live/data/{BIG}/stream"
    async with events(shared, path, ANN) as of_ann, events(shared, run_path, ANN) as run_of_ann:
        assert (await of_ann.next())[1]["rows"]
        await run_of_ann.until("snapshot")
        for each in (path, run_path):
            async with events(shared, each, BOB) as of_bob:
                name, problem = await of_bob.next()
                assert (name, problem["status"]) == ("problem", 403)
                assert "bob" in problem["message"]
    assert await shared.status("GET", "api/runs?ns=data", headers=BOB) == 403
    assert await shared.status("GET", f"api/run/live/data/{BIG}/yaml", headers=BOB) == 403


async def test_every_request_has_the_token_of_its_caller(cluster: MadeUpApi, shared: Browser) -> None:
    for path in ("api/session", "api/runs?ns=data", f"api/run/live/data/{BIG}/timeline"):
        await shared.get(path, headers=ANN)
    users = {request.split()[0] for request in cluster.requests}
    assert users == {"ann"}


async def test_the_archive_is_read_with_a_token_that_the_caller_may_create(cluster: MadeUpApi, shared: Browser) -> None:
    runs = await shared.get("api/runs?ns=data&source=archive", headers=ANN)
    assert len(runs["rows"]) == 30
    refused = await shared.get("api/runs?ns=data&source=archive", headers=BOB)
    assert refused["rows"] == []
    assert "may not read the archive of namespace data" in refused["notes"][0]
    uid = cluster.archive.entries[0]["uid"]
    async with events(shared, f"api/run/archive/data/{uid}/stream", BOB) as of_bob:
        assert (await of_bob.next())[0] == "problem"


async def test_viewers_of_one_identity_share_one_watch(cluster: MadeUpApi, shared: Browser) -> None:
    async with (
        events(shared, "api/runs/stream?ns=data", ANN) as first,
        events(shared, "api/runs/stream?ns=data", ANN) as second,
    ):
        await first.next()
        await second.next()
        assert [watch.split("?")[0] for watch in cluster.watches] == [f"ann {WORKFLOWS.path('data')}"]
        cluster.server.edit(WORKFLOWS, "data", BIG, {"status": {"progress": "x"}})
        assert (await first.next())[1] == (await second.next())[1]


async def test_identities_share_what_they_both_received(cluster: MadeUpApi, shared: Browser) -> None:
    cluster.users["carl-token"] = User(name="carl", reads={"data"})
    async with events(shared, "api/runs/stream?ns=data", ANN) as of_ann:
        rows = (await of_ann.next())[1]["rows"]
        async with events(shared, "api/runs/stream?ns=data", {"X-Token": "carl-token"}) as of_carl:
            assert sorted((await of_carl.next())[1]["rows"]) == sorted(rows)
    assert len([each for each in cluster.requests if each.endswith(f"list {WORKFLOWS.path('data')}")]) == 2


async def test_a_revoked_token_ends_the_streams_and_the_caches(
    cluster: MadeUpApi, shared: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(caller, "VERIFY_SECONDS", 0.0)
    async with events(shared, "api/runs/stream?ns=data", ANN) as of_ann:
        await of_ann.next()
        del cluster.users["ann-token"]
        assert await shared.status("GET", "api/runs?ns=data", headers=ANN) == 401
        assert (await of_ann.until("problem"))["status"] == 401
    assert await shared.status("GET", "api/runs?ns=data", headers=ANN) == 401


async def test_a_right_that_was_taken_away_ends_the_stream(
    cluster: MadeUpApi, shared: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "WATCH_SECONDS", 1)
    async with events(shared, "api/runs/stream?ns=data", ANN) as of_ann:
        await of_ann.next()
        cluster.users["ann-token"].reads.clear()
        problem = await of_ann.until("problem")
        assert (problem["status"], problem["reason"]) == (403, "Forbidden")
        assert problem["remedy"]


async def test_a_token_that_is_another_user_now_gets_no_cache_of_the_former(
    cluster: MadeUpApi, shared: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shared.get("api/runs?ns=data", headers=ANN)
    monkeypatch.setattr(caller, "VERIFY_SECONDS", 0.0)
    cluster.users["ann-token"] = User(name="eve")
    assert await shared.status("GET", "api/runs?ns=data", headers=ANN) == 403


async def test_streams_views_and_callers_are_bounded(shared: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "STREAMS_MAX", 1)
    async with events(shared, "api/runs/stream?ns=data", ANN) as first:
        await first.next()
        assert await shared.status("GET", "api/runs/stream?ns=data", headers=ANN) == 429
        async with events(shared, "api/runs/stream?ns=ml", BOB) as other:
            await other.next()
    monkeypatch.setattr(registry, "FEEDS_PER_CALLER", 0)
    assert await shared.status("GET", f"api/run/live/data/{BIG}/timeline", headers=ANN) == 429
    monkeypatch.setattr(caller, "CALLERS_MAX", 0)
    assert await shared.status("GET", "api/session", headers={"X-Token": "admin-token"}) == 429


async def test_a_run_with_too_many_instances_is_refused_with_a_remedy(
    shared: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "INSTANCES_MAX", 5)
    async with events(shared, f"api/run/live/data/{BIG}/stream", ANN) as of_ann:
        problem = await of_ann.until("problem")
        assert (problem["status"], problem["remedy"]) == (413, "Use `torpor get`.")


async def test_of_several_namespaces_those_are_shown_that_may_be_read(shared: Browser) -> None:
    runs = await shared.get("api/runs?source=live&ns=ml,data,reports", headers=ANN)
    assert {row[1] for row in runs["rows"]} == {"data"}
    assert len(runs["notes"]) == 2
    async with events(shared, "api/runs/stream?ns=ml,data,reports", ANN) as of_ann:
        assert "forbidden" in (await of_ann.until("note"))["message"]
        assert (await of_ann.until("rows"))["rows"]


async def test_namespaces_that_may_not_be_read_use_up_no_views(
    shared: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "FEEDS_PER_CALLER", 4)
    for number in range(10):
        path = f"api/runs?source=live&ns=none-{number},other-{number}"
        assert await shared.status("GET", path, headers=ANN) == 403
    assert (await shared.get("api/runs?source=live&ns=data", headers=ANN))["rows"]


async def test_a_feed_ends_soon_after_its_last_viewer(
    cluster: MadeUpApi, shared: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed, "LINGER_SECONDS", 0.0)
    await shared.get(f"api/run/live/data/{BIG}/timeline", headers=ANN)
    await until(lambda: not [watch for watch in cluster.watches if TASKRUNS.plural in watch])


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - a state without an event
            await asyncio.sleep(0.02)

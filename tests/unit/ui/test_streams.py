"""Streams of events when the cluster, the archive or the viewer does not behave."""

import asyncio
import json
from collections.abc import Coroutine
from typing import Any, Never

import pytest
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_ui.errors import ProblemError
from torpor_ui.feeds import change_log, feed, run_list
from torpor_ui.http import event_stream
from yarl import URL

from tests.support.made_up_cluster import MadeUpApi
from tests.support.made_up_cluster.api import NAMESPACES
from tests.support.made_up_cluster.content import BIG, Size, fill
from tests.support.page_server.browser import Browser
from tests.support.page_server.idle_viewer import is_disconnected

BIDI = "\u202egnp.exe\u2066"
HOSTILE = f'<script>alert(1)</script>"\\\u2028\x1b[2J{BIDI}\ud800'


async def test_a_compacted_watch_is_listed_again_and_nothing_is_lost(
    cluster: MadeUpApi, page: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_list, "WATCH_SECONDS", 1)
    fill(cluster, Size(runs=5, instances=1, taskruns=0, archived=0))
    async with page.stream("api/runs/stream?ns=data") as events:
        known = {row[0] for row in (await events.next())[1]["rows"]}
        cluster.server._watches.hold(held=True)
        cluster.server.remove(WORKFLOWS, "data", BIG)
        cluster.server.history.compact()
        cluster.server._watches.hold(held=False)
        assert (await events.next())[1]["gone"] == [f"live/data/{BIG}"]
        assert f"live/data/{BIG}" in known


async def test_a_viewer_that_is_far_behind_gets_everything_again(
    cluster: MadeUpApi, page: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_log.ChangeLog.__init__, "__defaults__", (3,))
    fill(cluster, Size(runs=20, instances=1, taskruns=0, archived=0))
    async with page.stream("api/runs/stream?ns=data") as events:
        rows = (await events.next())[1]["rows"]
        for row in rows:
            cluster.server.edit(WORKFLOWS, "data", row[2], {"status": {"progress": "x"}})
        assert (await events.next())[0] == "reset"
        assert {row[12] for row in (await events.next())[1]["rows"]} == {"x"}


async def test_a_filter_sends_what_enters_and_what_leaves_it(cluster: MadeUpApi, page: Browser) -> None:
    fill(cluster, Size(runs=20, instances=1, taskruns=0, archived=0))
    async with page.stream("api/runs/stream?ns=data&state=Failed") as events:
        await events.next()
        for state, member in (("Failed", "rows"), ("Running", "gone")):
            cluster.server.edit(WORKFLOWS, "data", BIG, {"status": {"state": state}})
            assert len((await events.next())[1][member]) == 1


@pytest.mark.attack
async def test_a_namespace_that_vanishes_leaves_an_empty_list(cluster: MadeUpApi, page: Browser) -> None:
    fill(cluster, Size(runs=20, instances=1, taskruns=0, archived=0))
    async with page.stream("api/runs/stream?ns=data") as events:
        known = {row[0] for row in (await events.next())[1]["rows"]}
        for key in known:
            cluster.server.remove(WORKFLOWS, "data", key.rpartition("/")[2])
        cluster.server.remove(NAMESPACES, "", "data")
        gone: set[str] = set()
        while gone < known:
            gone |= set((await events.next())[1]["gone"])


@pytest.mark.attack
async def test_an_archive_that_is_down_leaves_the_live_runs(cluster: MadeUpApi, page: Browser) -> None:
    fill(cluster, Size(runs=20, instances=1, taskruns=0, archived=5))
    cluster.archive.away = True
    runs = await page.get("api/runs?ns=data")
    assert runs["rows"]
    assert "archive" in runs["notes"][0]


@pytest.mark.attack
async def test_a_run_that_does_not_exist_is_a_404_with_a_remedy(page: Browser) -> None:
    async with page.stream("api/run/live/data/none/stream") as events:
        problem = await events.until("problem")
        assert (problem["status"], problem["reason"]) == (404, "NotFound")
        assert problem["remedy"]


@pytest.mark.attack
async def test_a_viewer_that_reads_nothing_is_disconnected(
    cluster: MadeUpApi, page: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "WRITE_SECONDS", 0.2)
    fill(cluster, Size(runs=2000, instances=1, taskruns=0, archived=0))
    await is_disconnected(page, "api/runs/stream")


@pytest.mark.attack
async def test_hostile_text_is_data_in_every_event(cluster: MadeUpApi, page: Browser) -> None:
    fill(cluster, Size(runs=3, instances=3, taskruns=0, archived=0))
    condition = {"type": "Succeeded", "status": "False", "reason": HOSTILE, "message": HOSTILE}
    cluster.server.edit(WORKFLOWS, "data", BIG, {"status": {"conditions": [condition]}})
    for item in cluster.server.all(TASKRUNS):
        message = {"status": {"message": HOSTILE * 1000, "reason": HOSTILE}, "spec": {"displayName": HOSTILE}}
        cluster.server.edit(TASKRUNS, "data", item["metadata"]["name"], message)
    async with page.stream(f"api/run/live/data/{BIG}/stream") as events:
        snapshot = await events.until("snapshot")
        assert all(len(message) <= 300 for message in snapshot["instances"]["message"])
        assert "\x1b" not in json.dumps(snapshot["run"]["message"], ensure_ascii=False)
        assert "\u202e" not in snapshot["run"]["message"]
    async with page.stream("api/runs/stream?ns=data") as events:
        rows = (await events.next())[1]["rows"]
        message = next(row[7] for row in rows if row[2] == BIG)
        assert "\x1b" not in message
        assert "\u202e" not in message


@pytest.mark.attack
@pytest.mark.parametrize(
    "path",
    [
        *("api/run/live/data/..%2f..%2fx/yaml", "api/run/live/Data/x/yaml", "api/run/live/data/x%00/yaml"),
        *("api/runs?ns=../x", "api/runs?since=nan", "api/runs?limit=-1", "api/runs?source=all%0a"),
        *("api/runs?label=a", "api/runs?cursor=x", "api/runs?cursor=e30gMQ=="),
        f"api/runs?cursor={'W1tb' * 1500}",
    ],
)
async def test_made_up_names_and_parameters_are_refused(page: Browser, path: str) -> None:
    async with page.session.get(URL(f"{page.url}/{path}", encoded=True)) as response:
        assert response.status in {400, 404}, await response.text()


class UnreadableFeed(feed.Feed):
    """A feed whose first list never arrives."""

    def _work(self) -> list[Coroutine[Any, Any, Never]]:
        return []

    async def ready(self) -> None:
        await asyncio.Event().wait()


@pytest.mark.attack
async def test_a_viewer_does_not_wait_for_ever_for_the_first_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feed, "READY_SECONDS", 0.01)
    unread = UnreadableFeed()
    with pytest.raises(ProblemError, match="no complete list"):
        async with unread.viewed(asyncio.Event()):
            pass
    assert (unread.viewers, unread.ended) == (0, False)
    unread.close()

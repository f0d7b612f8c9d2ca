"""The list of runs, and the page of one run, from a made-up cluster."""

import pytest
import yaml
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_ui.routes import archived_run

from tests.support.made_up_cluster import MadeUpApi
from tests.support.made_up_cluster.content import BIG, Size, fill
from tests.support.page_server.browser import Browser, endpoint, opened_page


async def test_the_session_names_the_user_and_the_namespaces(page: Browser) -> None:
    session = await page.get("api/session")
    assert session["user"] == "admin"
    assert session["namespaces"] == ["data", "ml"]
    assert session["defaultNamespaces"] == ["data"]
    assert session["mode"] == "local"


async def test_live_and_archived_runs_are_one_list(cluster: MadeUpApi, page: Browser) -> None:
    fill_small(cluster)
    runs = await page.get("api/runs?ns=data")
    sources = [row[runs["columns"].index("source")] for row in runs["rows"]]
    assert set(sources) == {"live", "archive"}
    assert runs["notes"] == []


async def test_a_stream_of_runs_sends_all_then_changes(cluster: MadeUpApi, page: Browser) -> None:
    fill_small(cluster)
    async with page.stream("api/runs/stream?ns=data") as events:
        first = await events.next()
        assert first[0] == "rows"
        assert f"live/data/{BIG}" in {row[0] for row in first[1]["rows"]}
        cluster.server.edit(WORKFLOWS, "data", BIG, {"status": {"progress": "changed"}})
        name, changed = await events.next()
        assert (name, [row[2] for row in changed["rows"]]) == ("rows", [BIG])
        cluster.server.remove(WORKFLOWS, "data", BIG)
        assert (await events.next())[1]["gone"] == [f"live/data/{BIG}"]


async def test_a_stream_of_a_run_sends_all_then_changes(cluster: MadeUpApi, page: Browser) -> None:
    fill_small(cluster)
    async with page.stream(f"api/run/live/data/{BIG}/stream") as events:
        name, snapshot = await events.next()
        assert name == "snapshot"
        assert [task["name"] for task in snapshot["tasks"]] == ["arrive", "list", "load", "report"]
        assert len(snapshot["instances"]["key"]) == 22
        assert ["list", "load", "upstream"] in snapshot["edges"]
        changed = next(item for item in cluster.server.all(TASKRUNS) if item["spec"].get("mapIndex") == 3)
        change = {"status": {"state": "Failed", "message": "no such row"}}
        cluster.server.edit(TASKRUNS, "data", changed["metadata"]["name"], change)
        delta = await events.until("delta", "instances")
        assert (delta["instances"]["key"], delta["instances"]["state"]) == (["load/3"], ["Failed"])
        cluster.server.remove(WORKFLOWS, "data", BIG)
        await events.until("gone")


async def test_a_run_that_is_created_again_under_its_name_is_another_run(cluster: MadeUpApi, page: Browser) -> None:
    fill_small(cluster)
    workflow = cluster.server.get(WORKFLOWS, "data", BIG)
    assert workflow is not None
    async with page.stream(f"api/run/live/data/{BIG}/stream") as events:
        await events.until("snapshot")
        cluster.server.remove(WORKFLOWS, "data", BIG)
        await events.until("gone")
    again = cluster.server.put(WORKFLOWS, workflow)
    async with page.stream(f"api/run/live/data/{BIG}/stream") as events:
        snapshot = await events.until("snapshot")
        assert snapshot["run"]["uid"] == again["metadata"]["uid"]
        assert snapshot["instances"]["key"] == []


async def test_an_archived_run_is_sent_once(cluster: MadeUpApi, page: Browser) -> None:
    fill_small(cluster)
    uid = cluster.archive.entries[0]["uid"]
    async with page.stream(f"api/run/archive/data/{uid}/stream") as events:
        assert (await events.next())[1]["run"]["uid"] == uid
        assert (await events.next())[0] == "end"


async def test_the_yaml_of_an_archived_run_needs_its_workflow_only(
    cluster: MadeUpApi, page: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_small(cluster)
    monkeypatch.setattr(archived_run, "INSTANCES_MAX", 0)
    uid = cluster.archive.entries[0]["uid"]
    workflow, taskrun = cluster.archive.objects[uid][0], {"kind": "TaskRun", "metadata": {"name": "a"}, "spec": {}}
    cluster.archive.objects[uid] = [workflow, taskrun]
    async with page.stream(f"api/run/archive/data/{uid}/stream") as events:
        assert (await events.next())[0] == "problem"
    async with page.session.get(f"{page.url}/api/run/archive/data/{uid}/yaml") as response:
        assert yaml.safe_load(await response.text()) == workflow


async def test_a_confined_installation_shows_its_own_archive_and_triggerers(cluster: MadeUpApi) -> None:
    fill_small(cluster)
    cluster.archive.system = "team-torpor"
    async with opened_page(endpoint(cluster, "admin-token"), system="team-torpor") as own:
        assert len((await own.get("api/runs?ns=data&source=archive"))["rows"]) == 30
        await own.get("api/triggerers?ns=data")
    assert any(each.endswith("/namespaces/team-torpor/leases") for each in cluster.requests)
    async with opened_page(endpoint(cluster, "admin-token")) as other:
        assert (await other.get("api/runs?ns=data&source=archive"))["rows"] == []


def fill_small(cluster: MadeUpApi) -> None:
    fill(cluster, Size(runs=30, instances=20, taskruns=0, archived=30))

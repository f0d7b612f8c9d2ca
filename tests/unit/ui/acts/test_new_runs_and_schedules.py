"""Acts that create runs, and those on Schedules."""

import asyncio
from typing import Any

import pytest
from torpor_kubernetes.client.resources import BACKFILLS, SCHEDULES, WORKFLOWS
from torpor_wire import constants, names

from tests.support.made_up_cluster import MadeUpApi
from tests.support.page_server.browser import Browser
from tests.unit.ui.acts.act_objects import RUN, act, current, schedule, template


async def test_a_template_is_submitted_with_typed_params(cluster: MadeUpApi, page: Browser) -> None:
    template(cluster)
    [shown] = await page.get("api/templates?ns=data")
    assert [(param["name"], param["type"], param["required"]) for param in shown["params"]] == [
        ("day", "string", True),
        ("limit", "integer", False),
    ]
    body = {"namespace": "data", "template": "ingest", "params": {"day": "2026-11-21", "limit": 5}}
    preview = await act(page, "submit/preview", **body)
    assert preview["effects"][1:] == ['day: "2026-11-21"', "limit: 5 instead of 10"]
    assert preview["command"] == "torpor submit --template ingest -p day=2026-11-21 -p limit=5 -n data"
    created = (await act(page, "submit", **body))["created"]
    spec = current(cluster, name=created.rpartition("/")[2])["spec"]
    assert spec == {"templateRef": {"name": "ingest"}, "params": {"day": "2026-11-21", "limit": 5}}


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "param day is missing"),
        ({"day": 3}, "param day must be a string"),
        ({"day": "x", "limit": "many"}, "param limit must be an integer"),
        ({"day": "x", "other": 1}, "there is no param 'other'"),
    ],
)
async def test_params_that_do_not_fit_are_refused(
    cluster: MadeUpApi, page: Browser, params: dict[str, Any], message: str
) -> None:
    template(cluster)
    problem = await act(page, "submit/preview", namespace="data", template="ingest", params=params)
    assert problem["status"] == 422
    assert message in problem["message"]


async def test_a_run_is_run_again_with_another_date(cluster: MadeUpApi, page: Browser, run: Any) -> None:
    body = {"runs": [RUN], "params": {"day": "2026-11-21"}}
    preview = await act(page, "resubmit/preview", **body)
    assert preview["effects"][1] == 'day: "2026-11-21" instead of "2026-11-20"'
    assert preview["params"] == {"day": "2026-11-20"}
    assert preview["command"] == "torpor resubmit etl -p day=2026-11-21 -n data"
    created = (await act(page, "resubmit", **body))["created"]
    assert current(cluster, name=created.rpartition("/")[2])["spec"]["params"] == {"day": "2026-11-21"}


async def test_an_archived_run_is_run_again_by_its_uid(cluster: MadeUpApi, page: Browser, run: Any) -> None:
    status = {"state": "Succeeded", "completionTime": "2026-11-22T10:00:00Z"}
    archived = {**run, "metadata": {**run["metadata"], "name": "old", "uid": "u1"}, "status": status}
    cluster.archive.add({**archived, "kind": "Workflow"})
    preview = await act(page, "resubmit/preview", runs=["archive/data/u1"])
    assert preview["command"] == "torpor resubmit u1 -n data"
    assert (await act(page, "resubmit", runs=["archive/data/u1"]))["created"].startswith("live/data/old-")
    outcome = await act(page, "cancel", runs=["archive/data/u1"])
    assert "archive only" in outcome["failed"][0]["message"]


async def test_a_schedule_is_paused_and_resumed(cluster: MadeUpApi, page: Browser) -> None:
    schedule(cluster)
    preview = await act(page, "schedule-pause/preview", schedules=["data/nightly"])
    assert preview["command"] == "torpor schedule pause nightly -n data"
    await act(page, "schedule-pause", schedules=["data/nightly"])
    assert current(cluster, SCHEDULES, "nightly")["spec"]["suspend"] is True
    assert (await act(page, "schedule-resume", schedules=["data/nightly"]))["done"] == ["nightly resumed"]
    assert current(cluster, SCHEDULES, "nightly")["spec"]["suspend"] is False


async def test_a_run_of_a_schedule_is_requested_and_awaited(cluster: MadeUpApi, page: Browser) -> None:
    schedule(cluster)

    async def create() -> None:
        while True:
            item = current(cluster, SCHEDULES, "nightly")
            text = (item["metadata"].get("annotations") or {}).get(constants.RUN_NOW)
            if text:
                name = names.run("nightly", names.manual_run_key(item["metadata"]["uid"], text))
                cluster.server.put(WORKFLOWS, {"metadata": {"namespace": "data", "name": name}, "spec": {}})
                return
            await asyncio.sleep(0.01)

    task = asyncio.create_task(create())
    outcome = await act(page, "schedule-run", schedule="data/nightly")
    await task
    assert outcome["created"].startswith("live/data/nightly-")


async def test_a_backfill_counts_its_ticks_before_it_is_created(cluster: MadeUpApi, page: Browser) -> None:
    schedule(cluster)
    body = {"schedule": "data/nightly", "from": "2026-11-01", "to": "2026-11-04", "rerun": "failed", "concurrency": 2}
    preview = await act(page, "backfill/preview", **body)
    assert preview["effects"][0].startswith("The period has 3 ticks.")
    assert "--from 2026-11-01T00:00:00Z --to 2026-11-04T00:00:00Z" in preview["command"]
    assert (await act(page, "backfill", **body))["failed"] == []
    [created] = cluster.server.all(BACKFILLS)
    assert (created["spec"]["rerun"], created["spec"]["concurrency"]) == ("failed", 2)

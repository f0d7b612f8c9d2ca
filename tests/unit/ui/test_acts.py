"""Acts: each says what it will do, does it with the caller's rights, and names the same command."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from torpor_kubernetes.client.resources import BACKFILLS, SCHEDULES, TASKRUNS, TEMPLATES, WORKFLOWS, Resource
from torpor_ui.acts.table import ACTS
from torpor_wire import constants, names

from tests.support.made_up_cluster import MadeUpApi
from tests.support.made_up_cluster.users import User
from tests.support.page_server.browser import Browser, endpoint, opened_page

RUN = "live/data/etl"
SPEC = {
    "params": {"day": "2026-11-20"},
    "tasks": [
        {"name": "load", "python": "etl:load", "expand": [{"name": "row", "over": [1, 2, 3]}]},
        {"name": "report", "python": "etl:report", "after": ["load"]},
        {"name": "ok", "trigger": {"class": "approval"}},
    ],
}


@pytest.fixture
def run(cluster: MadeUpApi) -> dict[str, Any]:
    tasks = [{"name": "load", "state": "Failed", "total": 3, "created": 3, "failed": 1, "succeeded": 2}]
    body = {
        "metadata": {"namespace": "data", "name": "etl"},
        "spec": SPEC,
        "status": {"state": "Running", "tasks": tasks},
    }
    workflow = cluster.server.put(WORKFLOWS, body)
    for index, state in enumerate(["Succeeded", "Failed", "Succeeded"]):
        taskrun(cluster, workflow, "load", state, index)
    trigger = {"class": "approval", "kwargs": "{}", "waitsFor": "Go to production?"}
    taskrun(cluster, workflow, "ok", "Deferred", trigger=trigger)
    return workflow


def taskrun(
    cluster: MadeUpApi, run: dict[str, Any], task: str, state: str, index: int | None = None, **status: Any
) -> dict[str, Any]:
    metadata = run["metadata"]
    number = constants.UNMAPPED if index is None else index
    labels = {constants.LABEL_WORKFLOW: names.label("etl"), constants.LABEL_TASK: names.label(task)}
    body = {
        "metadata": {
            "namespace": "data",
            "name": names.taskrun("etl", metadata["uid"], task, number),
            "labels": labels,
        },
        "spec": {"workflow": {"name": "etl", "uid": metadata["uid"]}, "task": task, "mapIndex": number},
        "status": {"state": state, "attempt": 1, "segment": 0, "launch": 0, **status},
    }
    return cluster.server.put(TASKRUNS, body)


async def act(page: Browser, name: str, **body: Any) -> Any:
    async with page.session.post(f"{page.origin}/api/acts/{name}", json=body, headers=page.headers()) as response:
        return await response.json()


def current(cluster: MadeUpApi, resource: Resource = WORKFLOWS, name: str = "etl") -> dict[str, Any]:
    found = cluster.server.get(resource, "data", name)
    assert found is not None
    return found


@pytest.mark.parametrize("verb", ["suspend", "stop", "cancel"])
async def test_a_verb_sets_its_field_and_names_the_user(
    cluster: MadeUpApi, page: Browser, run: dict[str, Any], verb: str
) -> None:
    preview = await act(page, f"{verb}/preview", runs=[RUN])
    assert preview["command"] == f"torpor {verb} etl -n data"
    assert preview["allowed"]
    assert preview["effects"]
    assert verb not in current(cluster)["spec"]
    assert (await act(page, verb, runs=[RUN]))["failed"] == []
    changed = current(cluster)
    assert changed["spec"][verb] is True
    assert changed["metadata"]["annotations"][constants.CHANGED_BY].endswith(" admin")


async def test_a_run_that_has_ended_is_a_failure_of_its_key(cluster: MadeUpApi, page: Browser, run: Any) -> None:
    end = {"status": {"state": "Succeeded", "completionTime": "2026-11-22T10:00:00Z"}}
    cluster.server.edit(WORKFLOWS, "data", "etl", end)
    outcome = await act(page, "cancel", runs=[RUN, "live/data/missing"])
    assert [failure["key"] for failure in outcome["failed"]] == [RUN, "live/data/missing"]
    assert "has ended as Succeeded" in outcome["failed"][0]["message"]
    assert "has ended" in (await act(page, "cancel/preview", runs=[RUN]))["warnings"][0]


async def test_a_run_is_deleted_with_its_uid(cluster: MadeUpApi, page: Browser, run: Any) -> None:
    assert (await act(page, "delete", runs=[RUN]))["done"] == ["etl deleted; it is cancelled first"]
    assert cluster.server.get(WORKFLOWS, "data", "etl") is None


@asynccontextmanager
async def operator(cluster: MadeUpApi, annotation: str, **status: Any) -> AsyncIterator[list[str]]:
    """Handles one request by annotation: removes it and changes the status."""
    handled: list[str] = []

    async def handle() -> None:
        while True:
            annotations = current(cluster)["metadata"].get("annotations") or {}
            if annotation in annotations:
                handled.append(annotations[annotation])
                cluster.server.edit(
                    WORKFLOWS, "data", "etl", {"metadata": {"annotations": {annotation: None}}, "status": status}
                )
                return
            await asyncio.sleep(0.01)

    task = asyncio.create_task(handle())
    try:
        yield handled
    finally:
        task.cancel()


async def test_a_retry_says_what_runs_again_and_waits_for_the_operator(
    cluster: MadeUpApi, page: Browser, run: Any
) -> None:
    preview = await act(page, "retry/preview", runs=[RUN])
    assert preview["effects"] == ["load/1 (1 TaskRun)", "report (not started yet, depends on these)"]
    assert preview["command"] == "torpor retry etl -n data"
    async with operator(cluster, constants.CLEAR, clears=1) as handled:
        assert (await act(page, "retry", runs=[RUN]))["done"] == ["etl runs these tasks again"]
    assert handled == ["failed"]


async def test_named_instances_are_cleared(cluster: MadeUpApi, page: Browser, run: Any) -> None:
    preview = await act(page, "clear/preview", runs=[RUN], tasks=["load/0", "load/2"])
    assert preview["command"] == "torpor retry etl load/0 load/2 -n data"
    assert preview["effects"][0] == "load/0,2 (2 TaskRuns)"
    async with operator(cluster, constants.CLEAR, clears=1) as handled:
        await act(page, "clear", runs=[RUN], tasks=["load/0", "load/2"])
    assert handled == ["load/0,load/2"]


async def test_a_refusal_of_the_operator_is_shown(cluster: MadeUpApi, page: Browser, run: Any) -> None:
    async with operator(cluster, constants.CLEAR):
        outcome = await act(page, "retry", runs=[RUN])
    assert outcome["failed"][0]["message"].startswith("Torpor refused to run them again: see the Events")


async def test_an_instance_is_marked_with_a_reason(cluster: MadeUpApi, page: Browser, run: Any) -> None:
    body = {"runs": [RUN], "tasks": ["load/1"], "state": "skipped", "because": "no data that day"}
    preview = await act(page, "mark/preview", **body)
    assert preview["command"] == "torpor mark etl/load/1 skipped --because 'no data that day' -n data"
    async with operator(cluster, constants.MARK, clears=1) as handled:
        assert (await act(page, "mark", **body))["done"] == ["load/1 of etl: marked as skipped"]
    assert handled == ["skipped load/1 because no data that day"]
    refused = await act(page, "mark", **{**body, "because": " "})
    assert "--because is empty" in str(refused)


async def test_an_approval_is_answered_once(cluster: MadeUpApi, page: Browser, run: Any) -> None:
    body = {"runs": [RUN], "tasks": ["ok"], "note": "seen"}
    preview = await act(page, "approve/preview", **body)
    assert preview["effects"] == ["ok is approved: Go to production?. The task goes on."]
    assert preview["command"] == "torpor approve etl/ok --note seen -n data"
    assert (await act(page, "approve", **body))["done"] == ["ok of etl approved"]
    name = names.taskrun("etl", run["metadata"]["uid"], "ok", constants.UNMAPPED)
    annotations = current(cluster, TASKRUNS, name)["metadata"]["annotations"]
    assert (annotations[constants.APPROVAL], annotations[constants.APPROVAL_BY]) == ("approved", "admin")
    outcome = await act(page, "reject", runs=[RUN], tasks=["load/0"])
    assert outcome["failed"] == [{"key": "load/0", "message": "load/0 of etl does not wait for an approval"}]


PARAMS = [
    {"name": "day", "type": "string", "required": True},
    {"name": "limit", "type": "integer", "default": 10},
]


def template(cluster: MadeUpApi) -> None:
    workflow = {"tasks": [{"name": "load", "python": "etl:load"}]}
    spec = {"params": PARAMS, "workflow": workflow}
    cluster.server.put(TEMPLATES, {"metadata": {"namespace": "data", "name": "ingest"}, "spec": spec})


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


def schedule(cluster: MadeUpApi) -> None:
    spec = {"sources": [{"name": "nightly", "cron": "0 2 * * *"}], "templateRef": {"name": "ingest"}}
    cluster.server.put(SCHEDULES, {"metadata": {"namespace": "data", "name": "nightly"}, "spec": spec, "status": {}})


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


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("cancel", {"runs": "live/data/etl"}),
        ("cancel", {"runs": ["live/data"]}),
        ("cancel", {"runs": ["live/data/../secrets"]}),
        ("cancel", {"runs": ["other/data/etl"]}),
        ("cancel", {"runs": [f"live/data/r{number}" for number in range(101)]}),
        ("clear", {"runs": [RUN]}),
        ("clear", {"runs": [RUN], "tasks": ["Load"]}),
        ("clear", {"runs": [RUN], "tasks": ["load/x"]}),
        ("submit", {"namespace": "data", "template": "../x"}),
        ("submit", {"namespace": "data", "template": "ingest", "params": [1]}),
        ("backfill", {"schedule": "data/nightly", "from": "2026-11-01", "to": "2026-11-02", "concurrency": 1e9}),
        ("backfill", {"schedule": "data/nightly", "from": "x", "to": "y"}),
        ("backfill", {"schedule": "nightly"}),
    ],
)
@pytest.mark.attack
async def test_a_malformed_request_changes_nothing(
    cluster: MadeUpApi, page: Browser, run: Any, name: str, body: dict[str, Any]
) -> None:
    schedule(cluster)
    template(cluster)
    for path in (f"{name}/preview", name):
        problem = await act(page, path, **body)
        assert problem["status"] in {400, 422}, problem
    assert not [request for request in cluster.requests if " patch " in request or " delete " in request]


async def test_a_reader_sees_why_each_button_is_disabled(cluster: MadeUpApi) -> None:
    cluster.users["reader-token"] = User(name="rita", reads={"data"})
    async with opened_page(endpoint(cluster, "reader-token")) as page:
        access = (await page.get("api/access?ns=data"))["acts"]
        assert set(access) == set(ACTS)
        assert not any(entry["allowed"] for entry in access.values())
        assert access["retry"]["reason"] == ("you may not patch workflows in namespace data; ask for ClusterRole edit")
        assert "torpor-approve" in access["approve"]["reason"]


@pytest.mark.attack
async def test_a_reader_who_acts_nevertheless_gets_the_refusal_of_the_api_server(cluster: MadeUpApi, run: Any) -> None:
    cluster.users["reader-token"] = User(name="rita", reads={"data"})
    async with opened_page(endpoint(cluster, "reader-token")) as page:
        preview = await act(page, "cancel/preview", runs=[RUN])
        assert (preview["allowed"], "patch workflows" in preview["reason"]) == (False, True)
        outcome = await act(page, "cancel", runs=[RUN])
        assert "cannot patch" in outcome["failed"][0]["message"]
        assert "cancel" not in current(cluster)["spec"]


@pytest.mark.attack
async def test_a_read_only_page_refuses_every_act(cluster: MadeUpApi, run: Any) -> None:
    async with opened_page(endpoint(cluster, "admin-token"), read_only=True) as page:
        for name in ACTS:
            assert (await act(page, name, runs=[RUN]))["reason"] == "ReadOnly"
        access = (await page.get("api/access?ns=data"))["acts"]
        assert access["cancel"]["reason"].startswith("this page is read-only")


@pytest.mark.attack
async def test_an_act_of_another_site_is_refused(page: Browser) -> None:
    path = "api/acts/cancel"
    assert await page.status("POST", path, json={}, headers={"Origin": "https://evil.example"}) == 403
    assert await page.status("POST", path, json={}, headers={"Origin": page.origin}) == 403
    assert await page.status("POST", path, json={}) == 403

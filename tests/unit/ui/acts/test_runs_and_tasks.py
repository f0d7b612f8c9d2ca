"""Acts on runs and tasks: each says what it will do, does it, and names the same command."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from torpor_client.changes import requests
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_wire import constants, names

from tests.support.made_up_cluster import MadeUpApi
from tests.support.page_server.browser import Browser
from tests.unit.ui.acts.act_objects import RUN, act, current


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


async def test_an_answer_that_does_not_fit_names_its_field(cluster: MadeUpApi, page: Browser, run: Any) -> None:
    kwargs = json.dumps({"fields": [{"name": "why"}], "options": ["a", "b"]})
    name = names.taskrun("etl", run["metadata"]["uid"], "ok", constants.UNMAPPED)
    cluster.server.edit(TASKRUNS, "data", name, {"status": {"trigger": {"class": "approval", "kwargs": kwargs}}})
    body: dict[str, Any] = {"runs": [RUN], "tasks": ["ok"]}
    refused = await act(page, "approve/preview", **body, answers={"options": ["a"]})
    assert (refused["status"], refused["field"], refused["message"]) == (422, "why", "why is missing")
    refused = await act(page, "approve/preview", **body, answers={"why": "x"})
    assert (refused["field"], refused["message"]) == ("options", "choose one of the options a, b")
    answers = {"why": "x", "options": ["a"]}
    preview = await act(page, "approve/preview", **body, answers=answers)
    assert preview["command"] == "torpor approve etl/ok --field why=x --option a -n data"
    assert (await act(page, "approve", **body, answers=answers))["failed"] == []
    written = current(cluster, TASKRUNS, name)["metadata"]["annotations"][constants.APPROVAL_FIELDS]
    assert json.loads(written) == answers


@pytest.mark.attack
async def test_an_answer_for_many_instances_lists_their_task_once(cluster: MadeUpApi, page: Browser, run: Any) -> None:
    outcome = await act(page, "reject", runs=[RUN], tasks=[f"load/{number}" for number in range(50)])
    assert len(outcome["failed"]) == 50
    assert len([line for line in cluster.requests if line.endswith("/taskruns")]) == 1


async def test_many_runs_wait_no_longer_than_one_for_the_operator(
    cluster: MadeUpApi, page: Browser, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "ANSWER_S", 0.2)
    body = {key: run[key] for key in ("spec", "status")}
    for number in range(12):
        cluster.server.put(WORKFLOWS, {**body, "metadata": {"namespace": "data", "name": f"r{number}"}})
    outcome = await act(page, "clear", runs=["live/data/r0"], tasks=["report"])
    assert outcome["done"] == ["requested; the operator has not answered yet"]
    runs = [f"live/data/r{number}" for number in range(1, 12)]
    assert len((await act(page, "retry", runs=runs))["done"]) == 11
    annotated = [item for item in cluster.server.all(WORKFLOWS) if item["metadata"].get("annotations")]
    assert len(annotated) == 12

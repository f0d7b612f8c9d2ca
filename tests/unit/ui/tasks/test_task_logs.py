"""The logs of one instance: joined by time from pods and the archive, followed, bounded and downloaded."""

import asyncio
from typing import Any

import pytest
from torpor_kubernetes.client.resources import PODS, TASKRUNS
from torpor_ui.logs import log_follower
from torpor_wire import constants, names

from tests.support.made_up_cluster import MadeUpApi
from tests.support.made_up_cluster.users import User
from tests.support.page_server.browser import Browser, EventReader, endpoint, opened_page
from tests.unit.ui.tasks.task_objects import Object, instance

LOGS = "api/run/live/data/etl/task/load/0/logs"


def pod(cluster: MadeUpApi, taskrun: Object, attempt: int, started: str, *lines: str, phase: str = "Succeeded") -> str:
    metadata = taskrun["metadata"]
    name = names.pod(metadata["name"], attempt, 0, 0)
    labels = metadata["labels"] | {constants.LABEL_TASKRUN_UID: metadata["uid"], constants.LABEL_INDEX: "0"}
    state = {"startedAt": started} | ({} if phase == "Running" else {"finishedAt": "2026-11-22T10:59:00Z"})
    running = {"running" if phase == "Running" else "terminated": state}
    status = {"phase": phase, "containerStatuses": [{"name": "main", "state": running}]}
    cluster.server.put(PODS, {"metadata": {"namespace": "data", "name": name, "labels": labels}, "status": status})
    cluster.logs[name] = list(lines)
    return name


def wait_log(cluster: MadeUpApi, *lines: str) -> None:
    entry = {
        "id": "w1",
        "kind": "wait",
        "task": "load",
        "mapIndex": 0,
        "attempt": 1,
        "segment": 0,
        "started": "2026-11-22T10:10:00Z",
        "ended": "2026-11-22T10:20:00Z",
        "state": "Kept",
    }
    other = entry | {"id": "w2", "mapIndex": 1}
    cluster.archive.logs = {"w1": (entry, list(lines)), "w2": (other, ["2026-11-22T10:11:00Z of another"])}


async def until_end(events: EventReader) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = []
    while True:
        name, data = await events.next()
        if name == "end":
            return lines
        assert name == "lines", data
        lines += data


def texts(lines: list[dict[str, Any]]) -> list[str]:
    return [line["text"] for line in lines if line["stream"] != "note"]


async def test_logs_of_pods_and_waits_are_joined_by_time(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    taskrun = cluster.server.put(TASKRUNS, instance(run, "Succeeded"))
    first = pod(cluster, taskrun, 1, "2026-11-22T10:00:00Z", "2026-11-22T10:00:01Z one", "2026-11-22T10:21:00Z four")
    pod(cluster, taskrun, 2, "2026-11-22T10:30:00Z", "2026-11-22T10:30:01Z ERROR five")
    wait_log(cluster, "2026-11-22T10:11:00Z two", "2026-11-22T10:12:00Z three")
    async with page.stream(LOGS) as events:
        lines = await until_end(events)
    assert texts(lines) == ["one", "two", "three", "four", "ERROR five"]
    assert [line["source"] for line in lines[:2]] == [first, "wait"]
    assert (lines[4]["attempt"], lines[4]["severity"]) == (2, "error")
    async with page.stream(f"{LOGS}?attempt=2") as events:
        assert texts(await until_end(events)) == ["ERROR five"]


async def test_new_lines_are_followed_until_the_instance_ends(
    cluster: MadeUpApi, page: Browser, run: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_follower, "RELIST_S", 0.05)
    taskrun = cluster.server.put(TASKRUNS, instance(run, "Running"))
    started = "2026-11-22T10:00:00Z"
    name = pod(cluster, taskrun, 2, started, "2026-11-22T10:00:01Z one", phase="Running")
    async with page.stream(f"{LOGS}?follow=1") as events:
        assert texts(await events.until("lines")) == ["one"]
        cluster.logs[name] += ["2026-11-22T10:00:01Z same second", "2026-11-22T10:00:02Z two"]
        assert texts(await events.until("lines"))[:1] == ["same second"]
        cluster.server.edit(PODS, "data", name, {"status": {"phase": "Succeeded"}})
        end = {"status": {"state": "Succeeded", "completionTime": "2026-11-22T10:00:03Z"}}
        cluster.server.edit(TASKRUNS, "data", taskrun["metadata"]["name"], end)
        await until_end(events)


async def test_an_archived_run_has_its_logs(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    archived = {**run, "kind": "Workflow", "status": {"state": "Succeeded", "completionTime": "2026-11-22T11:00:00Z"}}
    cluster.archive.add(archived, instance(run, "Succeeded"))
    wait_log(cluster, "2026-11-22T10:11:00Z two")
    async with page.stream(f"api/run/archive/data/{run['metadata']['uid']}/task/load/0/logs?follow=1") as events:
        assert texts(await until_end(events)) == ["two"]


async def test_another_container_is_chosen_by_its_name(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    taskrun = cluster.server.put(TASKRUNS, instance(run, "Succeeded"))
    name = pod(cluster, taskrun, 1, "2026-11-22T10:00:00Z", "2026-11-22T10:00:01Z of the container")
    ended = {"startedAt": "2026-11-22T10:00:00Z", "finishedAt": "2026-11-22T10:59:00Z"}
    statuses = [{"name": "fetch", "state": {"terminated": ended}}]
    cluster.server.edit(PODS, "data", name, {"status": {"initContainerStatuses": statuses}})
    async with page.stream(f"{LOGS}?container=fetch") as events:
        assert texts(await until_end(events)) == ["of the container"]
    async with page.stream(f"{LOGS}?container=proxy") as events:
        assert texts(await until_end(events)) == []
    assert await page.status("GET", f"{LOGS}?container=../x") == 400


async def test_without_the_archive_logs_of_pods_are_shown_with_a_note(
    cluster: MadeUpApi, page: Browser, run: Object
) -> None:
    taskrun = cluster.server.put(TASKRUNS, instance(run, "Succeeded"))
    pod(cluster, taskrun, 1, "2026-11-22T10:00:00Z", "2026-11-22T10:00:01Z one")
    cluster.archive.away = True
    async with page.stream(LOGS) as events:
        lines = await until_end(events)
    assert texts(lines) == ["one"]
    assert "logs of waits and former pods are missing" in lines[-1]["text"]


@pytest.mark.parametrize(
    ("state", "sentence"),
    [
        ("Deferred", "there is no log yet: the archive keeps the lines of a wait when it ends"),
        ("Scheduled", "there is no log yet; `torpor why etl/load` explains what the tasks wait for"),
        ("Succeeded", "there is no log of etl/load"),
    ],
)
async def test_an_instance_without_lines_says_why(
    cluster: MadeUpApi, page: Browser, run: Object, state: str, sentence: str
) -> None:
    cluster.server.put(TASKRUNS, instance(run, state))
    async with page.stream(LOGS) as events:
        [line] = await until_end(events)
    assert line["text"].startswith(sentence)


@pytest.mark.attack
async def test_a_line_of_8_mb_is_cut_and_control_characters_are_visible(
    cluster: MadeUpApi, page: Browser, run: Object
) -> None:
    taskrun = cluster.server.put(TASKRUNS, instance(run, "Succeeded"))
    hostile = "\x1b]0;title\x07\u202e\x1b[31mred\x1b[0m<script>"
    huge = "x" * 8_000_000
    pod(cluster, taskrun, 1, "2026-11-22T10:00:00Z", f"2026-11-22T10:00:01Z {hostile}", f"2026-11-22T10:00:02Z {huge}")
    async with page.stream(LOGS) as events:
        lines = await until_end(events)
    assert "\x1b" not in lines[0]["text"]
    assert "\u202e" not in lines[0]["text"]
    assert "red" in lines[0]["text"]
    assert len(lines[1]["text"]) < 20_000
    assert lines[1]["text"].endswith("more bytes; the download has the whole line)")
    async with page.session.get(f"{page.origin}/{LOGS}.txt") as response:
        content = await response.text()
        assert response.headers["Content-Disposition"].startswith('attachment; filename="etl-load-0.log"')
    assert content.count("x") >= 8_000_000


@pytest.mark.attack
async def test_an_endless_log_is_shown_from_its_end(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    cluster.server.put(TASKRUNS, instance(run, "Succeeded"))
    wait_log(cluster, *(f"2026-11-22T10:11:00Z {number}" for number in range(20_000)))
    async with page.stream(LOGS) as events:
        lines = await until_end(events)
    assert texts(lines)[0] == "15000"
    assert len(texts(lines)) == 5000
    assert any("the first 15,000 lines are left out" in line["text"] for line in lines)


async def test_a_viewer_who_leaves_ends_the_reads(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    taskrun = cluster.server.put(TASKRUNS, instance(run, "Running"))
    name = pod(cluster, taskrun, 2, "2026-11-22T10:00:00Z", "2026-11-22T10:00:01Z one", phase="Running")
    async with page.stream(f"{LOGS}?follow=1") as events:
        await events.until("lines")
        cluster.logs[name].append("2026-11-22T10:00:02Z two")
        await events.until("lines")
        reading = readers()
        assert reading
    _, pending = await asyncio.wait(reading, timeout=60)
    assert not pending


def readers() -> set[asyncio.Task[Any]]:
    return {task for task in asyncio.all_tasks() if "LogFollower._follow" in repr(task)}


@pytest.mark.parametrize("query", ["attempt=x", "attempt=9999999", "from=nan", "from=-1", "segment=1.5"])
async def test_a_malformed_filter_is_a_400(page: Browser, run: Object, cluster: MadeUpApi, query: str) -> None:
    cluster.server.put(TASKRUNS, instance(run, "Succeeded"))
    assert await page.status("GET", f"{LOGS}?{query}") == 400


@pytest.mark.attack
async def test_logs_of_another_namespace_are_not_shown(cluster: MadeUpApi, run: Object) -> None:
    cluster.server.put(TASKRUNS, instance(run, "Succeeded"))
    cluster.users["ml-token"] = User(name="mia", reads={"ml"})
    async with opened_page(endpoint(cluster, "ml-token"), namespaces=("ml",)) as page:
        assert await page.status("GET", LOGS) == 403
        assert await page.status("GET", f"{LOGS}.txt") == 403

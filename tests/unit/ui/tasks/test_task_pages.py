"""The page of one instance, live and archived."""

import hashlib
import json
from typing import Any

import aiohttp
import pytest
from torpor_kubernetes.client.resources import EVENTS, PODS, TASKRUNS, WORKFLOWS
from torpor_wire import constants, names

from tests.support.made_up_cluster import MadeUpApi
from tests.support.made_up_cluster.users import User
from tests.support.page_server.browser import Browser, endpoint, opened_page
from tests.unit.ui.tasks.task_objects import Object, instance
from tests.unit.views.objects import at
from tests.unit.views.test_timeline import HISTORY


async def test_an_instance_has_its_attempts_history_and_arguments(
    cluster: MadeUpApi, page: Browser, run: Object
) -> None:
    arguments = [{"name": "row", "value": '{"n": 1}'}, {"name": "rows", "from": {"task": "list", "field": "result"}}]
    body = instance(run, "Running", 1, history=HISTORY, spec={"arguments": arguments}, pod={"name": "p2"})
    stored = cluster.put_at(TASKRUNS, body, 1_795_341_300.0)
    detail = await page.get("api/run/live/data/etl/task/load/1")
    assert (detail["key"], detail["state"], detail["attempt"]) == ("load/1", "Running", 2)
    assert [[part["segment"] for part in each["segments"]] for each in detail["attempts"]] == [[0, 1], [0]]
    assert detail["attempts"][0]["segments"][0]["phase"] == "waiting"
    assert detail["attempts"][1]["segments"][0]["end"] is None
    assert [entry["state"] for entry in detail["history"]][:2] == ["Running", "Deferred"]
    assert detail["args"] == {"row": {"n": 1}, "rows": {"from": {"task": "list", "field": "result"}}}
    assert detail["result"]["present"] is False
    assert detail["why"][0]["subject"] == "load/1"
    assert f"name: {stored['metadata']['name']}" in detail["yaml"]["taskrun"]
    assert "managedFields" not in detail["yaml"]["taskrun"]


async def test_an_instance_has_its_pod_and_the_events_on_both(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    stored = cluster.server.put(TASKRUNS, instance(run, "Scheduled"))
    name, uid = stored["metadata"]["name"], stored["metadata"]["uid"]
    pod_name = names.pod(name, 2, 0, 0)
    labels = stored["metadata"]["labels"] | {constants.LABEL_TASKRUN_UID: uid}
    pod = {
        "metadata": {"namespace": "data", "name": pod_name, "labels": labels},
        "spec": {"nodeName": "node-1"},
        "status": {"phase": "Pending"},
    }
    cluster.server.put(PODS, pod)
    for number, (kind, about) in enumerate([("Pod", pod_name), ("TaskRun", name), ("Pod", "other")]):
        event = {
            "metadata": {"namespace": "data", "name": f"e{number}"},
            "type": "Warning",
            "reason": "BackOff",
            "note": "cannot pull \u202eimage",
            "eventTime": at(number),
            "regarding": {"kind": kind, "name": about},
        }
        cluster.server.put(EVENTS, event)
    detail = await page.get("api/run/live/data/etl/task/load/0")
    assert [(event["pod"], event["reason"]) for event in detail["podEvents"]] == [
        ("", "BackOff"),
        (pod_name, "BackOff"),
    ]
    assert "\u202e" not in detail["podEvents"][0]["message"]
    assert "node-1" in detail["yaml"]["pod"]
    assert detail["attempts"][0]["segments"][0]["node"] == "node-1"


@pytest.mark.parametrize("key", ["load/7", "missing", "Load", "load/x", "load/0/../../x"])
async def test_an_instance_that_does_not_exist_is_a_404(page: Browser, run: Object, key: str) -> None:
    path = f"api/run/live/data/etl/task/{key.replace('..', '%2E%2E')}"
    assert await page.status("GET", path) in {400, 404}


async def test_an_archived_instance_has_its_events(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    body = instance(run, "Failed", reason="Error", message="no", completionTime=at(0))
    event = {"kind": "Event", "regarding": {"name": body["metadata"]["name"]}, "reason": "Failed", "note": "no"}
    archived = {**run, "kind": "Workflow", "status": {"state": "Failed", "completionTime": at(0)}}
    cluster.archive.add(archived, body, event, {"kind": "Event", "regarding": {"name": "other"}})
    detail = await page.get(f"api/run/archive/data/{run['metadata']['uid']}/task/load/0")
    assert (detail["state"], [each["reason"] for each in detail["podEvents"]]) == ("Failed", ["Failed"])
    assert detail["why"][0]["sentence"].startswith("Task load/0 failed")


_RUN = {"python": None, "run": {"template": "load", "name": "load-2026"}}


def _awaits(name: str) -> Object:
    return {"class": "workflow", "kwargs": json.dumps({"name": name})}


@pytest.mark.parametrize(
    "case",
    [
        ("Failed", {"spec": _RUN}, "load-2026-2"),
        ("Deferred", {"spec": _RUN, "trigger": _awaits("load-2025")}, "load-2025"),
        ("Scheduled", {"spec": _RUN}, None),
        ("Failed", {}, None),
        ("Deferred", {"spec": _RUN, "trigger": _awaits("../../acts")}, None),
    ],
    ids=["attempt", "awaited", "none yet", "no run", "hostile"],
)
async def test_an_instance_names_the_run_that_it_has_started(
    page: Browser, run: Object, cluster: MadeUpApi, case: tuple[str, Object, str | None]
) -> None:
    state, parts, name = case
    cluster.server.put(TASKRUNS, instance(run, state, **parts))
    detail = await page.get("api/run/live/data/etl/task/load/0")
    assert detail["childRun"] == (name and {"name": name, "key": f"live/data/{name}"})


async def test_an_archived_instance_names_its_run_without_a_key(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    body = instance(run, "Failed", spec=_RUN, completionTime=at(0))
    archived = {**run, "kind": "Workflow", "status": {"state": "Failed", "completionTime": at(0)}}
    cluster.archive.add(archived, body)
    detail = await page.get(f"api/run/archive/data/{run['metadata']['uid']}/task/load/0")
    assert detail["childRun"] == {"name": "load-2026-2", "key": None}


@pytest.mark.attack
async def test_an_instance_of_another_namespace_is_not_shown(cluster: MadeUpApi, run: Object) -> None:
    cluster.server.put(TASKRUNS, instance(run, "Succeeded", result="1"))
    cluster.users["ml-token"] = User(name="mia", reads={"ml"})
    async with opened_page(endpoint(cluster, "ml-token"), namespaces=("ml",)) as page:
        for path in ("task/load/0", "task/load/0/result"):
            assert await page.status("GET", f"api/run/live/data/etl/{path}") == 403


LISTED = b'"a"\n2\n'


def stored(body: bytes, kind: str, **more: Any) -> Object:
    return {"size": len(body), "digest": hashlib.sha256(body).hexdigest(), "type": kind, **more}


def with_result(cluster: MadeUpApi, run: Object, body: bytes, kind: str, **more: Any) -> None:
    described = stored(body, kind, **more)
    taskrun = cluster.server.put(TASKRUNS, instance(run, "Succeeded", stored=described))
    cluster.archive.results[taskrun["metadata"]["uid"], described["digest"]] = body


async def result(page: Browser, query: str = "") -> tuple[bytes, dict[str, str]]:
    async with page.session.get(f"{page.origin}/api/run/live/data/etl/task/load/0/result{query}") as response:
        return await response.read(), dict(response.headers)


async def test_an_inline_result_is_json(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    cluster.server.put(TASKRUNS, instance(run, "Succeeded", result='{"rows": 3}'))
    content, headers = await result(page)
    assert json.loads(content) == {"rows": 3}
    assert headers["Content-Disposition"].startswith('attachment; filename="etl-load-0.json"')
    detail = await page.get("api/run/live/data/etl/task/load/0")
    assert detail["result"] == {
        "present": True,
        "size": 11,
        "type": "object",
        "where": "inline",
        "inline": {"rows": 3},
    }


@pytest.mark.attack
async def test_numbers_that_json_does_not_have_are_shown_as_texts(
    cluster: MadeUpApi, page: Browser, run: Object
) -> None:
    cluster.server.put(TASKRUNS, instance(run, "Succeeded", result='{"rows": [1e999, NaN, 3]}'))
    detail = await page.get("api/run/live/data/etl/task/load/0")
    assert detail["result"]["inline"] == {"rows": ["inf", "nan", 3]}


async def test_a_result_of_the_archive_is_streamed_as_json(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    with_result(cluster, run, LISTED, "list", length=2)
    content, _ = await result(page, "?show=1")
    assert json.loads(content) == ["a", 2]
    detail = await page.get("api/run/live/data/etl/task/load/0")
    assert (detail["result"]["where"], detail["result"]["type"], detail["result"]["length"]) == ("archive", "list", 2)


@pytest.mark.attack
@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("x.html", "text/plain; charset=utf-8"),
        ("x.svg", "text/plain; charset=utf-8"),
        ("x.png", "image/png"),
        ("x.exe", "application/octet-stream"),
        ('a"\r\nSet-Cookie: x=1;.png', "image/png"),
        ("../../etc/passwd", "application/octet-stream"),
        ("", "application/octet-stream"),
    ],
)
async def test_a_file_never_runs_in_the_browser(
    cluster: MadeUpApi, page: Browser, run: Object, name: str, shown: str
) -> None:
    with_result(cluster, run, b"<script>alert(1)</script>", "file", name=name)
    content, headers = await result(page, "?show=1")
    assert content == b"<script>alert(1)</script>"
    assert headers["Content-Type"] == shown
    disposition = "attachment" if shown == "application/octet-stream" else "inline"
    assert headers["Content-Disposition"].startswith(f"{disposition}; filename=")
    assert headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Set-Cookie" not in headers
    _, saved = await result(page)
    assert (saved["Content-Type"], saved["Content-Disposition"][:10]) == ("application/octet-stream", "attachment")


async def test_an_incomplete_result_breaks_the_connection(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    with_result(cluster, run, LISTED, "list")
    cluster.archive.results = dict.fromkeys(cluster.archive.results, LISTED[:-2])
    with pytest.raises(aiohttp.ClientPayloadError):
        await result(page)


async def test_a_result_without_an_archive_says_so(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    with_result(cluster, run, LISTED, "list")
    cluster.archive.away = True
    assert await page.status("GET", "api/run/live/data/etl/task/load/0/result") == 503


async def test_an_instance_that_failed_has_no_result(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    cluster.server.put(TASKRUNS, instance(run, "Failed"))
    assert await page.status("GET", "api/run/live/data/etl/task/load/0/result") == 404


async def test_one_instance_of_many_is_read_without_the_others(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    cluster.server.put(TASKRUNS, instance(run, "Running", 1))
    assert (await page.get("api/run/live/data/etl/task/load/1"))["key"] == "load/1"
    assert not [
        request
        for request in cluster.requests
        if request.endswith("list /apis/torpor.dev/v1alpha1/namespaces/data/taskruns")
    ]


async def test_who_looks_at_the_run_gets_causes_from_all_of_it(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    status = {"tasks": [{"name": "load", "state": "Running", "reason": "MaxActiveReached"}]}
    cluster.server.edit(WORKFLOWS, "data", "etl", {"status": status})
    cluster.server.put(TASKRUNS, instance(run, "Running", 0))
    cluster.server.put(TASKRUNS, instance(run, "Scheduled", 1))
    async with page.stream("api/run/live/data/etl/stream") as events:
        await events.until("snapshot")
        detail = await page.get("api/run/live/data/etl/task/load/1")
    assert "held by load/0" in detail["why"][0]["sentence"]


async def test_the_links_of_a_result_are_on_the_page(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    links = [{"name": "Job", "url": "https://jobs.example.org/1"}, {"name": "x", "url": "javascript:alert(1)"}]
    cluster.server.put(TASKRUNS, instance(run, "Succeeded", result=json.dumps({"rows": 3, "__links__": links})))
    detail = await page.get("api/run/live/data/etl/task/load/0")
    assert detail["links"] == [{"title": "Job", "url": "https://jobs.example.org/1"}]

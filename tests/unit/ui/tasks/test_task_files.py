"""The files that an instance has stored."""

import hashlib
from typing import Any

import pytest
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_ui.http import event_stream

from tests.support.made_up_cluster import MadeUpApi
from tests.support.page_server.browser import Browser
from tests.support.page_server.idle_viewer import is_disconnected
from tests.unit.ui.tasks.task_objects import Object, instance

TASK = "api/run/live/data/etl/task/load/0"


def with_file(cluster: MadeUpApi, run: Object, body: bytes, **described: Any) -> None:
    digest = hashlib.sha256(body).hexdigest()
    entry = {"name": "table", "kind": "file", "size": len(body), "digest": digest} | described
    inputs = [{"name": "rows", "path": "/data/rows"}]
    parts: Object = {"files": [entry], "spec": {"files": {"in": inputs}}}
    taskrun = cluster.server.put(TASKRUNS, instance(run, "Succeeded", **parts))
    cluster.archive.results[taskrun["metadata"]["uid"], digest] = body


@pytest.mark.parametrize(
    ("kind", "name"),
    [("file", "table"), ("folder", "table.tar"), ("file+gzip", "table.gz"), ("folder+gzip", "table.tar.gz")],
)
async def test_a_file_is_a_download(cluster: MadeUpApi, page: Browser, run: Object, kind: str, name: str) -> None:
    with_file(cluster, run, b"a,b\n", kind=kind)
    detail = await page.get(TASK)
    assert [(file["name"], file["kind"], file["size"]) for file in detail["files"]] == [("table", kind, 4)]
    assert detail["inputs"] == [{"name": "rows", "path": "/data/rows"}]
    async with page.session.get(f"{page.origin}/{TASK}/files/table") as response:
        assert await response.read() == b"a,b\n"
        assert response.headers["Content-Disposition"].startswith(f'attachment; filename="{name}"')
        assert response.headers["Content-Type"] == "application/octet-stream"


@pytest.mark.attack
@pytest.mark.parametrize(
    "described", [{"name": "../x"}, {"name": "a b"}, {"digest": "x/../y"}, {"kind": "html"}, {"name": 7}]
)
async def test_what_is_no_description_of_a_file_is_left_out(
    cluster: MadeUpApi, page: Browser, run: Object, described: dict[str, Any]
) -> None:
    with_file(cluster, run, b"a", **described)
    assert (await page.get(TASK))["files"] == []
    for name in ("table", "..", "%2E%2E%2Fx"):
        assert await page.status("GET", f"{TASK}/files/{name}") in {400, 404}


async def test_a_file_that_is_not_there_is_a_404(cluster: MadeUpApi, page: Browser, run: Object) -> None:
    with_file(cluster, run, b"a")
    cluster.archive.results.clear()
    assert await page.status("GET", f"{TASK}/files/table") == 404
    assert await page.status("GET", f"{TASK}/files/other") == 404


@pytest.mark.attack
async def test_a_download_ends_if_its_client_reads_nothing(
    cluster: MadeUpApi, page: Browser, run: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_stream, "WRITE_SECONDS", 0.2)
    with_file(cluster, run, b"x" * 32_000_000)
    await is_disconnected(page, f"{TASK}/files/table")


@pytest.mark.attack
async def test_downloads_count_as_streams_of_their_caller(
    cluster: MadeUpApi, page: Browser, run: Object, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_file(cluster, run, b"a,b\n")
    monkeypatch.setattr(event_stream, "STREAMS_MAX", 0)
    assert await page.status("GET", f"{TASK}/files/table") == 429
    assert await page.status("GET", f"{TASK}/logs.txt") == 429
    monkeypatch.setattr(event_stream, "STREAMS_MAX", 1)
    for _ in range(3):  # each gives its place back
        assert await page.status("GET", f"{TASK}/files/table") == 200

"""The files that an instance has stored."""

import hashlib
from typing import Any

import pytest
from torpor_kubernetes.client.resources import TASKRUNS

from tests.support.made_up_cluster import MadeUpApi
from tests.support.page_server.browser import Browser
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

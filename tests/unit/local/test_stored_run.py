"""The page of a local run: its objects and logs, from its folder, without a change."""

import asyncio
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from torpor_kubernetes.client.errors import ApiError
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_local import stored_run
from torpor_local.apiserver.history import ObjectAddress
from torpor_local.journal import SavedRun
from torpor_ui import local

LOG = "/api/v1/namespaces/default/pods/{}/log"
WORKFLOW = {
    "apiVersion": WORKFLOWS.api_version,
    "kind": "Workflow",
    "metadata": {"name": "ingest", "namespace": "default", "uid": "u", "resourceVersion": "7"},
    "spec": {"tasks": [{"name": "load", "python": "m:f"}]},
    "status": {"state": "Succeeded"},
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a run with one log, beside a file that is no log."""
    (tmp_path / "run/logs").mkdir(parents=True)
    (tmp_path / "run/logs/ingest-load-a1-s0.log").write_text("loaded\n")
    (tmp_path / "run/state.log").write_text("not the log of a pod\n")
    return tmp_path / "run"


@pytest.fixture
def transport(folder: Path) -> stored_run.StoredRunTransport:
    address = ObjectAddress(WORKFLOWS.path(), "default", "ingest")
    saved = SavedRun(objects={address: WORKFLOW}, version=7, workflow=("default", "ingest"))
    return stored_run.StoredRunTransport(folder / "logs", saved)


async def read(transport: stored_run.StoredRunTransport, path: str) -> bytes:
    return b"".join([part async for part in transport.chunks(path, query={}, seconds=1.0)])


async def test_the_page_reads_the_objects_of_the_folder(transport: stored_run.StoredRunTransport) -> None:
    answer = await transport.request("GET", WORKFLOWS.path("default", "ingest"))
    assert (answer.status, answer.body["status"]) == (200, {"state": "Succeeded"})


async def test_the_log_of_a_pod_is_that_of_its_file(transport: stored_run.StoredRunTransport) -> None:
    assert await read(transport, LOG.format("ingest-load-a1-s0")) == b"loaded\n"
    with pytest.raises(ApiError):
        await read(transport, LOG.format("ingest-other-a1-s0"))


@pytest.mark.attack
@pytest.mark.parametrize("pod", ["../state", "..%2Fstate", "%2e%2e%2fstate", "%2Fetc%2Fhostname", "..", ""])
async def test_the_name_of_a_pod_never_leaves_the_folder(transport: stored_run.StoredRunTransport, pod: str) -> None:
    with pytest.raises(ApiError):
        await read(transport, LOG.format(pod))


@pytest.mark.attack
@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
async def test_a_stored_run_is_never_changed(transport: stored_run.StoredRunTransport, method: str) -> None:
    answer = await transport.request(method, WORKFLOWS.path("default", "ingest"), body={})
    assert answer.status == 403
    assert (await transport.request("GET", WORKFLOWS.path("default", "ingest"))).status == 200


async def test_the_page_lists_the_run(transport: stored_run.StoredRunTransport) -> None:
    links: asyncio.Queue[str] = asyncio.Queue()
    options = local.LocalOptions(read_only=True, open_browser=False)
    serving = asyncio.create_task(local.serve_transport(transport, options, links.put_nowait))
    try:
        async with asyncio.timeout(120):
            link = await links.get()
            rows = await _rows(link)
    finally:
        serving.cancel()
    assert [(row["name"], row["state"]) for row in rows["runs"]] == [("ingest", "Succeeded")]
    assert rows["notes"] == []
    assert rows["readOnly"] is True


async def _rows(link: str) -> dict[str, Any]:
    origin = re.sub(r"/login.*", "", link)
    async with aiohttp.ClientSession(cookie_jar=aiohttp.CookieJar(unsafe=True)) as session:
        async with session.get(link):
            pass
        async with session.get(f"{origin}/api/session") as response:
            facts = await response.json()
        async with session.get(f"{origin}/api/runs") as response:
            listed = await response.json()
    rows = [dict(zip(listed["columns"], row, strict=True)) for row in listed["rows"]]
    return {"runs": rows, "notes": listed["notes"], "readOnly": facts["readOnly"]}

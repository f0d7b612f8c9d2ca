"""The sweep keeps what it cannot judge, and goes on with the rest."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from torpor_api.client.api import Api, Page
from torpor_api.client.errors import Unavailable
from torpor_archive.storage import bodies, chunks, retention
from torpor_archive.storage.bodies import Described, Upload
from torpor_archive.storage.chunks import Cutter
from torpor_archive.storage.content import Kind
from torpor_archive.storage.database import Database
from torpor_archive.storage.tables import RESULTS

from tests.support.fake_api import VirtualClock


class Lists:
    """What is listed in each namespace."""

    def __init__(self, **namespaces: list[str] | Exception) -> None:
        self._namespaces = namespaces

    async def pages(self, _resource: object, namespace: str) -> AsyncIterator[Page]:
        found = self._namespaces.get(namespace, [])
        if isinstance(found, Exception):
            raise found
        yield Page([{"metadata": {"uid": uid}} for uid in found], "1")


@pytest.mark.parametrize("trouble", [RecursionError(), Unavailable("gone"), KeyError("metadata")])
async def test_a_namespace_that_cannot_be_read_keeps_its_results_and_no_others(
    tmp_path: Path, trouble: Exception
) -> None:
    database = Database(f"sqlite:///{tmp_path}/a.db", VirtualClock(), patience=0.1, note=lambda _did: None)
    await database.migrate()
    for namespace, workflow in (("a", "gone"), ("bad", "w"), ("c", "gone"), ("c", "lives")):
        await put(database, namespace, workflow)
    api = cast("Api", Lists(bad=trouble, c=["lives"]))
    assert await retention.orphans(database, api, 10.0) == 2
    assert await bodies.owners(database, 10.0) == {("bad", "w"), ("c", "lives")}
    await database.close()


async def put(database: Database, namespace: str, workflow: str, taskrun: str = "", **launch: int) -> str:
    cutter = Cutter(chunks.RESULT, lined=False)
    list(cutter.feed(f"{taskrun}{launch}".encode()))
    upload = Upload(database, Kind(type="bytes"), 1.0)
    last = cutter.end()
    row: dict[str, Any] = {"attempt": 1, "segment": 0, "launch": 0} | launch
    row |= {"namespace": namespace, "workflow": workflow, "taskrun": taskrun or workflow, "digest": cutter.digest}
    await upload.finish(last, Described(size=cutter.size, digest=cutter.digest), RESULTS, row)
    return cutter.digest

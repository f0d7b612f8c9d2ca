"""A name of a namespace means one uid at a time, and rows of a deleted namespace belong to nobody."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, cast

import pytest
from sqlalchemy import select
from torpor_archive import namespaces
from torpor_archive.errors import RefusedError
from torpor_archive.namespaces import ABSENT, UNKNOWN, ClusterNamespaces, Namespace, NamespaceId
from torpor_archive.storage import earlier_releases, history, results, run_queries
from torpor_archive.storage.database import Database
from torpor_archive.storage.run_queries import RunFilter
from torpor_archive.storage.tables import RESULTS, RUNS
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api

from tests.support.fake_api import VirtualClock
from tests.unit.archive.storage.test_run_retention import store, store_result

CREATED = "2026-01-01T00:00:00Z"
BEFORE, AFTER = "2025-12-31T23:59:59Z", "2026-01-01T00:00:01Z"
OLD, NEW = NamespaceId("team", "n1"), NamespaceId("team", "n2")


class OneNamespace:
    """An API server with one namespace, or with none."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.metadata: dict[str, Any] | errors.ApiError = {"uid": "n1", "creationTimestamp": CREATED}
        self.reads = 0

    async def get(self, _resource: object, _namespace: None, name: str) -> dict[str, Any]:
        self.reads += 1
        if isinstance(self.metadata, errors.ApiError):
            raise self.metadata
        return {"metadata": {"name": name, **self.metadata}}


async def test_a_namespace_uid_is_cached_for_less_time_than_a_deletion_takes() -> None:
    api = OneNamespace()
    cluster_namespaces = ClusterNamespaces(cast("Api", api))
    assert [await cluster_namespaces.current("team") for _ in range(2)] == [OLD, OLD]
    assert api.reads == 1
    api.metadata = {"uid": "n2", "creationTimestamp": AFTER}
    await api.clock.advance(namespaces.CACHE_SECONDS + 0.1)
    assert await cluster_namespaces.current("team") == NEW
    assert namespaces.CACHE_SECONDS < 5.0


async def test_a_namespace_that_is_being_deleted_is_not_cached() -> None:
    api = OneNamespace()
    api.metadata = {"uid": "n1", "creationTimestamp": CREATED, "deletionTimestamp": AFTER}
    namespaces = ClusterNamespaces(cast("Api", api))
    assert await namespaces.current("team") == OLD
    api.metadata = {"uid": "n2", "creationTimestamp": AFTER}
    assert await namespaces.current("team") == NEW


async def test_an_object_that_is_older_than_its_namespace_is_of_an_earlier_one() -> None:
    namespaces = ClusterNamespaces(cast("Api", OneNamespace()))
    assert await namespaces.of_object("team", AFTER) == OLD
    assert await namespaces.of_object("team", CREATED) == OLD
    assert [(await namespaces.of_object("team", text)).uid for text in (BEFORE, "")] == [UNKNOWN, UNKNOWN]


async def test_no_row_belongs_to_a_namespace_that_does_not_exist() -> None:
    api = OneNamespace()
    api.metadata = errors.NotFound("no such namespace", status=404)
    namespaces = ClusterNamespaces(cast("Api", api))
    assert (await namespaces.current("team")).uid == ABSENT
    assert (await namespaces.of_object("team", AFTER)).uid == UNKNOWN


async def test_without_the_api_server_nothing_is_read() -> None:
    api = OneNamespace()
    api.metadata = errors.ApiUnavailable("try again", status=503)
    with pytest.raises(RefusedError) as caught:
        await ClusterNamespaces(cast("Api", api)).current("team")
    assert caught.value.refusal.status == 503


@pytest.fixture
async def database(tmp_path: Path) -> AsyncIterator[Database]:
    opened = Database(f"sqlite:///{tmp_path}/a.db", VirtualClock(), retry_seconds=0.1, on_transaction=lambda _: None)
    await opened.migrate()
    yield opened
    await opened.close()


async def store_run(database: Database, uid: str, created: str, namespace_uid: str = UNKNOWN) -> None:
    row = {"namespace": "team", "namespace_uid": namespace_uid, "uid": uid, "name": uid, "state": "Succeeded"}
    row |= {"created": created, "completed": ""}
    numbers = {"archived": 1.0, "completed_at": 1.0, "clears": 0, "taskruns": 0}
    await store(database, lambda digest: history.store({**row, **numbers}, {}, digest), uid)


async def uids(database: Database, namespace: NamespaceId | None) -> list[str]:
    page = await run_queries.list_runs(database, namespace, RunFilter(), 100, None)
    return sorted(item["uid"] for item in page["items"])


async def test_runs_of_a_deleted_namespace_are_not_read_under_its_name(database: Database) -> None:
    await store_run(database, "old", AFTER, OLD.uid)
    await store_run(database, "new", AFTER, NEW.uid)
    assert await uids(database, NEW) == ["new"]
    assert await history.find(database, NEW, "old") is None
    assert await history.find(database, NEW, "new") is not None
    assert await uids(database, NamespaceId("team", ABSENT)) == []
    assert await uids(database, None) == ["new", "old"]


async def test_rows_without_a_uid_go_to_the_namespace_that_they_surely_belong_to(database: Database) -> None:
    for uid, created in (("before", BEFORE), ("unknown", ""), ("after", AFTER), ("live", BEFORE)):
        await store_run(database, uid, created)
        await store_result(database, "team", uid, uid)
    await store_result(database, "team", "running", "r")
    assert await uids(database, OLD) == []
    assert await earlier_releases.list_unassigned(database) == {"team"}
    count = await earlier_releases.assign(database, Namespace(id=OLD, created=CREATED), {"live", "running"})
    assert count == 5
    assert await uids(database, OLD) == ["after", "live"]
    chosen = select(RESULTS.c.workflow).where(RESULTS.c.namespace_uid == OLD.uid)
    namespace = await database.read(lambda connection: connection.execute(chosen))
    assert sorted(namespace.scalars()) == ["after", "live", "running"]
    assert await earlier_releases.assign(database, Namespace(id=NEW, created=AFTER), set()) == 0


async def test_a_run_that_is_sent_again_gets_the_uid_of_its_namespace(database: Database) -> None:
    await store_run(database, "a", AFTER)
    await store_run(database, "a", AFTER, OLD.uid)
    assert await uids(database, OLD) == ["a"]
    namespace = await database.read(lambda connection: connection.execute(select(RUNS.c.namespace_uid)))
    assert list(namespace.scalars()) == [OLD.uid]


async def test_a_task_reads_results_that_have_no_uid_yet_of_its_own_run_only(database: Database) -> None:
    digest = await store_result(database, "team", "w", "text")
    assert await results.find(database, OLD, "of-w", digest) is None
    assert await results.find(database, OLD, "of-w", digest, of_workflow="other") is None
    assert await results.find(database, OLD, "of-w", digest, of_workflow="w") is not None

"""The triggers that ask servers, in a triggerer's process: secrets read for them, shared clients, and events."""

import asyncio
import base64
import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
import pytest
import yaml
from redis import Redis
from torpor_wire.secret_ref import SecretRef

from tests.integration.triggers.servers import postgres, redis_server, s3

_ROLE = Path(__file__).resolve().parents[3] / "manifests/components/secrets/role.yaml"


class Servers(NamedTuple):
    """One of each."""

    postgres: postgres.Postgres
    redis: redis_server.RedisServer
    s3: s3.S3


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """Running."""
    with ExitStack() as stack:
        made = [stack.enter_context(module.started()) for module in (postgres, redis_server, s3)]
        yield Servers(*made)


@pytest.fixture
def secret(server: Any, namespace: str, servers: Servers) -> str:
    """A Secret with what the servers ask for, which tasks of the namespace may read, and triggerers for them."""
    texts = {"database": servers.postgres.url, "cache": servers.redis.url, "store": s3.SECRET_KEY}
    data = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
    server.create("secrets", namespace, {"metadata": {"name": "servers"}, "data": data}).expect(201)
    for text in yaml.safe_load_all(_ROLE.read_text()):
        server.apply({**text, "metadata": {**text["metadata"], "namespace": namespace}})
        own = {**text, "metadata": {"name": "read-servers", "namespace": namespace}}
        if text["kind"] == "RoleBinding":
            own["roleRef"] = {**text["roleRef"], "name": "read-servers"}
            own["subjects"] = [{"kind": "ServiceAccount", "name": "torpor-task", "namespace": namespace}]
        server.apply(own)
    return "servers"


def kwargs(servers: Servers, secret: str, folder: Path) -> dict[str, dict[str, Any]]:
    """One wait for each, that is not over yet."""

    def secret_ref(key: str) -> dict[str, Any]:
        return SecretRef(secret, key).written()

    options = {
        "endpoint": servers.s3.endpoint,
        "access_key_id": s3.ACCESS_KEY,
        "secret_access_key": secret_ref("store"),
    }
    return {
        "sql": {"url": secret_ref("database"), "query": "SELECT name FROM jobs", "interval": "200ms"},
        "redis": {"url": secret_ref("cache"), "list": "jobs", "interval": "200ms"},
        "object": {"url": f"s3://{s3.BUCKET}/jobs", "options": options, "interval": "200ms"},
        "file": {"path": f"{folder}/*.job", "interval": "200ms"},
    }


async def test_each_fires_by_what_its_server_says_and_tells_no_secret(
    empty_pool: Any, servers: Servers, secret: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORPOR_FOLDERS", str(tmp_path))
    await servers.postgres.execute("DROP TABLE IF EXISTS jobs", "CREATE TABLE jobs (name text)")
    replica = empty_pool.start()
    given = kwargs(servers, secret, tmp_path)
    waits = {name: [empty_pool.deferred(name, given[name]) for _ in range(3)] for name in given}
    empty_pool.until(lambda: _connected(servers) >= 1, "it asks the database", replica)
    assert all(empty_pool.waits(name) for names in waits.values() for name in names)
    assert _connected(servers) <= 5

    await servers.postgres.execute("INSERT INTO jobs VALUES ('a')")
    with Redis.from_url(servers.redis.url) as client:
        client.rpush("jobs", "b")
    servers.s3.store().put("jobs", b"c")
    (tmp_path / "d.job").write_text("d")

    ends = {name: [empty_pool.ends(name) for name in names] for name, names in waits.items()}
    assert {status.state for statuses in ends.values() for status in statuses} == {"Scheduled"}
    events = {name: json.loads(statuses[0].event) for name, statuses in ends.items()}
    assert events["sql"] == {"count": 1, "rows": [{"name": "a"}]}
    assert events["redis"] == {"list": "jobs", "length": 1, "value": "b"}
    assert (events["object"]["path"], events["object"]["size"]) == ("jobs", 1)
    assert events["file"]["files"][0]["path"] == f"{tmp_path}/d.job"
    empty_pool.until(lambda: _connected(servers) == 0, "the pool ends with its last wait", replica)
    said = replica.text() + "".join(status.model_dump_json() for statuses in ends.values() for status in statuses)
    for password in (postgres.PASSWORD, redis_server.PASSWORD, s3.SECRET_KEY):
        assert password not in said


async def test_a_wrong_password_is_reported_without_the_password(
    empty_pool: Any, server: Any, namespace: str, servers: Servers, secret: str
) -> None:
    wrong = servers.postgres.url.replace(postgres.PASSWORD, "hunter2")
    patch = {"stringData": {"database": wrong}}
    path = f"/api/v1/namespaces/{namespace}/secrets/{secret}"
    server.request("PATCH", path, patch, content_type="application/merge-patch+json").expect(200)
    empty_pool.start()
    given = {"url": SecretRef(secret, "database").written(), "query": "SELECT 1"}
    name = empty_pool.deferred("sql", given)
    status = empty_pool.ends(name)
    assert (status.state, status.reason) == ("Failed", "TriggerFailed")
    assert "password authentication failed" in status.message
    assert "hunter2" not in status.model_dump_json() + empty_pool.replicas[-1].text()
    assert "hunter2" not in str(empty_pool.events(name))


async def test_the_triggerer_rejects_what_it_does_not_allow(empty_pool: Any) -> None:
    empty_pool.start()
    refused = {
        "is in no folder that this triggerer allows": ("file", {"path": "/etc/passwd"}),
        "url contains a password": ("sql", {"url": "postgresql://joe:hunter2@db/app", "query": "SELECT 1"}),
        "give either list or stream": ("redis", {"url": "redis://cache"}),
        "az needs account_name": ("object", {"url": "az://drops/key"}),
    }
    waits = {words: empty_pool.deferred(*given) for words, given in refused.items()}
    for words, name in waits.items():
        status = empty_pool.ends(name)
        assert (status.state, status.reason) == ("Failed", "TriggerInvalid")
        assert words in status.message


def _connected(servers: Servers) -> int:
    """How many connections triggers have to the database."""
    counts: list[int] = []

    async def ask() -> None:
        connection = await asyncpg.connect(servers.postgres.url)
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'torpor'"
        counts.append(await connection.fetchval(query))
        await connection.close()

    thread = threading.Thread(target=lambda: asyncio.run(ask()))
    thread.start()
    thread.join()
    return counts[0]

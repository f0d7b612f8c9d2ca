"""Servers that answer with more than a triggerer has memory for: the wait fails, the bytes never arrive."""

import asyncio
import json
import tracemalloc
import uuid
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from torpor.triggers import Http, Object, Redis, Sql
from torpor.triggers.support import object_urls, redis_pool, sql_engine
from torpor.triggers.support.arguments import Reference, Revealed
from torpor.triggers.support.metering import AnswerTooLargeError
from torpor_kubernetes.fairness.namespace_shares import Shares

from tests.integration.triggers.servers import postgres as postgres_server
from tests.integration.triggers.servers import redis_server
from tests.integration.triggers.servers.postgres import Postgres
from tests.integration.triggers.servers.redis_server import RedisServer
from tests.integration.triggers.site import site
from tests.support import trigger_services

LIMIT = 256 * 1024
LARGE = 20 * 1024**2
PEAK = 8 * 1024**2
"""Far above what a limited answer takes, far below what the large one would."""


@pytest.fixture(scope="module")
def redis() -> Iterator[RedisServer]:
    with redis_server.started() as server:
        yield server


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with postgres_server.started() as server:
        yield server


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """What the triggers import is not to count, nor to be slowed down by the counting."""
    for module in (sql_engine, redis_pool, object_urls):
        module.load()


@contextmanager
def little_memory() -> Iterator[None]:
    """Raise AssertionError where Python has ever held as much as a large answer."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
        assert peak < PEAK
    finally:
        tracemalloc.stop()


def sql(postgres: Postgres, query: str, **given: Any) -> Sql:
    return Sql(Revealed(postgres.url), query, **{"interval": 0.1, **given})


def reading(redis: RedisServer, given: dict[str, Any]) -> Redis:
    return Redis(Revealed(redis.url), interval=0.1, **given)


@pytest.mark.parametrize("kind", ["list", "stream"])
async def test_a_reply_of_redis_that_is_too_large_fails_its_wait_and_no_other(redis: RedisServer, kind: str) -> None:
    large, small = f"large-{uuid.uuid4().hex}", f"small-{uuid.uuid4().hex}"
    client = redis.client()
    if kind == "list":
        await client.rpush(large, b"x" * LARGE)
    else:
        await client.xadd(large, {"x": b"x" * LARGE})
    await client.rpush(small, "x")
    backends = trigger_services.backends(answer_bytes=LIMIT)
    other = Redis(Revealed(redis.url), list=small, count=2, interval=0.1)
    async with trigger_services.waiting(other, backends) as wait:
        await trigger_services.looked(other, "has 1 of 2")
        with little_memory(), pytest.raises(AnswerTooLargeError, match="Redis: a reply is larger than 256 KiB"):
            await trigger_services.event(reading(redis, {kind: large}), backends)
        await client.rpush(small, "y")
        assert (await wait)["length"] == 2
    await client.delete(large)
    await client.aclose()


async def test_a_reply_that_announces_a_gigabyte_or_a_billion_parts_is_rejected() -> None:
    for announced in (b"$1073741824\r\n", b"*2\r\n:1\r\n*1000000000\r\n"):
        async with liar(announced) as port:
            trigger = Redis(f"redis://127.0.0.1:{port}/0", list="x", interval=0.1)
            with little_memory(), pytest.raises(AnswerTooLargeError, match="larger than 256 KiB"):
                await trigger_services.event(trigger, answer_bytes=LIMIT)


@pytest.mark.parametrize(
    "query",
    [
        f"SELECT repeat('x', {LARGE})",
        "SELECT repeat(n::text, 50000) FROM generate_series(100000, 100099) AS n",
    ],
    ids=["cell", "rows"],
)
async def test_rows_of_postgresql_that_are_too_large_fail_their_wait_and_no_other(
    postgres: Postgres, query: str
) -> None:
    backends = trigger_services.backends(answer_bytes=LIMIT)
    other = sql(postgres, "SELECT 1 WHERE false")
    async with trigger_services.waiting(other, backends):
        await trigger_services.looked(other, "no row")
        with little_memory(), pytest.raises(AnswerTooLargeError, match="the response is larger than 256 KiB"):
            await trigger_services.event(sql(postgres, query), backends)
        await trigger_services.looked(other, "no row")


async def test_of_waits_on_one_query_only_the_one_whose_rows_are_too_large_fails(postgres: Postgres) -> None:
    backends = trigger_services.backends(answer_bytes=LIMIT)
    query = "SELECT repeat('x', CAST(:n AS int)) AS x WHERE CAST(:n AS int) > 0"
    waits = [sql(postgres, query, params={"n": n}) for n in (0, 7, LARGE, 0)]
    tasks = [asyncio.create_task(trigger_services.event(wait, backends)) for wait in waits]
    with little_memory(), pytest.raises(AnswerTooLargeError):
        await tasks[2]
    assert (await tasks[1])["rows"] == [{"x": "x" * 7}]
    for item in (waits[0], waits[3]):
        await trigger_services.looked(item, "no row")
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT replace(hex(zeroblob(100000)), '00', 'xxxxxxxx')",
        f"SELECT hex(zeroblob({LARGE}))",
        (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 100) "
            "SELECT printf('%.*c', 200000, 'x') FROM n"
        ),
    ],
)
async def test_rows_of_an_sqlite_file_that_are_too_large_fail_their_wait(tmp_path: Path, query: str) -> None:
    (tmp_path / "file.db").touch()
    trigger = Sql(f"sqlite:///{tmp_path}/file.db", query, interval=0.1)
    with little_memory(), pytest.raises(AnswerTooLargeError):
        await trigger_services.event(trigger, answer_bytes=LIMIT, folders=(str(tmp_path),))


@pytest.mark.parametrize("count", [1, LARGE // 300], ids=["one name", "many objects"])
async def test_a_listing_of_a_store_that_is_too_large_fails_its_wait(count: int) -> None:
    backends = trigger_services.backends(answer_bytes=LIMIT)
    async with store(lambda _: listing(count, LARGE // count)) as port:
        with pytest.raises(
            AnswerTooLargeError, match="s3://drops/in/ must not be read: its response is larger than 2 MiB"
        ):
            await trigger_services.event(folder(port), backends)
        assert port.sent < LARGE / 2


async def test_a_listing_that_never_ends_fails_its_wait() -> None:
    """Each page is small, and names another."""
    async with store(lambda _: listing(1, 100_000, more=True)) as port:
        with pytest.raises(AnswerTooLargeError, match="larger than 2 MiB"):
            await trigger_services.event(folder(port), answer_bytes=LIMIT)


class Port:
    def __init__(self) -> None:
        self.number = 0
        self.sent = 0


def folder(port: Port) -> Object:
    options: dict[str, str | bool | Reference] = {"endpoint": f"http://127.0.0.1:{port.number}", "anonymous": True}
    return Object("s3://drops/in/", count=1000, options=options, interval=0.1)


def listing(count: int, length: int, *, more: bool = False) -> bytes:
    name = "in/" + "x" * max(1, length - 300)
    one = (
        f"<Contents><Key>{name}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;x&quot;</ETag>"
        "<Size>1</Size><StorageClass>STANDARD</StorageClass></Contents>"
    )
    ends = "<IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken>" if more else ""
    return f'<?xml version="1.0"?><ListBucketResult><Name>drops</Name>{ends}{one * count}</ListBucketResult>'.encode()


@asynccontextmanager
async def store(answer: Callable[[str], bytes]) -> AsyncIterator[Port]:
    """A server that speaks enough of S3 to list."""
    port = Port()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        body = answer(head)
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode())
        for at in range(0, len(body), 65536):
            writer.write(body[at : at + 65536])
            await writer.drain()
            port.sent += 65536
        writer.close()

    async with server(serve) as port.number:
        yield port


@asynccontextmanager
async def liar(reply: bytes) -> AsyncIterator[int]:
    """A server that takes every command of a client's greeting, and answers the others with a reply without end."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(4096):
            if b"EXEC" not in data:
                writer.write(b"+OK\r\n" * data.count(b"*"))
                continue
            writer.write(b"+OK\r\n+QUEUED\r\n+QUEUED\r\n" + reply)
            while True:
                writer.write(b":1\r\n" * 10_000)
                await writer.drain()

    async with server(serve) as port:
        yield port


@asynccontextmanager
async def server(serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]) -> AsyncIterator[int]:
    async def quietly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        except (OSError, EOFError):
            pass
        finally:
            writer.close()

    async with await asyncio.start_server(quietly, "127.0.0.1", 0) as made:
        yield made.sockets[0].getsockname()[1]


async def test_a_document_of_more_values_than_memory_is_for_fails_its_wait() -> None:
    body = b"[" + b"[]," * 300_000 + b"[]]"
    async with site(lambda _: web.Response(body=body, content_type="application/json")) as at:
        backends = replace(trigger_services.backends(), web=at.client)
        trigger = Http(at.url, body_condition="size(response.json) == 1")
        with little_memory(), pytest.raises(AnswerTooLargeError, match="has more than 100000 values"):
            await trigger_services.event(trigger, backends)
        event = await trigger_services.event(Http(at.url), backends)
        assert event["truncated"] is True


async def test_of_large_answers_few_are_read_at_a_time_and_small_ones_meanwhile() -> None:
    large = json.dumps({"state": "no", "rest": "x" * 200_000}).encode()
    async with site(lambda asked: web.Response(body=large if asked.path == "/large" else b'{"state": "done"}')) as at:
        backends = replace(trigger_services.backends(answers=Shares(1)), web=at.client)
        condition = "response.json.state == 'done'"
        trigger = Http(f"{at.url}/large", body_condition=condition, interval=0.1)
        async with trigger_services.waiting(trigger, backends):
            await trigger_services.looked(trigger, "body_condition is false")
            async with backends.network.answers.hold("another"):
                asked = len(at.requests)
                assert (await trigger_services.event(Http(at.url, body_condition=condition), backends))["status"] == 200
                assert len([request for request in at.requests[asked:] if request.path == "/large"]) <= 1


async def test_a_body_that_is_packed_is_not_unpacked_beyond_what_is_read() -> None:
    bomb = zlib.compress(b"x" * LARGE)
    headers = {"Content-Encoding": "deflate"}
    async with site(lambda _: web.Response(body=bomb, headers=headers)) as at:
        backends = replace(trigger_services.backends(), web=at.client)
        with little_memory():
            event = await trigger_services.event(Http(at.url), backends)
        assert event["truncated"] is True

"""Triggers that wait again and again with the cursor of the last event: each thing fires once, and none is lost."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web
from torpor.triggers import Http, Object, Redis, Sql
from torpor.triggers.support.arguments import Revealed

from tests.integration.triggers.passing import NeverError, PassingClock
from tests.integration.triggers.servers.postgres import Postgres
from tests.integration.triggers.servers.redis_server import RedisServer
from tests.integration.triggers.servers.s3 import ACCESS_KEY, BUCKET, REGION, S3, SECRET_KEY
from tests.integration.triggers.site import HttpSite, ReceivedRequest, site
from tests.support import fake_services, trigger_services


@pytest.fixture
def key() -> str:
    """Of the test's own."""
    return f"key-{uuid.uuid4().hex[:8]}"


def text(given: bytes | str) -> str:
    return given if isinstance(given, str) else given.decode()


async def drained(arm: Callable[[str | None], Any], cursor: str | None = None, *, ends: str, count: int) -> list[Any]:
    """The events of one wait after the other, the first `count`; then another wait finds nothing."""
    events: list[Any] = []
    for _ in range(count):
        events.append(await trigger_services.event(arm(cursor)))
        cursor = events[-1]["cursor"]
        assert isinstance(cursor, str)
        assert 0 < len(cursor) <= 1024
    last = arm(cursor)
    async with trigger_services.waiting(last) as wait:
        await trigger_services.looked(last, ends)
        await asyncio.sleep(0.3)
        assert not wait.done()
    return events


async def test_entries_of_a_stream_fire_once_each_in_their_order(redis: RedisServer, key: str) -> None:
    def arm(cursor: str | None) -> Redis:
        return Redis(Revealed(redis.url), stream=key, interval=0.1, cursor=cursor)

    client = redis.client()
    try:
        added = [text(await client.xadd(key, {"n": str(number)})) for number in range(20)]
        events = await drained(arm, ends="has no entry after", count=20)
        assert [event["id"] for event in events] == [event["cursor"] for event in events] == added
        assert [event["fields"]["n"] for event in events] == [str(number) for number in range(20)]

        await client.delete(key)
        added = [text(await client.xadd(key, {"n": "again"})) for _ in range(3)]
        events = await drained(arm, events[-1]["cursor"], ends="has no entry after", count=3)
        assert [event["id"] for event in events] == added
        large = text(await client.xadd(key, {"small": "1", "large": "x" * 10_000}))
        (event,) = await drained(arm, added[-1], ends="has no entry after", count=1)
        assert (event["cursor"], event["fields"], event["truncated"]) == (large, {"small": "1"}, True)
    finally:
        await client.aclose()


SINCE = "coalesce(CAST(:cursor AS timestamptz), '-infinity')"
NEXT = {
    "int": "SELECT id, id AS cursor FROM {} WHERE id > CAST(coalesce(:cursor, '0') AS int) ORDER BY id",
    "time": f"SELECT id, CAST(at AS text) AS cursor FROM {{}} WHERE at > {SINCE} ORDER BY at",
    "time as it is": f"SELECT id, at AS cursor FROM {{}} WHERE at > {SINCE} ORDER BY at",
}


@pytest.mark.parametrize("name", NEXT)
async def test_rows_fire_once_each_in_the_order_of_the_query(postgres: Postgres, key: str, name: str) -> None:
    table = f"t_{key[4:]}"

    def arm(cursor: str | None) -> Sql:
        return Sql(Revealed(postgres.url), NEXT[name].format(table), interval=0.1, cursor=cursor)

    added = (
        "INSERT INTO {} SELECT i, TIMESTAMPTZ '2026-11-20 08:00+01' + i * INTERVAL '1 microsecond' FROM generate_series"
    )
    await postgres.execute(f"CREATE TABLE {table} (id int, at timestamptz)", added.format(table) + "(1, 12) AS i")
    events = await drained(arm, ends="no row", count=12)
    assert [event["rows"][0]["id"] for event in events] == list(range(1, 13))
    await postgres.execute(added.format(table) + "(13, 14) AS i")
    events = await drained(arm, events[-1]["cursor"], ends="no row", count=2)
    assert [event["rows"][0]["id"] for event in events] == [13, 14]


async def test_waits_with_different_cursors_share_a_query_and_get_each_its_own_row(
    postgres: Postgres, key: str
) -> None:
    table = f"t_{key[4:]}"
    await postgres.execute(f"CREATE TABLE {table} (id int)", f"INSERT INTO {table} SELECT generate_series(1, 40)")
    backends = trigger_services.backends()
    waits = [
        Sql(Revealed(postgres.url), NEXT["int"].format(table), interval=0.1, cursor=cursor)
        for cursor in (None, *map(str, range(41)))
    ]
    for wait in waits:
        wait.bind(trigger_services.services(backends))
    assert len({wait.source for wait in waits}) == 2
    tasks = [asyncio.create_task(trigger_services.first(wait)) for wait in waits]
    try:
        events = await asyncio.gather(*tasks[:-1])
        assert [event["rows"][0]["id"] for event in events] == [1, *range(1, 41)]
        await trigger_services.looked(waits[-1], "no row")
        await postgres.execute(f"INSERT INTO {table} VALUES (41)")
        assert await tasks[-1] == {"count": 1, "rows": [{"id": 41, "cursor": 41}], "cursor": "41"}
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await backends.pollers.ended()
        await backends.clients.closed()


async def test_a_query_that_fails_for_the_next_cursor_fails_for_none(postgres: Postgres, key: str) -> None:
    table = f"t_{key[4:]}"
    await postgres.execute(f"CREATE TABLE {table} (id int)")
    for cursor in (None, "1"):
        trigger = Sql(Revealed(postgres.url), f"SELECT id AS cursor FROM {table} WHERE id > :cursor", cursor=cursor)
        with pytest.raises(ValueError, match="operator does not exist"):
            await trigger_services.event(trigger)


class VersionedPage:
    """A page with versions, of a server with ETags or without."""

    def __init__(self, *, tags: bool, padding: int = 0) -> None:
        self.version = 1
        self._padding = "x" * padding
        self._tags = tags

    def __call__(self, request: ReceivedRequest) -> web.Response:
        headers = {"ETag": f'"v{self.version}"'} if self._tags else {}
        if self._tags and request.headers.get("if-none-match") == headers["ETag"]:
            return web.Response(status=304, headers=headers)
        return web.json_response({"padding": self._padding, "version": self.version}, headers=headers)


class StoppingClock(PassingClock):
    """Its time stops where that of others raises an error, which a source would survive."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(limit=limit)
        self.stopped = asyncio.Event()

    async def sleep(self, seconds: float) -> None:
        try:
            await super().sleep(seconds)
        except NeverError:
            self.stopped.set()
            await asyncio.Event().wait()


async def version(at: HttpSite, cursor: str | None, **given: Any) -> Any:
    """The event of one wait. Raises NeverError if it does not fire."""
    trigger, clock = Http(at.url, cursor=cursor, **given), StoppingClock(limit=5)
    trigger.bind(fake_services.services(web=at.client, clock=clock))
    firing = asyncio.create_task(trigger_services.first(trigger))
    stopped = asyncio.create_task(clock.stopped.wait())
    try:
        await asyncio.wait((firing, stopped), return_when=asyncio.FIRST_COMPLETED)
        if firing.done():
            return firing.result()
        raise NeverError
    finally:
        firing.cancel()
        stopped.cancel()
        await asyncio.gather(firing, stopped, return_exceptions=True)


@pytest.mark.parametrize(("tags", "padding"), [(True, 0), (False, 0), (False, 20_000)])
async def test_each_version_of_a_page_fires_once(tags: bool, padding: int) -> None:
    page = VersionedPage(tags=tags, padding=padding)
    async with site(page) as at:
        cursor, seen = None, []
        for number in (1, 2, 5):
            page.version = number
            event = await version(at, cursor)
            cursor = event["cursor"]
            seen.append(event["json"]["version"] if not padding else number)
            with pytest.raises(NeverError):
                await version(at, cursor)
        assert seen == [1, 2, 5]
        assert cursor == '"v5"' if tags else str(cursor).startswith("sha256:")


async def test_a_wait_with_an_etag_cursor_sends_it_from_the_first_request() -> None:
    async with site(VersionedPage(tags=True)) as at:
        cursor = (await version(at, None))["cursor"]
        with pytest.raises(NeverError):
            await version(at, cursor)
        assert [request.headers.get("if-none-match") for request in at.requests] == [
            None,
            *['"v1"'] * (len(at.requests) - 1),
        ]


async def test_a_version_that_does_not_match_is_not_the_cursor_until_one_does() -> None:
    page = VersionedPage(tags=True)
    async with site(page) as at:
        page.version = 2
        with pytest.raises(NeverError):
            await version(at, '"v1"', body_condition="response.json.version > 2")
        page.version = 3
        event = await version(at, '"v1"', body_condition="response.json.version > 2")
        assert event["cursor"] == '"v3"'


async def test_waits_with_different_cursors_share_requests() -> None:
    page = VersionedPage(tags=True)
    page.version = 2
    async with site(page) as at:
        given = fake_services.services(web=at.client, clock=PassingClock(limit=5))
        waits = [Http(at.url, cursor=cursor) for cursor in (None, '"v1"', '"v2"')]
        for wait in waits:
            wait.bind(given)
        assert len({wait.source for wait in waits}) == 1
        answers = await Http.poll_many(waits, given)
        assert [answer and answer.payload["cursor"] for answer in answers] == ['"v2"', '"v2"', None]  # type: ignore[union-attr]
        assert len(at.requests) == 1


def objects(s3: S3, key: str, cursor: str | None, **given: Any) -> Object:
    options = {
        "endpoint": s3.endpoint,
        "region": REGION,
        "access_key_id": ACCESS_KEY,
        "secret_access_key": Revealed(SECRET_KEY),
    }
    return Object(f"s3://{BUCKET}/{key}", options=options, cursor=cursor, **{"interval": 0.1, **given})


async def test_objects_under_a_prefix_fire_once_each_in_the_order_of_their_times(s3: S3, key: str) -> None:
    store, added = s3.store(), []
    for number in range(60):  # in an order that is not that of their names, and more than fit into an event
        added.append(f"{key}/{number * 7 % 60:02}")
        await store.put_async(added[-1], b"")
    cursor: str | None = None
    paths: list[str] = []
    sizes: list[int] = []
    while len(paths) < 60:
        event = await trigger_services.event(objects(s3, f"{key}/", cursor, settle="1s"))
        cursor = event["cursor"]
        paths += [item["path"] for item in event["objects"]]
        sizes.append(event["count"])
    assert sorted(paths) == sorted(added)
    assert len(sizes) > 1
    assert sum(sizes) == 60

    last = objects(s3, f"{key}/", cursor, settle="1s")
    async with trigger_services.waiting(last) as wait:
        await trigger_services.looked(last, "0 of 1 new objects")
        await store.put_async(f"{key}/00", b"changed")
        await trigger_services.looked(last, "1 newer ones wait for 1 s")
        event = await wait
    assert [(item["path"], item["size"]) for item in event["objects"]] == [(f"{key}/00", 7)]


async def test_an_object_fires_when_it_is_another(s3: S3, key: str) -> None:
    store = s3.store()
    await store.put_async(key, b"first")
    first = await trigger_services.event(objects(s3, key, None))
    second = objects(s3, key, first["cursor"])
    async with trigger_services.waiting(second) as wait:
        await trigger_services.looked(second, "exists and has not changed")
        await store.put_async(key, b"second")
        event = await wait
    assert (event["path"], event["size"]) == (key, 6)
    assert event["cursor"] != first["cursor"]


async def test_waits_with_different_cursors_share_a_listing(s3: S3, key: str) -> None:
    store, backends = s3.store(), trigger_services.backends()
    for number in range(3):
        await store.put_async(f"{key}/{number}", b"")
    begin = (await trigger_services.event(objects(s3, f"{key}/", None, settle=0)))["cursor"]
    waits = [objects(s3, f"{key}/", cursor, settle=0) for cursor in (None, begin, "2020-01-01T00:00:00Z")]
    for wait in waits:
        wait.bind(trigger_services.services(backends))
    assert len({wait.source for wait in waits}) == 1
    try:
        answers = await Object.poll_many(waits, waits[0].services)
        assert [answer and answer.payload["count"] for answer in answers] == [3, None, 3]  # type: ignore[union-attr]
    finally:
        await backends.clients.closed()

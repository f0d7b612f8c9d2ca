"""Triggers that wait again and again with the cursor of the last event: each thing fires once, and none is lost."""

import asyncio
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from torpor.triggers import Redis
from torpor.triggers.support.secret_refs import Revealed

from tests.integration.triggers.servers.redis_server import RedisServer
from tests.support import trigger_services


@pytest.fixture
def key() -> str:
    """Of the test's own."""
    return f"key-{uuid.uuid4().hex[:8]}"


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
        added = [(await client.xadd(key, {"n": str(number)})).decode() for number in range(20)]
        events = await drained(arm, ends="has no entry after", count=20)
        assert [one["id"] for one in events] == [one["cursor"] for one in events] == added
        assert [one["fields"]["n"] for one in events] == [str(number) for number in range(20)]

        await client.delete(key)
        added = [(await client.xadd(key, {"n": "again"})).decode() for _ in range(3)]
        events = await drained(arm, events[-1]["cursor"], ends="has no entry after", count=3)
        assert [one["id"] for one in events] == added
        large = (await client.xadd(key, {"small": "1", "large": "x" * 10_000})).decode()
        (event,) = await drained(arm, added[-1], ends="has no entry after", count=1)
        assert (event["cursor"], event["fields"], event["truncated"]) == (large, {"small": "1"}, True)
    finally:
        await client.aclose()

"""`redis` against a Redis server: lists and streams are looked at, and nothing is taken from them."""

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from redis.asyncio import Redis as Client
from torpor.triggers import Redis
from torpor.triggers.support.arguments import Revealed
from torpor_wire import canonical

from tests.integration.triggers.servers.redis_server import PASSWORD, RedisServer
from tests.support import trigger_services


@pytest.fixture
async def client(redis: RedisServer) -> AsyncIterator[Client]:
    """Somebody beside the triggers."""
    client = redis.client()
    yield client
    await client.aclose()


@pytest.fixture
def key() -> str:
    """Of the test's own."""
    return f"key-{uuid.uuid4().hex[:8]}"


def redis_trigger(redis: RedisServer, **given: Any) -> Redis:
    return Redis(Revealed(given.pop("url", redis.url)), **{"interval": 0.1, **given})


def text(given: bytes | str) -> str:
    return given if isinstance(given, str) else given.decode()


async def ours(client: Client) -> list[Any]:
    """The connections of triggers."""
    return [item for item in await client.client_list() if item["name"] == "torpor"]


async def test_it_fires_with_the_first_element_of_a_list_and_leaves_it_there(
    redis: RedisServer, client: Client, key: str
) -> None:
    trigger = redis_trigger(redis, list=key)
    async with trigger_services.waiting(trigger) as wait:
        await trigger_services.looked(trigger, f"list {key} has 0 of 1 elements")
        await client.rpush(key, "first", "second")
        assert await wait == {"list": key, "length": 2, "value": "first"}
    assert await client.lrange(key, 0, -1) == [b"first", b"second"]


async def test_it_waits_for_so_many_elements_and_tells_the_one_that_is_asked_for(
    redis: RedisServer, client: Client, key: str
) -> None:
    trigger = redis_trigger(redis, list=key, count=3, index=-1)
    async with trigger_services.waiting(trigger) as wait:
        await client.rpush(key, "a", "b")
        await trigger_services.looked(trigger, "has 2 of 3 elements")
        await client.rpush(key, "ü")
        assert await wait == {"list": key, "length": 3, "value": "ü"}


async def test_an_index_that_a_list_does_not_reach_is_waited_for(redis: RedisServer, client: Client, key: str) -> None:
    trigger = redis_trigger(redis, list=key, index=2)
    async with trigger_services.waiting(trigger) as wait:
        await client.rpush(key, "a", "b")
        await trigger_services.looked(trigger, "has 2 of 1 elements")
        await client.rpush(key, "c")
        assert (await wait)["value"] == "c"


async def test_it_fires_with_the_first_entry_of_a_stream_after_an_id(
    redis: RedisServer, client: Client, key: str
) -> None:
    old = text(await client.xadd(key, {"n": "1"}))
    assert (await trigger_services.event(redis_trigger(redis, stream=key)))["id"] == old
    trigger = redis_trigger(redis, stream=key, after=old)
    async with trigger_services.waiting(trigger) as wait:
        await trigger_services.looked(trigger, f"stream {key} has no entry after {old}")
        new = text(await client.xadd(key, {"n": "2", "of": "two"}))
        await client.xadd(key, {"n": "3"})
        assert await wait == {"stream": key, "id": new, "fields": {"n": "2", "of": "two"}}
    assert await client.xlen(key) == 3


async def test_what_is_larger_than_an_event_is_shortened(redis: RedisServer, client: Client, key: str) -> None:
    await client.rpush(key, "ü" * 10_000)
    event = await trigger_services.event(redis_trigger(redis, list=key))
    assert event["truncated"] is True
    assert 3000 < len(canonical.plain(event).encode()) <= 4096
    await client.xadd(f"{key}-s", {"small": "1", "large": "x" * 10_000})
    event = await trigger_services.event(redis_trigger(redis, stream=f"{key}-s"))
    assert (event["fields"], event["truncated"]) == ({"small": "1"}, True)


async def test_waits_on_one_server_share_one_pool_that_ends_with_the_last(
    redis: RedisServer, client: Client, key: str
) -> None:
    backends = trigger_services.backends()
    async with AsyncExitStack() as stack:
        triggers = [redis_trigger(redis, list=key) for _ in range(20)]
        waits = [await stack.enter_async_context(trigger_services.waiting(trigger, backends)) for trigger in triggers]
        for trigger in triggers:
            await trigger_services.looked(trigger, "has 0 of 1")
        assert len(backends.clients) == 1
        assert 1 <= len(await ours(client)) <= 5
        await client.rpush(key, "x")
        assert [event["value"] for event in await asyncio.gather(*waits)] == ["x"] * 20
    await backends.clients.closed()
    async with asyncio.timeout(trigger_services.TIMEOUT):
        while await ours(client):  # noqa: ASYNC110 - a server rings no bell
            await asyncio.sleep(0.02)


async def test_it_outlives_a_server_that_goes_away_and_comes_back(redis: RedisServer, client: Client, key: str) -> None:
    trigger = redis_trigger(redis, list=key)
    async with trigger_services.waiting(trigger) as wait:
        await trigger_services.looked(trigger, "has 0 of 1")
        redis.process.kill()
        look = await trigger_services.looked(trigger, "Redis does not answer")
        assert "127.0.0.1" not in look
        redis.process.start()
        await trigger_services.looked(trigger, "has 0 of 1")
        await client.rpush(key, "x")
        assert (await wait)["value"] == "x"


async def polls(client: Client) -> int:
    """The transactions that the server has carried out; each poll is one."""
    statistics = await client.info("commandstats")
    return int(statistics.get("cmdstat_exec", {}).get("calls", 0))


async def test_it_outlives_a_connection_that_is_killed_without_notice(
    redis: RedisServer, client: Client, key: str
) -> None:
    trigger = redis_trigger(redis, list=key)
    async with trigger_services.waiting(trigger) as wait:
        await trigger_services.looked(trigger, "has 0 of 1")
        for _ in range(5):
            await client.client_kill_filter(_type="normal", skipme=True)
            answered = await polls(client)
            # Otherwise the retry of the poll may lose its connection, too.
            while await polls(client) == answered:  # noqa: ASYNC110 - the server does not notify
                await asyncio.sleep(0.02)
            assert "does not answer" not in trigger.last_look
        await client.rpush(key, "x")
        assert (await wait)["value"] == "x"


async def test_the_late_answer_to_a_cancelled_wait_reaches_no_other_wait(
    redis: RedisServer, client: Client, key: str
) -> None:
    await client.rpush(f"{key}-other", "other's")
    backends = trigger_services.backends()
    patient = redis_trigger(redis, list=key)
    async with trigger_services.waiting(patient, backends) as wait:
        await trigger_services.looked(patient, "has 0 of 1")
        os.kill(redis.process.pid, signal.SIGSTOP)
        async with trigger_services.waiting(redis_trigger(redis, list=f"{key}-other"), backends):
            await asyncio.sleep(0.3)
        os.kill(redis.process.pid, signal.SIGCONT)
        await client.rpush(key, "mine")
        assert await wait == {"list": key, "length": 1, "value": "mine"}


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (f":{PASSWORD}@", ":wrong@", "Redis: .*password"),
        (f":{PASSWORD}@", "", "Redis: .*[Aa]uthentication"),
        (f":{PASSWORD}@", f"nobody:{PASSWORD}@", "Redis: .*password"),
    ],
)
async def test_a_wrong_password_fails_the_wait_and_is_not_shown(
    redis: RedisServer, old: str, new: str, words: str
) -> None:
    with pytest.raises(PermissionError, match=words) as caught:
        await trigger_services.event(redis_trigger(redis, list="x", url=redis.url.replace(old, new)))
    assert PASSWORD not in str(caught.value)
    assert "wrong@" not in str(caught.value)


async def test_a_missing_right_to_a_key_is_reported(redis: RedisServer, client: Client, key: str) -> None:
    await client.acl_setuser(key, enabled=True, passwords=["+x"], keys=["other:*"], commands=["+@all"])
    with pytest.raises(PermissionError, match="Redis: "):
        await trigger_services.event(
            redis_trigger(redis, list=key, url=redis.url.replace(f":{PASSWORD}@", f"{key}:x@"))
        )


@pytest.mark.parametrize("given", ["list", "stream"])
async def test_a_key_of_another_kind_fails_the_wait(redis: RedisServer, client: Client, key: str, given: str) -> None:
    await client.set(key, "text")
    with pytest.raises(ValueError, match=r"WRONGTYPE|wrong kind"):
        await trigger_services.event(redis_trigger(redis, **{given: key}))


async def test_bytes_that_are_no_text_fail_the_wait(redis: RedisServer, client: Client, key: str) -> None:
    await client.rpush(key, b"\xff\xfe")
    with pytest.raises(ValueError, match="bytes that are not text"):
        await trigger_services.event(redis_trigger(redis, list=key))

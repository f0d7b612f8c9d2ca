"""`object` against an S3 server: objects and prefixes, credentials, and a server that goes away."""

import asyncio
import time
import uuid
from contextlib import AsyncExitStack
from typing import Any

import pytest
from obstore.store import S3Store
from torpor.triggers import Object
from torpor.triggers.support.arguments import Revealed
from torpor_wire import times

from tests.integration.triggers.servers.s3 import ACCESS_KEY, BUCKET, REGION, S3, SECRET_KEY
from tests.support import trigger_services


@pytest.fixture
def store(s3: S3) -> S3Store:
    """Of somebody beside the triggers."""
    return s3.store()


@pytest.fixture
def key() -> str:
    """Of the test's own."""
    return f"key-{uuid.uuid4().hex[:8]}"


def credentials(s3: S3, **given: Any) -> dict[str, Any]:
    return {
        "endpoint": s3.endpoint,
        "region": REGION,
        "access_key_id": ACCESS_KEY,
        "secret_access_key": Revealed(SECRET_KEY),
        **given,
    }


def at(s3: S3, key: str, **given: Any) -> Object:
    options = given.pop("options", None) or credentials(s3)
    return Object(f"s3://{given.pop('bucket', BUCKET)}/{key}", options=options, **{"interval": 0.1, **given})


async def test_it_fires_with_what_the_store_says_of_the_object(s3: S3, store: S3Store, key: str) -> None:
    trigger = at(s3, f"{key}/_SUCCESS ü%20+")
    before = time.time()
    async with trigger_services.waiting(trigger) as wait:
        await trigger_services.looked(trigger, "does not exist")
        await store.put_async(f"{key}/_SUCCESS", b"another's")
        await store.put_async(f"{key}/_SUCCESS ü%20+", b"hello")
        event = await wait
    assert before - 2 < times.epoch(event.pop("last_modified")) < time.time() + 2
    assert event == {"path": f"{key}/_SUCCESS ü%20+", "size": 5, "e_tag": '"5d41402abc4b2a76b9719d911017c592"'}


async def test_it_waits_for_so_many_objects_of_a_folder_and_no_other(s3: S3, store: S3Store, key: str) -> None:
    trigger = at(s3, f"{key}/in/", count=3)
    async with trigger_services.waiting(trigger) as wait:
        for name in (f"{key}/in/a", f"{key}/in/deep/b", f"{key}/inner", f"{key}/in2/c"):
            await store.put_async(name, b"")
        await trigger_services.looked(trigger, f"2 of 3 objects are under s3://{BUCKET}/{key}/in/")
        await store.put_async(f"{key}/in/c", b"xyz")
        event = await wait
    assert event["count"] == 3
    assert [item["path"] for item in event["objects"]] == [f"{key}/in/a", f"{key}/in/c", f"{key}/in/deep/b"]
    assert event["objects"][1]["size"] == 3


async def test_the_event_has_the_first_of_many_objects(s3: S3, store: S3Store, key: str) -> None:
    for number in range(130):
        await store.put_async(f"{key}/{number:03}", b"")
    event = await trigger_services.event(at(s3, f"{key}/", count=120))
    assert event["count"] >= 120
    assert event["truncated"] is True
    assert event["objects"][0]["path"] == f"{key}/000"
    assert 10 < len(event["objects"]) < 120


async def test_waits_with_the_same_credentials_share_one_client(s3: S3, store: S3Store, key: str) -> None:
    backends = trigger_services.backends()
    async with AsyncExitStack() as stack:
        triggers = [at(s3, f"{key}/{number % 2}") for number in range(10)]
        waits = [await stack.enter_async_context(trigger_services.waiting(trigger, backends)) for trigger in triggers]
        for trigger in triggers:
            await trigger_services.looked(trigger, "does not exist")
        assert len(backends.clients) == 1
        for number in range(2):
            await store.put_async(f"{key}/{number}", b"")
        assert len(await asyncio.gather(*waits)) == 10
    assert len(backends.clients) == 0


async def test_it_outlives_a_server_that_goes_away_and_comes_back(s3: S3, store: S3Store, key: str) -> None:
    trigger = at(s3, key)
    async with trigger_services.waiting(trigger) as wait:
        await trigger_services.looked(trigger, "does not exist")
        s3.process.kill()
        look = await trigger_services.looked(trigger, "cannot be read: no connection to")
        assert f"no connection to 127.0.0.1:{s3.process.port}: " in look
        s3.process.start()
        await trigger_services.looked(trigger, "does not exist")
        await store.put_async(key, b"")
        assert (await wait)["path"] == key


@pytest.mark.parametrize(
    ("suffix", "words"), [("", "403 Forbidden"), ("/", r"403 Forbidden \(SignatureDoesNotMatch\)")]
)
async def test_wrong_credentials_fail_the_wait_and_are_not_shown(s3: S3, key: str, suffix: str, words: str) -> None:
    trigger = at(s3, key + suffix, options=credentials(s3, secret_access_key=Revealed("wr0ng")))
    with pytest.raises(PermissionError, match=words) as caught:
        await trigger_services.event(trigger)
    assert "wr0ng" not in str(caught.value)
    assert "may not list the bucket" in str(caught.value)
    assert len(str(caught.value)) < 300


async def test_without_credentials_the_environments_are_not_used(
    s3: S3, store: S3Store, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.put_async(key, b"")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", ACCESS_KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    with pytest.raises(PermissionError, match="403"):
        await trigger_services.event(at(s3, key, options={"endpoint": s3.endpoint}))
    with pytest.raises(ValueError, match="must not get those of the triggerer"):
        await trigger_services.event(at(s3, key, options={"endpoint": s3.endpoint}), lends_identity=True)
    with pytest.raises(PermissionError, match="403"):
        await trigger_services.event(
            at(s3, key, options={"endpoint": s3.endpoint, "anonymous": True}), lends_identity=True
        )


async def test_no_part_of_the_credentials_is_the_environments(
    s3: S3, store: S3Store, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.put_async(key, b"")
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-the-triggerer")
    assert (await trigger_services.event(at(s3, key)))["path"] == key


async def test_the_identity_of_the_pod_is_lent_where_that_is_set(
    s3: S3, store: S3Store, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.put_async(key, b"")
    given = {
        "ACCESS_KEY_ID": ACCESS_KEY,
        "SECRET_ACCESS_KEY": SECRET_KEY,
        "ENDPOINT": s3.endpoint,
        "ALLOW_HTTP": "true",
    }
    for name, value in given.items():
        monkeypatch.setenv(f"AWS_{name}", value)
    trigger = at(s3, key, options={"region": REGION})
    assert (await trigger_services.event(trigger, lends_identity=True))["path"] == key


async def test_a_bucket_that_is_not_there_is_waited_for(s3: S3, key: str) -> None:
    trigger = at(s3, f"{key}/", bucket="absent")
    async with trigger_services.waiting(trigger):
        await trigger_services.looked(trigger, "404 Not Found (NoSuchBucket)")

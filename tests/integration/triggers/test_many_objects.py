"""Many waits on one folder of an S3 server: how many requests they need, and that each fires for its own object."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest
from obstore.store import S3Store
from torpor.triggers import Object
from torpor.triggers.support.arguments import Revealed

from tests.integration.triggers.servers.s3 import ACCESS_KEY, BUCKET, REGION, S3, SECRET_KEY
from tests.support import trigger_services

MANY = 300
ODD = ("ü%20+", "a b", "x#y", "q=1&r", "[1]", "~t", "it's", "deep.tar.gz")


@pytest.fixture
def store(s3: S3) -> S3Store:
    """Of somebody beside the triggers."""
    return s3.store()


@pytest.fixture
def folder() -> str:
    """Of the test's own."""
    return f"folder-{uuid.uuid4().hex[:8]}"


class ObjectWaits:
    """`object` waits that run in one process, by their keys."""

    def __init__(self, s3: S3) -> None:
        self.backends = trigger_services.backends()
        self.triggers: dict[str, Object] = {}
        self.tasks: dict[str, asyncio.Task[Any]] = {}
        self.options = {
            "endpoint": s3.endpoint,
            "region": REGION,
            "access_key_id": ACCESS_KEY,
            "secret_access_key": Revealed(SECRET_KEY),
        }

    def add(self, key: str, name: str = "", **given: Any) -> None:
        trigger = Object(f"s3://{BUCKET}/{key}", options=self.options, **{"interval": 0.3, **given})
        trigger.bind(trigger_services.services(self.backends))
        self.triggers[name or key] = trigger
        self.tasks[name or key] = asyncio.create_task(trigger_services.first(trigger))

    async def rounds(self, number: int) -> None:
        """Until each that waits has been looked for so many times more."""
        poll_stats = {name: trigger.services.poll_stats for name, trigger in self.triggers.items()}  # type: ignore[attr-defined]
        before = {name: stats.tries for name, stats in poll_stats.items()}
        await trigger_services.until(
            lambda: all(
                task.done() or poll_stats[name].tries >= before[name] + number for name, task in self.tasks.items()
            )
        )

    def tries(self) -> int:
        """The largest number of reads that one trigger has made."""
        poll_stats = [trigger.services.poll_stats for trigger in self.triggers.values()]  # type: ignore[attr-defined]
        return max(int(stats.tries) for stats in poll_stats)

    def ended(self) -> set[str]:
        """The names of the waits that have ended."""
        return {name for name, task in self.tasks.items() if task.done()}


@pytest.fixture
async def waits(s3: S3) -> AsyncIterator[ObjectWaits]:
    """Ended with the test."""
    waits = ObjectWaits(s3)
    yield waits
    for task in waits.tasks.values():
        task.cancel()
    await asyncio.gather(*waits.tasks.values(), return_exceptions=True)
    await waits.backends.pollers.ended()
    await waits.backends.clients.closed()


def requests(s3: S3, folder: str) -> tuple[int, int]:
    """How many listings of a folder, and how many requests for one object, the server has had."""
    log = (s3.process.folder / "log").read_text(errors="replace")
    lines = [line for line in log.splitlines() if folder in line]
    return sum("list-type" in line for line in lines), sum("HEAD" in line for line in lines)


async def test_many_waits_on_one_folder_are_one_listing_an_interval(
    s3: S3, store: S3Store, folder: str, waits: ObjectWaits
) -> None:
    await store.put_async(f"{folder}/other", b"")
    for number in range(MANY):
        waits.add(f"{folder}/{number:04}")
    await waits.rounds(1)
    before, rounds = requests(s3, folder), waits.tries()
    await waits.rounds(5)
    listings, heads = requests(s3, folder)
    assert 5 <= listings - before[0] <= waits.tries() - rounds + 1
    assert heads == before[1]

    await store.put_async(f"{folder}/0007", b"hello")
    await store.put_async(f"{folder}/0299", b"")
    await trigger_services.until(lambda: len(waits.ended()) == 2)
    event = await waits.tasks[f"{folder}/0007"]
    assert event == await trigger_services.event(Object(f"s3://{BUCKET}/{folder}/0007", options=waits.options))
    assert waits.triggers[f"{folder}/0008"].last_look == f"s3://{BUCKET}/{folder}/0008 does not exist"
    await waits.rounds(1)
    assert waits.ended() == {f"{folder}/0007", f"{folder}/0299"}


async def test_a_key_with_any_characters_is_found(store: S3Store, folder: str, waits: ObjectWaits) -> None:
    for name in [*ODD, *map(str, range(30))]:
        waits.add(f"{folder}/{name}")
    await waits.rounds(1)
    for name in ODD:
        await store.put_async(f"{folder}/{name}", b"")
    await trigger_services.until(lambda: len(waits.ended()) >= len(ODD))
    assert waits.ended() == {f"{folder}/{name}" for name in ODD}


async def test_where_a_folder_holds_far_more_than_is_awaited_each_is_asked_for(
    s3: S3, store: S3Store, folder: str, waits: ObjectWaits
) -> None:
    uploads = [store.put_async(f"{folder}/a{number:04}", b"") for number in range(2100)]
    while uploads:
        await asyncio.gather(*uploads[:50])
        uploads = uploads[50:]
    for number in range(12):
        waits.add(f"{folder}/b{number}")
    await waits.rounds(2)
    before = requests(s3, folder)
    await waits.rounds(1)
    assert requests(s3, folder)[1] - before[1] >= 12
    await store.put_async(f"{folder}/b3", b"")
    await waits.tasks[f"{folder}/b3"]
    assert waits.ended() == {f"{folder}/b3"}


async def test_few_are_asked_for_each(s3: S3, store: S3Store, folder: str, waits: ObjectWaits) -> None:
    for number in range(3):
        waits.add(f"{folder}/{number}")
    await waits.rounds(2)
    assert requests(s3, folder)[0] == 0
    await store.put_async(f"{folder}/1", b"")
    await trigger_services.until(lambda: waits.ended() == {f"{folder}/1"})


async def test_waits_for_more_or_less_of_one_folder_are_one_listing(
    s3: S3, store: S3Store, folder: str, waits: ObjectWaits
) -> None:
    for count in range(1, 21):
        waits.add(f"{folder}/", str(count), count=count)
    await waits.rounds(1)
    before, rounds = requests(s3, folder)[0], waits.tries()
    await waits.rounds(3)
    assert 3 <= requests(s3, folder)[0] - before <= waits.tries() - rounds + 1
    for number in range(5):
        await store.put_async(f"{folder}/deep/{number}", b"")
    await trigger_services.until(lambda: waits.ended() == {"1", "2", "3", "4", "5"})
    assert waits.triggers["6"].last_look == f"5 of 6 objects are under s3://{BUCKET}/{folder}/"

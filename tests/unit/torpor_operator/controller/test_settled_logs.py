"""What the operator knows of settled logs: requests in the background, in batches."""

import asyncio
import json
from typing import Any

from torpor_crds.models.archive import ArchiveEndpoint
from torpor_kubernetes.client.archive import ArchiveResponse
from torpor_operator.controller.settled_logs import SettledLogCache

from tests.support.fake_api import VirtualClock

ENDPOINT = ArchiveEndpoint(url="https://archive:8443", certificate="PEM")


class LogArchive:
    def __init__(self) -> None:
        self.settled: set[str] = set()
        self.requests: list[tuple[str, Any]] = []
        self.is_up = True
        self.body: bytes | None = None

    async def post(self, endpoint: ArchiveEndpoint, path: str, body: Any) -> ArchiveResponse:
        assert endpoint is ENDPOINT
        self.requests.append((path, body))
        if not self.is_up:
            raise OSError("no route")
        answer = {"settled": sorted(self.settled & set(body["pods"]))}
        return ArchiveResponse(200, json.dumps(answer).encode() if self.body is None else self.body)


async def advance(clock: VirtualClock, cache: SettledLogCache, seconds: float = 1.0) -> None:
    running = asyncio.create_task(cache.run())
    await clock.advance(seconds)
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_an_answer_is_there_at_the_next_pass() -> None:
    clock, archive = VirtualClock(), LogArchive()
    cache = SettledLogCache(clock, lambda: ENDPOINT, archive.post)
    archive.settled = {"a"}
    assert cache.get("team", ["a", "b"]) == set()
    await advance(clock, cache)
    assert cache.get("team", ["a", "b"]) == {"a"}
    assert archive.requests == [("/v1/namespaces/team/logs/status", {"pods": ["a", "b"]})]


async def test_all_that_is_asked_meanwhile_is_one_request_for_a_namespace() -> None:
    clock, archive = VirtualClock(), LogArchive()
    cache = SettledLogCache(clock, lambda: ENDPOINT, archive.post)
    for uid in "cab":
        cache.get("team", [uid])
    cache.get("other", ["d"])
    await advance(clock, cache)
    assert [body["pods"] for _, body in archive.requests] == [["a", "b", "c"], ["d"]]


async def test_what_is_known_is_not_asked_again() -> None:
    clock, archive = VirtualClock(), LogArchive()
    cache = SettledLogCache(clock, lambda: ENDPOINT, archive.post)
    archive.settled = {"a"}
    for _ in range(3):
        cache.get("team", ["a"])
        await advance(clock, cache)
    assert len(archive.requests) == 1


async def test_an_archive_that_is_away_or_talks_nonsense_settles_nothing() -> None:
    clock, archive = VirtualClock(), LogArchive()
    cache = SettledLogCache(clock, lambda: ENDPOINT, archive.post)
    archive.is_up, archive.settled = False, {"a"}
    cache.get("team", ["a"])
    await advance(clock, cache)
    assert cache.get("team", ["a"]) == set()
    archive.is_up, archive.body = True, b"<html>"
    await advance(clock, cache)
    assert cache.get("team", ["a"]) == set()
    archive.body = None
    await advance(clock, cache)
    assert cache.get("team", ["a"]) == {"a"}


async def test_without_an_archive_there_is_no_request() -> None:
    clock, archive = VirtualClock(), LogArchive()
    cache = SettledLogCache(clock, lambda: None, archive.post)
    cache.get("team", ["a"])
    await advance(clock, cache)
    assert not archive.requests


async def test_pods_beyond_one_request_are_sent_in_the_same_round() -> None:
    clock, archive = VirtualClock(), LogArchive()
    cache = SettledLogCache(clock, lambda: ENDPOINT, archive.post)
    pods = [f"p{number:04d}" for number in range(2500)]
    archive.settled = {pods[-1]}
    cache.get("team", pods)
    await advance(clock, cache, 0.1)
    assert [len(body["pods"]) for _, body in archive.requests] == [1000, 1000, 500]
    assert cache.get("team", pods) == {pods[-1]}


async def test_an_archive_that_is_away_gets_one_request_in_a_round() -> None:
    clock, archive = VirtualClock(), LogArchive()
    cache = SettledLogCache(clock, lambda: ENDPOINT, archive.post)
    archive.is_up = False
    cache.get("team", [str(number) for number in range(2500)])
    await advance(clock, cache, 0.1)
    assert len(archive.requests) == 1

"""A reflector that lists very many objects, in a loop that has other things to do."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest
from torpor_kubernetes.cache.reflector import BATCH, Notice, Reflector
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import TASKRUNS
from torpor_kubernetes.client.transport import Response

from tests.support.fake_api import FakeApi, VirtualClock


def name(raw: dict[str, Any]) -> str:
    return str(raw["metadata"]["name"])


async def test_a_long_page_gives_others_their_turn() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    for number in range(3 * BATCH):
        fake.put(TASKRUNS, {"metadata": {"name": f"t{number:03}", "namespace": "ns"}, "spec": {}, "status": {}})
    notices: list[Notice[str]] = []
    reflector = Reflector(Api(fake, clock), TASKRUNS, name, on_change=notices.append, jitter=lambda: 1.0)
    running = asyncio.create_task(reflector.run())
    seen: set[int] = set()
    while len(notices) < 3 * BATCH:
        seen.add(len(notices))
        await asyncio.sleep(0)
    assert {BATCH, 2 * BATCH} <= seen
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


class Bounded(FakeApi):
    """An API server whose answers are too long to be read where they hold more than `most` objects."""

    most = 10

    async def request(self, method: str, path: str, **options: Any) -> Response:
        if int((options.get("query") or {}).get("limit", 0)) > self.most:
            raise errors.TooLarge(f"an answer of more than {self.most} objects")
        return await super().request(method, path, **options)


async def test_pages_become_shorter_until_they_can_be_read() -> None:
    clock = VirtualClock()
    fake = Bounded(clock)
    for number in range(40):
        fake.put(TASKRUNS, {"metadata": {"name": f"t{number:03}", "namespace": "ns"}, "spec": {}, "status": {}})
    async with aclosing(Api(fake, clock).pages(TASKRUNS, limit=500)) as pages:
        listed = [len(page.items) async for page in pages]
    assert sum(listed) == 40
    assert max(listed) <= 10


async def test_one_object_that_is_too_long_is_an_error() -> None:
    clock = VirtualClock()
    fake = Bounded(clock)
    fake.most = 0
    with pytest.raises(errors.TooLarge):
        await Api(fake, clock).list(TASKRUNS)

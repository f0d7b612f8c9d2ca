"""Reflectors that lost their watches at one moment: the server that is back is not asked by all of them at once."""

import asyncio
from functools import partial
from typing import Any

from torpor_kubernetes.cache.reflector import BACKOFF, Reflector
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import TASKRUNS

from tests.support.fake_api import FakeApi, VirtualClock, settle


def name(raw: dict[str, Any]) -> str:
    return str(raw["metadata"]["name"])


def relists(reflectors: list[Reflector[str]]) -> list[int]:
    return [reflector.relists - 1 for reflector in reflectors]


async def test_two_that_lose_their_watches_together_list_again_one_after_the_other() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    reflectors = [
        Reflector(Api(fake, clock), TASKRUNS, name, on_change=lambda _: None, jitter=partial(float, drawn))
        for drawn in (0.0, 1.0)
    ]
    running = [asyncio.create_task(reflector.run()) for reflector in reflectors]
    await settle()
    fake.end_watches(errors.Gone("too old"))
    await settle()
    assert relists(reflectors) == [0, 0]
    await clock.advance(0.6 * BACKOFF.first)
    assert relists(reflectors) == [1, 0]
    await clock.advance(0.6 * BACKOFF.first)
    assert relists(reflectors) == [1, 1]
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)

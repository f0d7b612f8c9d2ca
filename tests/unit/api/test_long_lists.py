"""A reflector that lists very many objects, in a loop that has other things to do."""

import asyncio
from typing import Any

from torpor_api.api import Api
from torpor_api.reflector import AT_ONCE, Notice, Reflector
from torpor_api.resources import TASKRUNS

from tests.fake_api import FakeApi, VirtualClock


def name(raw: dict[str, Any]) -> str:
    return str(raw["metadata"]["name"])


async def test_a_long_page_gives_others_their_turn() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    for number in range(3 * AT_ONCE):
        fake.put(TASKRUNS, {"metadata": {"name": f"t{number:03}", "namespace": "ns"}, "spec": {}, "status": {}})
    told: list[Notice[str]] = []
    reflector = Reflector(Api(fake, clock), TASKRUNS, name, on_change=told.append, jitter=lambda: 1.0)
    running = asyncio.create_task(reflector.run())
    seen: set[int] = set()
    while len(told) < 3 * AT_ONCE:
        seen.add(len(told))
        await asyncio.sleep(0)
    assert {AT_ONCE, 2 * AT_ONCE} <= seen
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)

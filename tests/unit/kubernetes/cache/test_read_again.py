"""An object that cannot be read is parsed again when the next watch begins."""

import asyncio
from typing import Any

from torpor_kubernetes.cache.reflector import Notice, Reflector, Unreadable
from torpor_kubernetes.cache.store import StoreChange
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import TASKRUNS

from tests.support.fake_api import FakeApi, VirtualClock, settle


async def test_an_object_whose_problem_is_over_is_read_without_a_change() -> None:
    clock = VirtualClock()
    fake = FakeApi(clock)
    fake.put(TASKRUNS, {"metadata": {"name": "held", "namespace": "team"}})
    seen: list[Notice[str]] = []
    held_until = clock.now() + 10

    def parse(raw: dict[str, Any]) -> str:
        if clock.now() < held_until:
            raise ValueError("in quarantine")
        return str(raw["metadata"]["name"])

    reflector = Reflector(Api(fake, clock), TASKRUNS, parse, on_change=seen.append, jitter=lambda: 0.5)
    task = asyncio.create_task(reflector.run())
    await settle()
    fake.end_watches()
    await settle()
    assert [type(notice) for notice in seen] == [Unreadable]
    await clock.advance(20)
    fake.end_watches()
    await clock.advance(60)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert [type(notice) for notice in seen] == [Unreadable, StoreChange]
    assert reflector.store.get("team", "held") == "held"
    assert reflector.store.unreadable("team", "held") is None

"""A namespace whose passes take much CPU comes after the others, and no namespace waits for ever."""

import asyncio

from torpor_operator.controller.workqueue import Key, WorkQueue
from torpor_operator.quarantine.cpu_shares import CpuShares

from tests.support.fake_api import VirtualClock


async def _served(queue: WorkQueue, shares: CpuShares, clock: VirtualClock, cost: dict[str, float]) -> list[str]:
    """The namespaces of thirty passes when each key is due again at once."""
    served = []
    for _ in range(30):
        key = await asyncio.wait_for(queue.get(), 60)
        served.append(key.namespace)
        shares.charge(key.namespace, cost[key.namespace], clock.monotonic())
        queue.add(key)
        queue.done(key)
    return served


async def test_a_cheap_namespace_goes_before_an_expensive_one() -> None:
    clock, shares = VirtualClock(), CpuShares()
    queue = WorkQueue(clock, cpu_shares=shares)
    for namespace in ("expensive", "cheap"):
        queue.add(Key(namespace, "run"))
    served = await _served(queue, shares, clock, {"expensive": 1.0, "cheap": 0.05})
    assert 1 <= served.count("expensive") <= 2


async def test_namespaces_that_use_no_cpu_take_turns() -> None:
    clock, shares = VirtualClock(), CpuShares()
    queue = WorkQueue(clock, cpu_shares=shares)
    for namespace in ("first", "second", "third"):
        queue.add(Key(namespace, "run"))
    served = await _served(queue, shares, clock, dict.fromkeys(("first", "second", "third"), 0.0))
    assert served == ["first", "second", "third"] * 10


def test_what_was_used_is_forgotten() -> None:
    shares = CpuShares()
    shares.charge("team", 8.0, 0.0)
    assert shares.used("team", 0.0) == 8.0
    assert shares.used("team", 30.0) == 1.0
    assert shares.least(["team", "idle"], 30.0) == "idle"


def test_ten_thousand_namespaces_take_bounded_memory() -> None:
    shares = CpuShares()
    for number in range(10_000):
        shares.charge(f"team-{number}", 0.01, float(number))
    assert len(vars(shares)["_used"]) <= 4096

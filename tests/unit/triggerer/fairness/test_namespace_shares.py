"""How namespaces share what there is little of: one alone gets nearly all, and none is left without."""

import asyncio
from collections import Counter
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from torpor_kubernetes.fairness.namespace_shares import Shares
from torpor_triggerer.fairness.round_robin_queue import RoundRobinQueue
from torpor_triggerer.fairness.threads import WorkerThreads
from torpor_triggerer.reporting.events import SharedTokenBucket
from torpor_triggerer.running.capacity import FairSlots

from tests.support.fake_api import VirtualClock

STEPS = st.lists(st.tuples(st.booleans(), st.sampled_from("aab"), st.integers(0, 9)), max_size=80)


def test_one_that_is_alone_gets_four_fifths_and_the_rest_is_for_others() -> None:
    shares = Shares(256)
    assert sum(shares.try_acquire("greedy") for _ in range(300)) == 210
    assert sum(shares.try_acquire("other") for _ in range(10)) == 10


def test_a_late_namespace_gets_a_place_beside_many_greedy_ones() -> None:
    shares = Shares(256)
    for number in range(12):
        while shares.try_acquire(f"greedy-{number}"):
            pass
    assert shares.try_acquire("other")


async def test_a_free_place_goes_to_the_namespace_that_holds_the_least() -> None:
    shares = Shares(8)
    while shares.try_acquire("greedy"):
        pass
    shares.try_acquire("other")
    queued = [asyncio.create_task(shares.acquire(owner)) for owner in ("greedy", "greedy", "late", "late")]
    await asyncio.sleep(0)
    shares.release("greedy")
    await asyncio.sleep(0)
    assert (shares.held("greedy"), shares.held("late")) == (6, 1)
    for task in queued:
        task.cancel()
    await asyncio.gather(*queued, return_exceptions=True)
    assert sum(shares.held(namespace) for namespace in ("greedy", "late", "other")) == 8


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["take", "give", "give up"])), max_size=60))
def test_no_place_is_lost_or_given_twice_in_any_order(steps: list[tuple[str, str]]) -> None:
    async def play() -> None:
        shares = Shares(4)
        acquired: list[tuple[str, asyncio.Task[None]]] = []
        for owner, does in steps:
            mine = [request for request in acquired if request[0] == owner and request[1].done() == (does == "give")]
            if does == "take":
                acquired.append((owner, asyncio.create_task(shares.acquire(owner))))
            elif mine:
                acquired.remove(mine[0])
                if does == "give":
                    shares.release(owner)
                else:
                    mine[0][1].cancel()
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            held = Counter(name for name, task in acquired if task.done())
            assert all(shares.held(namespace) == held[namespace] for namespace in "abc")
            assert held.total() <= 4
            assert held.total() == 4 or all(task.done() for _, task in acquired)
        for _, task in acquired:
            task.cancel()
        await asyncio.gather(*(task for _, task in acquired), return_exceptions=True)

    asyncio.run(play())


@given(STEPS, st.integers(1, 6))
def test_of_waits_the_oldest_of_each_namespace_run_and_equally_many_of_each(steps: list[Any], capacity: int) -> None:
    room: FairSlots[tuple[str, int]] = FairSlots(capacity, lambda wait: (wait[1], wait[0]), lambda wait: wait[0])
    asking, running = set[tuple[str, int]](), set[tuple[str, int] | None]()
    for comes, *given_one in steps:
        wait = (given_one[0], given_one[1])
        if comes:
            running = (running | {wait}) - {room.enter(wait)}
            asking.add(wait)
        else:
            running = (running - {wait} | {room.leave(wait)}) - {None}
            asking.discard(wait)
        assert len(running) == min(capacity, len(asking))
        for owner in "ab":
            mine = sorted(other for other in asking if other[0] == owner)
            run = [other for other in mine if other in running]
            assert run == mine[: len(run)]
            most = max(sum(other is not None and other[0] == name for other in running) for name in "ab")
            assert len(run) == len(mine) or len(run) >= most - 1
        assert [*room.queue()] == sorted(asking - running, key=lambda other: (other[1], other[0]))


async def test_calls_that_hang_leave_threads_to_other_namespaces() -> None:
    import threading  # noqa: PLC0415

    ends = threading.Event()
    threads = WorkerThreads(16)
    hanging = [asyncio.create_task(threads.call(ends.wait, "greedy")) for _ in range(50)]
    await asyncio.sleep(0)
    async with asyncio.timeout(180):
        assert await threads.call(lambda: "done", "other") == "done"
    ends.set()
    await asyncio.gather(*hanging)


def test_a_budget_that_one_namespace_spends_leaves_some_to_another() -> None:
    budget = SharedTokenBucket(VirtualClock(), rate=5.0, burst=25.0)
    assert 20 <= sum(budget.take("greedy") for _ in range(1000)) < 25
    assert budget.take("other")


async def test_a_namespace_that_always_spends_leaves_budget_to_another() -> None:
    clock = VirtualClock()
    budget = SharedTokenBucket(clock, rate=5.0, burst=25.0)
    greedy = other = 0
    for _ in range(200):
        await clock.advance(0.1)
        greedy += sum(budget.take("greedy") for _ in range(10))
        other += budget.take("other")
    assert min(greedy, other) >= 10
    assert greedy + other <= 5 * 20 + 25


async def test_a_queue_serves_namespaces_in_turn_and_refuses_the_one_that_fills_it() -> None:
    queue: RoundRobinQueue[str] = RoundRobinQueue(80)
    assert sum(queue.put("greedy", "g") for _ in range(100)) == 66
    assert queue.put("other", "o")
    assert queue.put("other", "o")
    assert [await queue.get() for _ in range(4)] == ["g", "o", "g", "o"]
    assert [await queue.get() for _ in range(64)] == ["g"] * 64
    getting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    assert not getting.done()
    queue.put("late", "l")
    assert await getting == "l"

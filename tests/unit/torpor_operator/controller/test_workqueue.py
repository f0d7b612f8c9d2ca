"""The work queue: each key once, in time, and never processed twice at a time."""

import asyncio
from collections.abc import Iterator

import pytest
from torpor_operator.controller.workqueue import Key, WorkQueue

from tests.support.fake_api import VirtualClock, settle

A, B = Key("ns", "a"), Key("ns", "b")


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def queue(clock: VirtualClock) -> WorkQueue:
    return WorkQueue(clock)


class Worker:
    """Takes the keys that are due, and records when."""

    def __init__(self, queue: WorkQueue, clock: VirtualClock) -> None:
        self.taken: list[tuple[Key, float]] = []
        self._queue, self._clock = queue, clock
        self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        while True:
            key = await self._queue.get()
            self.taken.append((key, self._clock.monotonic()))
            self._queue.done(key)

    def stop(self) -> None:
        self._task.cancel()


@pytest.fixture
async def worker(queue: WorkQueue, clock: VirtualClock) -> "Iterator[Worker]":  # type: ignore[misc]
    worker = Worker(queue, clock)
    yield worker
    worker.stop()


async def test_a_key_that_is_added_twice_is_processed_once(queue: WorkQueue) -> None:
    queue.add(A)
    queue.add(B)
    queue.add(A)
    assert [await queue.get(), await queue.get()] == [A, B]
    waiting = asyncio.create_task(queue.get())
    await settle()
    assert not waiting.done()
    waiting.cancel()


async def test_a_new_leader_sets_the_order_of_what_is_due(queue: WorkQueue) -> None:
    others = Key("ns", "gone"), Key("ns", "c")
    for key in (*others, B):
        queue.add(key)
    queue.begin([A, B, others[1]])
    assert [await queue.get() for _ in range(4)] == [A, B, others[1], others[0]]


async def test_a_key_that_is_added_while_it_is_processed_is_due_again_afterwards(queue: WorkQueue) -> None:
    queue.add(A)
    assert await queue.get() == A
    queue.add(A)
    again = asyncio.create_task(queue.get())
    await settle()
    assert not again.done()
    queue.done(A)
    assert await again == A


async def test_a_key_is_due_at_its_time_by_the_given_clock(
    queue: WorkQueue, clock: VirtualClock, worker: Worker
) -> None:
    queue.add_at(A, clock.now() + 60)
    await clock.advance(59)
    assert worker.taken == []
    await clock.advance(1)
    assert worker.taken == [(A, 60.0)]


async def test_the_earliest_of_several_moments_counts(queue: WorkQueue, clock: VirtualClock, worker: Worker) -> None:
    queue.add_at(A, clock.now() + 60)
    await clock.advance(10)
    queue.add_at(A, clock.now() + 5)
    queue.add_at(A, clock.now() + 30)
    await clock.advance(100)
    assert worker.taken == [(A, 15.0)]


async def test_keys_are_due_in_the_order_of_their_moments(
    queue: WorkQueue, clock: VirtualClock, worker: Worker
) -> None:
    queue.add_at(B, clock.now() + 20)
    queue.add_at(A, clock.now() + 10)
    await clock.advance(30)
    assert worker.taken == [(A, 10.0), (B, 20.0)]


async def test_a_due_time_that_passes_while_the_key_is_processed_is_not_lost(
    queue: WorkQueue, clock: VirtualClock
) -> None:
    queue.add(A)
    assert await queue.get() == A
    queue.add_at(A, clock.now() + 10)
    other = asyncio.create_task(queue.get())
    await clock.advance(20)
    assert not other.done()
    queue.done(A)
    assert await other == A


async def test_a_time_in_the_past_is_due_now(queue: WorkQueue, clock: VirtualClock, worker: Worker) -> None:
    queue.add_at(A, clock.now() - 5)
    await clock.advance(0)
    assert [key for key, _ in worker.taken] == [A]


async def test_no_change_is_lost_between_two_workers(queue: WorkQueue, clock: VirtualClock, worker: Worker) -> None:
    other = Worker(queue, clock)
    for number in range(100):
        queue.add(Key("ns", str(number)))
        if number % 7 == 0:
            await settle()
    await settle()
    taken = [key for key, _ in worker.taken + other.taken]
    assert len(taken) == len(set(taken)) == 100
    other.stop()


async def test_a_cancelled_worker_does_not_affect_the_others(
    queue: WorkQueue, clock: VirtualClock, worker: Worker
) -> None:
    gone = asyncio.create_task(queue.get())
    await settle()
    gone.cancel()
    queue.add_at(A, clock.now() + 1)
    await clock.advance(1)
    assert [key for key, _ in worker.taken] == [A]


async def test_a_key_in_its_cooldown_is_processed_once_afterwards(
    queue: WorkQueue, clock: VirtualClock, worker: Worker
) -> None:
    worker.stop()
    queue.add(A)
    queue.done(await queue.get(), cooldown_until=clock.monotonic() + 10)
    rested = Worker(queue, clock)
    queue.add(A)
    queue.add(B)
    await clock.advance(9)
    queue.add(A)
    assert [key for key, _ in rested.taken] == [B]
    await clock.advance(20)
    assert [key for key, _ in rested.taken] == [B, A]
    rested.stop()


async def test_a_change_while_a_key_is_processed_waits_for_its_cooldown(queue: WorkQueue, clock: VirtualClock) -> None:
    queue.add(A)
    await queue.get()
    queue.add(A)
    queue.done(A, cooldown_until=clock.monotonic() + 10)
    late = Worker(queue, clock)
    await clock.advance(30)
    assert late.taken == [(A, 10.0)]
    late.stop()


async def test_a_clock_that_is_set_back_does_not_prolong_a_cooldown(queue: WorkQueue, clock: VirtualClock) -> None:
    queue.add(A)
    queue.done(await queue.get(), cooldown_until=clock.monotonic() + 10)
    clock.jump(-3600)
    queue.add(A)
    rested = Worker(queue, clock)
    await clock.advance(5)
    clock.jump(-3600)
    await clock.advance(25)
    assert rested.taken == [(A, 10.0)]
    rested.stop()


async def test_a_time_within_a_cooldown_waits_for_its_end(queue: WorkQueue, clock: VirtualClock) -> None:
    queue.add(A)
    queue.done(await queue.get(), cooldown_until=clock.monotonic() + 10)
    queue.add_at(A, clock.now() + 3)
    queue.add_at(B, clock.now() + 3)
    rested = Worker(queue, clock)
    await clock.advance(30)
    assert rested.taken == [(B, 3.0), (A, 10.0)]
    rested.stop()

"""The order of writes: namespaces take turns, urgent ones precede, no write is lost, no rate is exceeded."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_kubernetes.fairness.write_queue import WriteQueue

from tests.support.fake_api import VirtualClock, settle


class Writers:
    """Writes that take a second each. `started` has their namespaces in order; urgent ones end with `!`."""

    def __init__(self, *, places: int = 4, rate: float = 1000.0, burst: float = 1000.0) -> None:
        self.clock = VirtualClock()
        self.queue = WriteQueue(self.clock, places=places, rate=rate, burst=burst)
        self.started: list[str] = []
        self.tasks: list[asyncio.Task[None]] = []

    def add(self, namespace: str, count: int = 1, *, urgent: bool = False) -> None:
        self.tasks += [asyncio.create_task(self._write(namespace, urgent=urgent)) for _ in range(count)]

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def _write(self, namespace: str, *, urgent: bool) -> None:
        async with self.queue.place(namespace, urgent=urgent):
            self.started.append(namespace + "!" * urgent)
            await self.clock.sleep(1.0)


async def test_a_namespace_that_is_alone_gets_nearly_all_places() -> None:
    writers = Writers(places=20)
    writers.add("a", 100)
    await settle()
    assert len(writers.started) == 17
    await writers.clock.advance(10)
    assert len(writers.started) == 100
    await writers.end()


@pytest.mark.attack
async def test_a_namespace_with_a_thousand_writes_delays_another_by_one_write() -> None:
    writers = Writers(places=4)
    writers.add("greedy", 1000)
    await settle()
    writers.add("quiet", 3)
    await writers.clock.advance(1.0)
    assert writers.started[4:8].count("quiet") >= 2
    await writers.clock.advance(1.0)
    assert writers.started.count("quiet") == 3
    await writers.end()


async def test_namespaces_take_turns() -> None:
    writers = Writers(places=1)
    for namespace in "abc":
        writers.add(namespace, 3)
    await writers.clock.advance(10)
    assert "".join(writers.started) == "a" + "abc" * 2 + "bc"
    await writers.end()


async def test_urgent_writes_precede_and_the_others_do_not_wait_for_ever() -> None:
    writers = Writers(places=1)
    writers.add("a", 3)
    writers.add("a", 20, urgent=True)
    await writers.clock.advance(30)
    assert writers.started[0] == "a"
    assert writers.started[1:12] == [*["a!"] * 4, "a", *["a!"] * 4, "a", "a!"]
    assert len(writers.started) == 23
    await writers.end()


@pytest.mark.attack
async def test_a_namespace_writes_at_its_rate_and_another_does_not_wait_for_it() -> None:
    writers = Writers(places=100, rate=5.0, burst=10.0)
    writers.add("greedy", 200)
    await writers.clock.advance(4.0)
    assert len(writers.started) == 10 + 5 * 4
    writers.add("quiet", 10)
    await settle()
    assert writers.started.count("quiet") == 10
    await writers.clock.advance(60.0)
    assert writers.started.count("greedy") == 200
    await writers.end()


async def test_an_urgent_write_is_next_in_a_namespace_beyond_its_rate() -> None:
    writers = Writers(places=100, rate=1.0, burst=1.0)
    writers.add("a", 50)
    await writers.clock.advance(2.0)
    writers.add("a", urgent=True)
    await writers.clock.advance(1.0)
    assert writers.started == ["a", "a", "a", "a!"]
    await writers.end()


async def test_a_write_whose_token_an_urgent_one_took_goes_on_later() -> None:
    writers = Writers(places=1, rate=0.1, burst=2.0)
    writers.add("other")
    await settle()
    writers.add("a")
    writers.add("a", 2, urgent=True)
    await writers.clock.advance(9.0)
    assert writers.started == ["other", "a!", "a!"]
    await writers.clock.advance(20.0)
    assert writers.started == ["other", "a!", "a!", "a"]
    await writers.end()


async def test_writes_beyond_the_rate_share_one_timer() -> None:
    writers = Writers(places=100, rate=1.0, burst=1.0)
    writers.add("a", 500)
    await settle()
    assert len(writers.clock._sleepers) == 2, "the running write and the timer"
    await writers.end()
    assert writers.queue._timer is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["add", "urgent", "cancel", "wait"])), max_size=40))
def test_no_place_is_lost_or_given_twice_and_every_write_ends(steps: list[tuple[str, str]]) -> None:
    async def play() -> None:
        writers = Writers(places=2, rate=3.0, burst=2.0)
        running: Counter[str] = Counter()

        async def write(namespace: str, *, urgent: bool) -> None:
            async with writers.queue.place(namespace, urgent=urgent):
                running[namespace] += 1
                assert running.total() <= 2
                try:
                    await writers.clock.sleep(0.5)
                finally:
                    running[namespace] -= 1

        tasks: list[asyncio.Task[None]] = []
        for namespace, step in steps:
            if step == "cancel" and tasks:
                tasks[len(tasks) // 2].cancel()
            elif step == "wait":
                await writers.clock.advance(0.3)
            else:
                tasks.append(asyncio.create_task(write(namespace, urgent=step == "urgent")))
            await settle()
        await writers.clock.advance(100.0)
        assert all(task.done() for task in tasks)
        assert not writers.queue._lines
        assert not any(writers.queue._places.held(namespace) for namespace in "abc")

    asyncio.run(play())

"""Which waits share a batch: laws of the limits after any failures."""

import itertools
from concurrent.futures import Future
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from torpor_triggerer.batching import batches
from torpor_triggerer.batching.batches import Member, PollStats

limits = st.lists(st.integers(1, 50), max_size=60)
jitters = st.floats(0, 1)


def members(limits: list[int]) -> list[Member]:
    return [
        Member(trigger=SimpleNamespace(), answer=Future(), poll_stats=PollStats(), interval=10.0, limit=most)
        for most in limits
    ]


@given(limits)
def test_each_wait_is_in_one_batch_within_its_limit(limits: list[int]) -> None:
    waits = members(limits)
    made_batches = batches.make_batches(waits)
    assert sorted(map(id, (member for batch in made_batches for member in batch))) == sorted(map(id, waits))
    assert all(len(batch) <= member.limit for batch in made_batches for member in batch)


@given(limits)
def test_no_two_batches_would_fit_in_one(limits: list[int]) -> None:
    made_batches = batches.make_batches(members(limits))
    assert all(len(batch) + 1 > after[0].limit for batch, after in itertools.pairwise(made_batches))


@given(limits)
def test_waits_with_failures_come_last(limits: list[int]) -> None:
    order = [member.limit for batch in batches.make_batches(members(limits)) for member in batch]
    assert order == sorted(order, reverse=True)


@given(st.integers(2, 500))
def test_halving_ends_with_each_wait_alone(count: int) -> None:
    left = [members([1000] * count)]
    polls = 0
    while left:
        polls += 1
        batch = left.pop()
        if len(batch) > 1:
            halves = batches.halves(batch)
            assert [member for half in halves for member in half] == batch
            assert all(len(half) <= member.limit < len(batch) for half in halves for member in half)
            left += halves
    assert polls == 2 * count - 1


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_a_limit_grows_up_to_that_of_the_class(start: int, most: int) -> None:
    (member,) = members([min(start, most)])
    for _ in range(20):
        before = member.limit
        batches.grow([member], most)
        assert before < member.limit <= most or member.limit == before == most
    assert member.limit == most


@given(st.floats(0.1, 3600), st.integers(1, 10_000), st.floats(-10, 1e9), jitters)
def test_a_pause_honours_retry_after_and_is_bounded(
    interval: float, failures: int, asked: float, jitter: float
) -> None:
    pause = batches.backoff(interval, failures, asked, jitter)
    assert pause >= min(0.9 * interval, 0.9 * max(interval, 60.0))
    assert pause >= min(asked, 3600)
    assert pause <= max(1.1 * max(interval, 60.0), 1.1 * 3600)

"""Who is asked for with whom: laws of the limits, whatever has gone wrong before."""

import itertools
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st
from torpor_triggerer.batching import batches
from torpor_triggerer.batching.batches import Looks, Member

limits = st.lists(st.integers(1, 50), max_size=60)
jitters = st.floats(0, 1)


def members(limits: list[int]) -> list[Member]:
    return [Member(trigger=SimpleNamespace(), answer=None, looks=Looks(), interval=10.0, most=most) for most in limits]


@given(limits)
def test_everybody_is_asked_for_once_and_with_no_more_than_his_limit(limits: list[int]) -> None:
    waits = members(limits)
    lots = batches.make_batches(waits)
    assert sorted(map(id, (one for lot in lots for one in lot))) == sorted(map(id, waits))
    assert all(len(lot) <= one.most for lot in lots for one in lot)


@given(limits)
def test_two_lots_are_not_one_that_would_fit(limits: list[int]) -> None:
    lots = batches.make_batches(members(limits))
    assert all(len(lot) + 1 > after[0].most for lot, after in itertools.pairwise(lots))


@given(limits)
def test_who_has_been_in_trouble_comes_last(limits: list[int]) -> None:
    order = [one.most for lot in batches.make_batches(members(limits)) for one in lot]
    assert order == sorted(order, reverse=True)


@given(st.integers(2, 500))
def test_halving_comes_down_to_each_by_himself(count: int) -> None:
    left = [members([1000] * count)]
    asked = 0
    while left:
        asked += 1
        lot = left.pop()
        if len(lot) > 1:
            halves = batches.halves(lot)
            assert [one for half in halves for one in half] == lot
            assert all(len(half) <= one.most < len(lot) for half in halves for one in half)
            left += halves
    assert asked == 2 * count - 1


@given(st.integers(1, 1000), st.integers(1, 1000))
def test_a_limit_grows_to_the_classs_and_no_further(most: int, limit: int) -> None:
    (one,) = members([min(limit, most)])
    for _ in range(20):
        before = one.most
        batches.grow([one], most)
        assert before < one.most <= most or one.most == before == most
    assert one.most == most


@given(st.floats(0.1, 3600), st.integers(1, 10_000), st.floats(-10, 1e9), jitters)
def test_a_source_is_left_in_peace_as_long_as_it_asks_and_never_for_ever(
    interval: float, failures: int, asked: float, jitter: float
) -> None:
    pause = batches.backoff(interval, failures, asked, jitter)
    assert pause >= min(0.9 * interval, 0.9 * max(interval, 60.0))
    assert pause >= min(asked, 3600)
    assert pause <= max(1.1 * max(interval, 60.0), 1.1 * 3600)

"""Token buckets: rate, burst, reservations, and bounded memory."""

from hypothesis import given
from hypothesis import strategies as st
from torpor_kubernetes.fairness.token_buckets import TokenBuckets


def test_a_bucket_gives_its_burst_and_then_its_rate() -> None:
    buckets = TokenBuckets[str](rate=2.0, burst=5.0)
    assert sum(buckets.take("a", 0.0) for _ in range(100)) == 5
    assert sum(buckets.take("a", 0.5) for _ in range(100)) == 1
    assert sum(buckets.take("a", 10.0) for _ in range(100)) == 5


def test_each_owner_has_a_bucket_of_its_own() -> None:
    buckets = TokenBuckets[str](rate=1.0, burst=3.0)
    assert sum(buckets.take("greedy", 0.0) for _ in range(100)) == 3
    assert buckets.take("other", 0.0)


def test_reserved_tokens_come_in_order_and_at_the_rate() -> None:
    buckets = TokenBuckets[str](rate=10.0, burst=2.0)
    moments = [buckets.reserve("a", 100.0) for _ in range(5)]
    assert [round(moment - 100.0, 6) for moment in moments] == [0.0, 0.0, 0.1, 0.2, 0.3]
    assert round(buckets.delay("a", 100.0, ahead=2), 6) == 0.6


def test_tokens_that_must_remain_are_not_taken() -> None:
    buckets = TokenBuckets[str](rate=1.0, burst=4.0)
    assert buckets.has("a", 0.0, kept=3.0)
    assert not buckets.has("a", 0.0, kept=3.5)


def test_a_rate_of_nothing_gives_no_token() -> None:
    buckets = TokenBuckets[str](rate=0.0, burst=5.0)
    assert not buckets.take("a", 0.0)
    assert buckets.delay("a", 0.0) == buckets.reserve("a", 0.0) == float("inf")


def test_full_buckets_take_no_memory() -> None:
    buckets = TokenBuckets[int](rate=1.0, burst=5.0)
    for owner in range(1000):
        buckets.take(owner, float(owner))
    assert len(buckets) <= 2


def test_the_number_of_buckets_is_bounded() -> None:
    buckets = TokenBuckets[int](rate=0.001, burst=5.0, entries=10)
    for owner in range(1000):
        buckets.take(owner, 0.0)
    assert len(buckets) == 10


@given(st.lists(st.floats(0.0, 3.0), max_size=100), st.floats(0.5, 20.0), st.integers(1, 20))
def test_no_more_than_burst_and_rate_are_given(pauses: list[float], rate: float, burst: int) -> None:
    buckets, now, taken = TokenBuckets[str](rate=rate, burst=burst), 0.0, 0
    for pause in pauses:
        now += pause
        taken += buckets.take("a", now)
        taken += buckets.take("a", now)
    assert taken <= burst + rate * now + 0.01

"""The delay before a retry, and the retry policy of a task."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import retry
from torpor_wire.backoff import Backoff
from torpor_wire.retry import Policy

NOW = 1_000.0


def test_each_delay_is_the_former_times_the_factor_up_to_the_cap() -> None:
    backoff = Backoff(first=1.0, cap=60.0, factor=3.0)
    assert [backoff.delay(failures) for failures in (0, 1, 2, 3, 4, 5)] == [1.0, 1.0, 3.0, 9.0, 27.0, 60.0]


@pytest.mark.parametrize(("jitter", "shortest"), [(0.0, 10.0), (0.5, 5.0), (1.0, 0.0)])
def test_the_jitter_is_the_fraction_that_is_random(jitter: float, shortest: float) -> None:
    backoff = Backoff(first=10.0, cap=60.0, jitter=jitter)
    assert [backoff.delay(1, random) for random in (0.0, 1.0)] == [shortest, 10.0]


@pytest.mark.parametrize("factor", [10.0, 10])
def test_a_delay_too_long_to_compute_is_the_cap(factor: float) -> None:
    assert Backoff(first=0.2, cap=60.0, factor=factor).delay(10_000) == 60.0


@given(st.integers(0, 10_000), st.floats(0, 1), st.floats(0, 1))
def test_no_delay_is_longer_than_the_cap(failures: int, jitter: float, random: float) -> None:
    assert 0.0 <= Backoff(first=0.2, cap=10.0, jitter=jitter).delay(failures, random) <= 10.0


def test_without_a_policy_there_is_no_second_attempt() -> None:
    assert retry.next_attempt_at(Policy(), 1, NOW) is None


def test_the_limit_counts_retries_and_not_attempts() -> None:
    policy = Policy(limit=2)
    assert [retry.next_attempt_at(policy, attempt, NOW) is not None for attempt in (1, 2, 3)] == [True, True, False]


def test_each_wait_is_the_former_times_the_backoff() -> None:
    policy = Policy(limit=9, delay=10, backoff=3)
    assert [retry.next_attempt_at(policy, attempt, NOW) for attempt in (1, 2, 3)] == [1_010, 1_030, 1_090]


def test_no_wait_is_longer_than_the_longest() -> None:
    assert retry.next_attempt_at(Policy(limit=9, delay=10, backoff=10, max_delay=50), 4, NOW) == 1_050


def test_a_wait_too_long_to_compute_is_the_longest() -> None:
    assert retry.next_attempt_at(Policy(limit=10_000, backoff=10.0), 5_000, NOW) == NOW + retry.MAX_DELAY
    assert retry.next_attempt_at(Policy(limit=10_000, backoff=10), 5_000, NOW) == NOW + retry.MAX_DELAY


@given(
    st.builds(Policy, st.integers(0, 100), st.floats(0, 1e9), st.integers(1, 10), st.floats(0, 1e9)),
    st.integers(1, 101),
)
def test_the_next_attempt_is_never_before_now_nor_after_the_longest_wait(policy: Policy, attempt: int) -> None:
    moment = retry.next_attempt_at(policy, attempt, NOW)
    assert (moment is None) == (attempt > policy.limit)
    assert moment is None or NOW <= moment <= NOW + policy.max_delay

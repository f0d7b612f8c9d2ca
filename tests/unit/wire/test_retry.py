"""The delay before a retry, and the retry policy of a task."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import retry
from torpor_wire.retry import Backoff, Policy

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


def pause(policy: Policy, attempt: int, uid: str = "a") -> float | None:
    """The pause after an attempt."""
    moment = retry.next_attempt_at(policy, attempt, NOW, uid=uid)
    return None if moment is None else moment - NOW


def test_without_a_policy_there_is_no_second_attempt() -> None:
    assert pause(Policy(), 1) is None


def test_the_limit_counts_retries_and_not_attempts() -> None:
    policy = Policy(limit=2)
    assert [pause(policy, attempt) is not None for attempt in (1, 2, 3)] == [True, True, False]


def test_pauses_that_do_not_grow_are_exact() -> None:
    assert [pause(Policy(limit=9, delay=10, backoff=1), attempt) for attempt in (1, 2, 9)] == [10, 10, 10]


def test_each_pause_is_the_former_times_the_backoff_and_up_to_twice_as_long() -> None:
    policy = Policy(limit=9, delay=10, backoff=3)
    for attempt, shortest in ((1, 10), (2, 30), (3, 90)):
        pauses = [pause(policy, attempt, uid) or 0 for uid in map(str, range(100))]
        assert shortest <= min(pauses) < 1.1 * shortest
        assert 1.9 * shortest < max(pauses) < 2 * shortest


def test_instances_that_failed_together_do_not_return_together() -> None:
    policy = Policy(limit=9, delay=10)
    for attempt in (1, 5, 9):
        assert len({pause(policy, attempt, f"3f1c{number:08x}") for number in range(1_000)}) > 990


def test_every_component_computes_the_same_time_of_a_retry() -> None:
    assert pause(Policy(limit=1), 1, "uid") == pause(Policy(limit=1), 1, "uid")
    assert pause(Policy(limit=2), 1, "uid") != pause(Policy(limit=2), 2, "uid")


def test_no_pause_is_longer_than_the_longest() -> None:
    pauses = [pause(Policy(limit=9, delay=10, backoff=10, max_delay=50), 4, uid) or 0 for uid in map(str, range(100))]
    assert min(pauses) >= 25
    assert max(pauses) <= 50


@pytest.mark.parametrize(
    ("delay", "max_delay", "longest"),
    [(10, None, 3_600), (7_200, None, 14_400), (7_200, 3_600.0, 7_200), (10, 60.0, 60)],
)
def test_the_longest_pause_is_never_below_the_delay(delay: float, max_delay: float | None, longest: float) -> None:
    policy = Policy(limit=9, delay=delay, max_delay=max_delay)
    assert policy.longest == longest
    assert (pause(policy, 1) or 0) >= delay


def test_a_pause_too_long_to_compute_is_at_most_the_longest() -> None:
    assert retry.MAX_DELAY / 2 <= (pause(Policy(limit=10_000, backoff=10.0), 5_000) or 0) <= retry.MAX_DELAY


@given(
    st.builds(
        Policy, st.integers(0, 100), st.floats(0, 1e9), st.integers(1, 10), st.one_of(st.none(), st.floats(0, 1e9))
    ),
    st.integers(1, 101),
    st.text(),
)
def test_no_pause_is_below_the_delay_or_above_the_longest(policy: Policy, attempt: int, uid: str) -> None:
    moment = retry.next_attempt_at(policy, attempt, 0.0, uid=uid)
    assert (moment is None) == (attempt > policy.limit)
    assert moment is None or policy.delay <= moment <= policy.longest

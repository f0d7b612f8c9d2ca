"""The delay before a retry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire.backoff import Backoff


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

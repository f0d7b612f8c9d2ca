"""The delay of the ticks of a Schedule: fixed by its uid, and spread evenly."""

from hypothesis import given
from hypothesis import strategies as st
from torpor_operator.schedules.plan.cron_source import delay_in


@given(st.uuids().map(str), st.floats(0, 1e6))
def test_the_delay_is_fixed_for_a_uid_and_shorter_than_the_jitter(uid: str, jitter: float) -> None:
    delay = delay_in(uid, jitter)
    assert delay == delay_in(uid, jitter)
    assert delay == int(delay)
    assert 0 <= delay < jitter or delay == 0


def test_delays_are_spread_evenly() -> None:
    delays = [delay_in(f"5b5c3a52-0000-4000-8000-{number:012}", 60) for number in range(6_000)]
    counts = [delays.count(second) for second in range(60)]
    assert sum(counts) == 6_000
    assert min(counts) > 50
    assert max(counts) < 150

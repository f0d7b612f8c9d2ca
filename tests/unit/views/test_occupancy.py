from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_views import timeline
from torpor_views.occupancy import Occupancy, PhaseInterval

from tests.unit.views.objects import NOW, at, python, run, taskrun, workflow
from tests.unit.views.test_timeline import entry


def steps(occupancy: Occupancy) -> list[tuple[float, int, int]]:
    return list(zip(occupancy.times, occupancy.pods, occupancy.waits, strict=True))


@pytest.mark.parametrize(
    ("intervals", "expected"),
    [
        ([], []),
        ([("running", 0, 10)], [(0, 1, 0), (10, 0, 0)]),
        ([("starting", 0, 5), ("running", 5, 10)], [(0, 1, 0), (5, 1, 0), (10, 0, 0)]),
        ([("waiting", 0, 10), ("running", 5, 8)], [(0, 0, 1), (5, 1, 1), (8, 0, 1), (10, 0, 0)]),
        ([("queued", 0, 10), ("backing off", 0, 4), ("gap", 1, 2)], []),
        ([("running", 4, 4)], []),
    ],
)
def test_pods_and_waits_are_counted_over_time(
    intervals: list[tuple[str, float, float]], expected: list[tuple[float, int, int]]
) -> None:
    assert steps(Occupancy.of_intervals(PhaseInterval(*each) for each in intervals)) == expected


def test_the_sums_are_the_seconds_of_all_pods_and_waits() -> None:
    intervals = [PhaseInterval("running", 0, 10), PhaseInterval("running", 5, 6), PhaseInterval("waiting", 0, 100)]
    occupancy = Occupancy.of_intervals(intervals)
    assert (occupancy.pod_seconds, occupancy.wait_seconds) == (11, 100)


def test_the_occupancy_of_a_run_follows_its_timeline() -> None:
    history = [
        entry("Running", -290),
        entry("Deferred", -280),
        entry("Scheduled", -100, segment=1),
        entry("Running", -98, segment=1),
    ]
    body = taskrun("load", "Succeeded", history=history, completionTime=at(-95))
    built = timeline.build(run(workflow(python("load")), body))
    assert [(moment - NOW, pods, waits) for moment, pods, waits in steps(Occupancy.of_timeline(built))] == [
        (-290, 1, 0),
        (-280, 0, 1),
        (-100, 0, 0),
        (-98, 1, 0),
        (-95, 0, 0),
    ]


_INTERVALS = st.lists(
    st.tuples(st.sampled_from(["running", "waiting"]), st.integers(0, 1000), st.integers(1, 200)),
    min_size=30,
    max_size=80,
)


@given(_INTERVALS)
def test_fewer_points_show_no_number_below_the_real_one(drawn: list[tuple[str, int, int]]) -> None:
    intervals = [PhaseInterval(phase, start, start + length) for phase, start, length in drawn]
    exact = Occupancy.of_intervals(intervals, points=10_000)
    rough = Occupancy.of_intervals(intervals, points=20)
    assert len(rough.times) <= 45
    assert rough.times == tuple(sorted(rough.times))
    for moment in (time + 0.25 for time in exact.times[:-1]):
        assert value(rough.times, rough.pods, moment) >= value(exact.times, exact.pods, moment)
        assert value(rough.times, rough.waits, moment) >= value(exact.times, exact.waits, moment)
    assert (max(rough.pods), max(rough.waits)) == (max(exact.pods), max(exact.waits))


def value(times: Sequence[float], numbers: Sequence[int], moment: float) -> int:
    return next((number for at, number in reversed(list(zip(times, numbers, strict=True))) if at <= moment), 0)


def test_a_short_peak_does_not_last_until_the_next_change() -> None:
    peak = [PhaseInterval("running", 0.0, 0.5)] * 9
    later = [PhaseInterval("running", 900.0 + number, 1000.0) for number in range(20)]
    occupancy = Occupancy.of_intervals([*peak, *later], points=11)
    assert value(occupancy.times, occupancy.pods, 50.0) == 9
    assert value(occupancy.times, occupancy.pods, 500.0) == 0

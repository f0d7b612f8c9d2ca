"""Which of a deferred TaskRun's two deadlines ends it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor_wire import deadline, times

STARTED = "2026-01-01T00:00:00.000Z"
START = times.epoch(STARTED)


def test_an_attempt_ends_its_timeout_and_its_paused_seconds_after_its_start() -> None:
    assert deadline.attempt_deadline(STARTED, "1m") == START + 60.0
    assert deadline.attempt_deadline(STARTED, "1m", paused=5.0) == START + 65.0


@pytest.mark.parametrize(("started", "timeout"), [(None, "1m"), (STARTED, None)])
def test_an_attempt_without_a_start_or_a_timeout_has_no_deadline(started: str | None, timeout: str | None) -> None:
    assert deadline.attempt_deadline(started, timeout) is None


@pytest.mark.parametrize(
    ("timeout", "attempt", "expected"),
    [(None, None, None), (10.0, None, START + 10), (None, START + 20, START + 20), (10.0, START + 5, START + 5)],
)
def test_a_deferral_ends_at_the_earlier_deadline(
    timeout: float | None, attempt: float | None, expected: float | None
) -> None:
    assert deadline.deferral_deadline(timeout=timeout, attempt_deadline=attempt, now=START) == expected


@pytest.mark.parametrize(
    ("ends", "attempt", "expected"),
    [
        (None, START, False),
        (START, None, False),
        (START - 1.0, START, False),
        (START, START, True),
        (START + 1.0, START, True),
    ],
)
def test_a_deferral_that_ends_with_its_attempt_ends_at_the_attempts_deadline(
    ends: float | None, attempt: float | None, expected: bool
) -> None:
    assert deadline.is_attempt_deadline(ends, attempt) is expected


@given(st.floats(0, 4e9), st.floats(0, 1e6))
def test_rounded_times_keep_the_deadline_of_the_attempt_recognizable(now: float, timeout: float) -> None:
    started = times.rfc3339(now)
    attempt = deadline.attempt_deadline(started, f"{timeout:f}s")
    written = deadline.deferral_deadline(timeout=None, attempt_deadline=attempt, now=now)
    assert written is not None
    assert deadline.is_attempt_deadline(times.epoch(times.rfc3339(written)), attempt)

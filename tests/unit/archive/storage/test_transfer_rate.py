"""A body that trickles is cut off; one that pauses for less than a window is not, nor for what the database takes."""

import pytest
from torpor_archive.errors import RefusedError
from torpor_archive.storage.transfer_rate import Pace


def test_a_trickle_is_cut_off_and_told_the_numbers() -> None:
    pace = Pace(100, window=10.0)
    for _ in range(998):
        pace.note(0.01, 1)
    with pytest.raises(RefusedError, match="999 bytes of the body came in 10 s; at least 100 bytes a second") as caught:
        pace.note(0.1, 1)
    assert (caught.value.refusal.status, caught.value.refusal.reason) == (408, "TooSlow")


def test_what_came_fast_is_no_credit_for_later() -> None:
    pace = Pace(100, window=10.0)
    pace.note(10.0, 1_000_000)
    with pytest.raises(RefusedError):
        pace.note(10.0, 999)


def test_a_pause_within_a_window_is_allowed() -> None:
    pace = Pace(100, window=10.0)
    for _ in range(100):
        pace.note(9.0, 1000)
        assert pace.left == pytest.approx(1.0)
        pace.note(1.0, 0)
        assert pace.left == 10.0

"""Positions by time and name: their order, their text, and when nothing earlier can appear any more."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torpor.triggers import cursors
from torpor.triggers.cursors import UNSET, CursorPosition, CursorProgress, SettlingWindow
from torpor_wire import canonical, constants, times

SECOND = 1_000_000
SECONDS = st.floats(-1e12, 1e12)
PLACES = st.builds(cursors.position, SECONDS, st.text(max_size=2000))


@given(PLACES, PLACES)
def test_a_cursor_reads_back_what_it_wrote_and_fits(last: CursorPosition, complete: CursorPosition) -> None:
    written = CursorProgress(last, complete.at)
    assert cursors.progress(str(written)) == written
    assert len(str(written)) <= constants.CURSOR_MAX


@given(st.integers(-(10**9), 10**9), st.text(max_size=900), st.text(max_size=900))
def test_positions_are_ordered_by_time_and_differ_within_one_time(seconds: int, first: str, second: str) -> None:
    assert cursors.position(seconds, first) < cursors.position(seconds + 1, second)
    assert (cursors.position(seconds, first) == cursors.position(seconds, second)) == (first == second)


def test_long_names_that_begin_alike_have_places_of_their_own() -> None:
    assert len({cursors.position(1, "x" * 900 + end) for end in "abc"}) == 3


def test_after_a_time_everything_later_is_to_come() -> None:
    after = cursors.progress("2026-11-20T08:00:00+01:00").last
    moment = times.epoch("2026-11-20T07:00:00Z")
    assert cursors.position(moment, "z") < after < cursors.position(moment + 0.001, "")


@pytest.mark.parametrize("given", [None, UNSET])
def test_without_a_position_everything_is_to_come(given: Any) -> None:
    assert cursors.progress(given).last < cursors.position(-1e15, "a")


@pytest.mark.parametrize(
    "given", ["", "x", "2026-11-20T08:00:00", "2026-11-20T08:00:00Z x", "2026-11-20T08:00:00Z x y"]
)
def test_another_text_is_no_cursor(given: str) -> None:
    with pytest.raises(ValueError, match="neither a time nor the cursor of an event"):
        cursors.progress(given)


def test_the_newest_time_is_complete_once_it_was_seen_for_so_long() -> None:
    window = SettlingWindow(2.0, 0)
    assert window.complete(100 * SECOND, 5.0) == 98 * SECOND
    assert window.complete(101 * SECOND, 6.9) == 99 * SECOND
    assert window.complete(101 * SECOND, 7.0) == 100 * SECOND
    assert window.complete(101 * SECOND, 8.9) == 100 * SECOND
    assert window.complete(101 * SECOND, 9.0) == 101 * SECOND


def test_what_was_complete_remains_so_for_the_next_wait() -> None:
    assert SettlingWindow(2.0, 100 * SECOND).complete(100 * SECOND, 5.0) == 100 * SECOND


@given(st.data())
def test_no_item_is_lost_or_doubled_if_it_appears_in_time(data: st.DataObject) -> None:
    """Things get whole seconds as times and appear up to two seconds later, while waits begin and end at any time."""
    hours = st.integers(0, 12)
    things = data.draw(
        st.lists(
            st.tuples(hours, st.text("ab", max_size=2), st.floats(0, 1.9)), unique_by=lambda end: end[:2], max_size=20
        )
    )
    looks = sorted(data.draw(st.lists(st.floats(0, 20), max_size=40))) + [100.0 + 3 * number for number in range(60)]
    seen: list[tuple[int, str]] = []
    cursor: str | None = None
    window = SettlingWindow(2.0, cursors.progress(cursor).complete)
    for now in looks:
        visible = [(cursors.position(at, name), (at, name)) for at, name, late in things if at + late <= now]
        new = cursors.settled(visible, cursors.progress(cursor), window, now)
        if new.items:
            some = new.items[: data.draw(st.integers(1, 3))]
            seen += [end for _, end in some]
            cursor = str(CursorProgress(some[-1][0], new.complete))
            window = SettlingWindow(2.0, cursors.progress(cursor).complete)
    assert seen == sorted((at, name) for at, name, _ in things)


@given(st.lists(st.text(max_size=600), min_size=1, max_size=40), st.text(max_size=900))
def test_a_batch_has_what_fits_and_the_cursor_after_it(items: list[str], prefix: str) -> None:
    placed = [(cursors.position(number, prefix), item) for number, item in enumerate(items)]
    event = cursors.batch("objects", placed, 50 * SECOND)
    size = len(canonical.plain(event).encode())
    assert size <= constants.EVENT_MAX or not event["objects"]
    assert event["objects"] == items[: len(event["objects"])]
    assert event["count"] == max(1, len(event["objects"]))
    assert cursors.progress(event["cursor"]).last == placed[event["count"] - 1][0]
    assert ("truncated" in event) == (not event["objects"])


def test_items_that_do_not_fit_are_left_for_the_next_event() -> None:
    placed = [(cursors.position(number, f"in/{number}"), {"path": "x" * 600}) for number in range(300)]
    first = cursors.batch("objects", placed, 900 * SECOND)
    assert first["count"] == len(first["objects"]) == 6
    assert cursors.progress(first["cursor"]).last == placed[5][0]
    large = cursors.batch("objects", [(placed[0][0], {"path": "x" * 5000}), placed[1]], 900 * SECOND)
    assert large == {
        "count": 1,
        "objects": [],
        "truncated": True,
        "cursor": str(CursorProgress(placed[0][0], 900 * SECOND)),
    }

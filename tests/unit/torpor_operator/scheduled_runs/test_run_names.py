"""The keys from which the names of started runs derive."""

import itertools

from torpor_operator.scheduled_runs import event as events
from torpor_wire import names, times

TICK = times.epoch("2026-03-29T01:30:00Z")


def test_a_tick_has_one_key_for_every_form_of_its_time() -> None:
    assert names.tick_key("u", "nightly", TICK) == "u/nightly/2026-03-29T01:30:00.000Z"
    assert names.tick_key("u", "nightly", times.epoch("2026-03-29T03:30:00+02:00")) == names.tick_key(
        "u", "nightly", TICK
    )


def test_a_rerun_is_named_after_its_backfill() -> None:
    assert events.rerun_key("u", "nightly", TICK, "b") == f"{names.tick_key('u', 'nightly', TICK)}/b"


def test_the_order_of_joined_events_does_not_matter() -> None:
    assert events.join_key("u", ["a", "b"]) == events.join_key("u", ["b", "a"])


def test_keys_of_different_events_differ() -> None:
    keys = [
        names.tick_key("u", "a", TICK),
        names.tick_key("u", "b", TICK),
        names.tick_key("v", "a", TICK),
        names.tick_key("u", "a", TICK + 1),
        events.rerun_key("u", "a", TICK, "b1"),
        events.rerun_key("u", "a", TICK, "b2"),
        events.event_key("u", "a", "t", 1, 1),
        events.event_key("u", "a", "t", 1, 2),
        events.event_key("u", "a", "t", 2, 1),
        events.event_key("u", "a", "w", 1, 1),
        events.join_key("u", ["a"]),
        events.join_key("u", ["a", "b"]),
        names.manual_run_key("u", "1"),
        names.manual_run_key("u", "allOf/a"),
        names.manual_run_key("u", "a/t/1/1"),
    ]
    assert all(first != second for first, second in itertools.combinations(keys, 2))
    assert len({names.run("ingest", key) for key in keys}) == len(keys)

"""The figures of the schedules bench: lateness and lost ticks from sightings, writes from the API server's counts."""

from collections import Counter
from typing import Any

import pytest
from torpor_wire import times

from benchmarks.schedules.sightings import Sightings
from benchmarks.schedules.writes import above
from benchmarks.writes import Kind

BEGIN = times.epoch("2026-11-22T10:00:00Z")
CREATE, STATUS, FIRE = Kind("POST", "workflows"), Kind("PATCH", "schedules/status"), Kind("PATCH", "taskruns/status")


def run(uid: str, at: float, schedule: str = "s") -> dict[str, Any]:
    run_of = {"schedule": schedule, "at": times.rfc3339(at), "event": '{"n": 1}'}
    return {"metadata": {"uid": uid}, "spec": {"runOf": run_of}}


def test_lateness_counts_from_the_tick_and_the_delay_of_its_schedule() -> None:
    seen = Sightings()
    seen.note("ADDED", run("a", BEGIN), BEGIN + 20.25)
    seen.note("ADDED", run("b", BEGIN, "other"), BEGIN + 0.5)
    assert seen.lateness(BEGIN, BEGIN + 60, {"s": 20.0}) == pytest.approx([0.25, 0.5])


def test_a_tick_with_two_runs_is_counted_twice_and_a_second_event_of_a_run_is_not() -> None:
    seen = Sightings()
    seen.note("ADDED", run("a", BEGIN), BEGIN)
    seen.note("MODIFIED", run("a", BEGIN), BEGIN + 1)
    seen.note("DELETED", run("a", BEGIN), BEGIN + 2)
    seen.note("ADDED", run("b", BEGIN), BEGIN + 3)
    seen.note("ADDED", run("c", BEGIN + 60), BEGIN + 60)
    assert seen.ticks(BEGIN, BEGIN + 60) == Counter({("s", BEGIN): 2})


def test_a_bookmark_and_a_run_of_a_client_are_no_sightings() -> None:
    seen = Sightings()
    seen.note("BOOKMARK", {"metadata": {"resourceVersion": "7"}}, BEGIN)
    seen.note("ADDED", {"metadata": {"uid": "a"}, "spec": {"tasks": []}}, BEGIN)
    assert seen.runs == {}


def test_writes_above_are_the_difference_for_each_run() -> None:
    scheduled = {CREATE: 10, STATUS: 10, FIRE: 20}
    assert above(10, scheduled, {CREATE: 10}) == {STATUS: 1.0, FIRE: 2.0}

import json
from typing import Any

import pytest

from tests.support.fake_cluster import FakeCluster, Run

_ENDED = {"completionTime": "2026-11-22T10:01:30Z"}


def rows(out: str) -> list[list[str]]:
    return [line.split() for line in out.splitlines()]


def test_live_and_archived_runs_are_listed_by_the_time_of_their_event(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("nightly")
    gone = cluster.run_of("nightly", "nightly-b", "2026-11-20T02:00:00Z", state="Succeeded", **_ENDED)
    cluster.delete("workflows", "nightly-b")
    cluster.archive_run(gone)
    cluster.run_of("nightly", "nightly-a", "2026-11-21T02:00:00Z", state="Failed", **_ENDED)
    cluster.run_of("nightly", "nightly-c", "2026-11-22T02:00:00.000Z")
    cluster.workflow("other", "a")
    cluster.archive_run(cluster.workflow("other-archived", "a"))
    code, out, err = torpor("schedule", "history", "nightly")
    assert (code, err) == (0, "")
    assert rows(out) == [
        ["NAME", "AT", "SOURCE", "STATE", "DURATION", "IN"],
        ["nightly-c", "2026-11-22T02:00:00Z", "nightly", "Running", "-", "cluster"],
        ["nightly-a", "2026-11-21T02:00:00Z", "nightly", "Failed", "1m30s", "cluster"],
        ["nightly-b", "2026-11-20T02:00:00Z", "nightly", "Succeeded", "-", "archive"],
    ]


def test_a_run_that_both_have_is_one_of_the_cluster(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("nightly")
    cluster.archive_run(cluster.run_of("nightly", "a", "2026-11-21T02:00:00Z"))
    assert [row[5] for row in rows(torpor("schedule", "history", "nightly")[1])[1:]] == ["cluster"]


def test_the_source_says_what_started_a_run(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("nightly")
    changes: tuple[dict[str, Any], ...] = ({}, {"backfill": "b1"}, {"source": None}, {"source": None, "event": "{}"})
    for minute, change in enumerate(changes):
        run = cluster.run_of("nightly", f"r{minute}", f"2026-11-21T02:0{minute}:00Z")
        run["spec"]["runOf"] = {
            key: value for key, value in {**run["spec"]["runOf"], **change}.items() if value is not None
        }
    runs = json.loads(torpor("schedule", "history", "nightly", "-o", "json")[1])["runs"]
    assert [entry["source"] for entry in runs] == ["allOf", "manual", "backfill b1", "nightly"]


def test_failed_events_skipped_events_and_missed_ticks_are_shown(cluster: FakeCluster, torpor: Run) -> None:
    failed = {"source": "files", "reason": "ExpressionFailed", "message": "no such key: name"}
    events = [{"at": f"2026-11-2{day}T02:00:00Z", **failed} for day in (0, 1)]
    cluster.schedule("a", failedEvents=events, skipped=1, missed={"count": 3, "last": "2026-11-21T02:00:00Z"})
    code, out, err = torpor("schedule", "history", "a")
    assert (code, out.splitlines()[0]) == (0, "Events that failed:")
    assert [row[:3] for row in rows(out)[2:]] == [
        ["2026-11-21T02:00:00Z", "files", "ExpressionFailed"],
        ["2026-11-20T02:00:00Z", "files", "ExpressionFailed"],
    ]
    assert err.splitlines() == [
        "schedule a has no runs",
        "1 event skipped: by an earlier spec of the schedule",
        "3 ticks missed, the last one 2026-11-21T02:00:00Z",
    ]


def test_without_the_archive_live_runs_are_shown_with_a_note(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("nightly")
    cluster.run_of("nightly", "a", "2026-11-21T02:00:00Z")
    cluster.archive_away = True
    code, out, err = torpor("schedule", "history", "nightly")
    assert (code, len(rows(out))) == (0, 2)
    assert err.startswith("only live runs are shown: ")
    assert torpor("schedule", "history", "nightly", "--live")[2] == ""


def test_the_limit_counts_the_latest_events(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("nightly")
    for day in (1, 2, 3):
        cluster.run_of("nightly", f"r{day}", f"2026-11-0{day}T02:00:00Z")
    assert [row[0] for row in rows(torpor("schedule", "history", "nightly", "--limit", "2")[1])[1:]] == ["r3", "r2"]


@pytest.mark.parametrize(
    ("spec", "cause"),
    [
        ({"concurrencyPolicy": "Forbid"}, "a run was active (concurrencyPolicy Forbid)"),
        ({"concurrencyPolicy": "Queue", "when": "event.ok"}, "`when` was false"),
        (
            {"concurrencyPolicy": "Forbid", "when": "x"},
            "a run was active (concurrencyPolicy Forbid) or `when` was false",
        ),
        ({"allOf": ["a", "b"], "within": "1h"}, "`within` of allOf had passed"),
    ],
)
def test_skipped_events_have_only_causes_of_their_schedule(
    cluster: FakeCluster, torpor: Run, spec: dict[str, Any], cause: str
) -> None:
    cluster.schedule("a", skipped=2)["spec"].update(spec)
    assert torpor("schedule", "history", "a")[2].splitlines()[-1] == f"2 events skipped: {cause}"

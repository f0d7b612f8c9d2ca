"""The intervals of an instance: from its history, or from the moments of an older version."""

from typing import Any

import pytest
from torpor_views import timeline
from torpor_views.timeline import TimelinePhase, TimelineRow

from tests.unit.views.objects import NOW, Object, at, pod, python, run, taskrun, workflow


def row(body: Object, *pods: Object) -> TimelineRow:
    return timeline.build(run(workflow(python("load")), body), pods=pods).rows[0]


def phases(row: TimelineRow) -> list[tuple[TimelinePhase, float, float]]:
    return [(each.phase, each.start - NOW, each.end - NOW) for each in row.intervals]


def entry(state: str, seconds: float, **fields: Any) -> Object:
    return {"state": state, "at": at(seconds), "attempt": 1, "segment": 0, "launch": 0, **fields}


HISTORY = [
    entry("Running", -290, pod="p0"),
    entry("Deferred", -280, trigger="http"),
    entry("Scheduled", -100, segment=1),
    entry("Running", -95, segment=1, pod="p1"),
    entry("UpForRetry", -90, segment=1, reason="Error"),
    entry("Scheduled", -60, attempt=2),
    entry("Running", -50, attempt=2, pod="p2"),
]


def test_the_history_gives_all_intervals() -> None:
    timeline_row = row(taskrun("load", "Running", history=HISTORY))
    assert phases(timeline_row) == [
        (TimelinePhase.QUEUED, -300, -290),
        (TimelinePhase.RUNNING, -290, -280),
        (TimelinePhase.WAITING, -280, -100),
        (TimelinePhase.QUEUED, -100, -95),
        (TimelinePhase.RUNNING, -95, -90),
        (TimelinePhase.BACKING_OFF, -90, -60),
        (TimelinePhase.QUEUED, -60, -50),
        (TimelinePhase.RUNNING, -50, 0),
    ]
    assert timeline_row.exact
    assert [each.detail for each in timeline_row.intervals] == ["", "p0", "http", "", "p1", "", "", "p2"]
    assert [each.open for each in timeline_row.intervals] == [False] * 7 + [True]


def test_a_terminal_state_ends_the_last_interval() -> None:
    entries = [*HISTORY, entry("Succeeded", -10, attempt=2)]
    timeline_row = row(taskrun("load", "Succeeded", history=entries, completionTime=at(-10)))
    assert phases(timeline_row)[-1] == (TimelinePhase.RUNNING, -50, -10)
    assert (timeline_row.ended, timeline_row.state) == (NOW - 10, "Succeeded")


def test_a_history_without_the_terminal_entry_ends_at_the_completion() -> None:
    timeline_row = row(taskrun("load", "Succeeded", history=HISTORY, completionTime=at(-10)))
    assert phases(timeline_row)[-1] == (TimelinePhase.RUNNING, -50, -10)
    assert not timeline_row.intervals[-1].open


@pytest.mark.parametrize("first", [entry("Running", -100, segment=1), entry("Succeeded", -100)])
def test_the_beginning_of_an_object_that_an_older_version_created_is_a_gap(first: Object) -> None:
    timeline_row = row(taskrun("load", "Running", history=[first]))
    assert phases(timeline_row)[0] == (TimelinePhase.GAP, -300, -100)


def test_a_claim_without_an_entry_is_at_the_start_of_the_attempt() -> None:
    timeline_row = row(
        taskrun("load", "Failed", history=[entry("Failed", -100)], startedAt=at(-200), completionTime=at(-100))
    )
    assert phases(timeline_row) == [(TimelinePhase.QUEUED, -300, -200), (TimelinePhase.RUNNING, -200, -100)]


def test_the_moments_complete_the_history_of_a_worker_that_writes_no_entries() -> None:
    fired = [entry("Scheduled", -100, segment=1)]
    moments: Object = {"startedAt": at(-200), "deferredAt": at(-150), "firedAt": at(-100), "segment": 1}
    timeline_row = row(taskrun("load", "Succeeded", history=fired, completionTime=at(-50), **moments))
    assert phases(timeline_row) == [
        (TimelinePhase.QUEUED, -300, -200),
        (TimelinePhase.RUNNING, -200, -150),
        (TimelinePhase.WAITING, -150, -100),
        (TimelinePhase.RUNNING, -100, -50),
    ]


def test_a_second_attempt_without_a_claim_has_its_start_from_the_status() -> None:
    retried = [entry("Scheduled", -100, attempt=2)]
    timeline_row = row(taskrun("load", "Running", history=retried, attempt=2, startedAt=at(-80)))
    assert phases(timeline_row) == [
        (TimelinePhase.GAP, -300, -100),
        (TimelinePhase.QUEUED, -100, -80),
        (TimelinePhase.RUNNING, -80, 0),
    ]


def test_a_segment_whose_entries_are_missing_is_a_gap() -> None:
    entries = [entry("Running", -290), entry("Deferred", -280), entry("Scheduled", -200, segment=1)]
    timeline_row = row(taskrun("load", "Scheduled", history=[*entries, entry("Scheduled", -100, segment=2)], segment=2))
    assert phases(timeline_row)[-2:] == [(TimelinePhase.GAP, -200, -100), (TimelinePhase.QUEUED, -100, 0)]


def test_older_transitions_that_were_folded_are_a_gap() -> None:
    entries = [entry("Running", -290, count=40), *HISTORY[2:]]
    timeline_row = row(taskrun("load", "Running", history=entries))
    assert phases(timeline_row)[:3] == [
        (TimelinePhase.QUEUED, -300, -290),
        (TimelinePhase.GAP, -290, -100),
        (TimelinePhase.QUEUED, -100, -95),
    ]
    assert timeline_row.intervals[1].detail == "40"


def test_clocks_that_differ_never_make_an_interval_negative() -> None:
    entries = [entry("Running", -290), entry("Deferred", -295), entry("Scheduled", -200)]
    timeline_row = row(taskrun("load", "Scheduled", history=entries))
    assert phases(timeline_row) == [
        (TimelinePhase.QUEUED, -300, -290),
        (TimelinePhase.WAITING, -290, -200),
        (TimelinePhase.QUEUED, -200, 0),
    ]


def test_an_entry_before_the_creation_does_not_make_an_interval_negative() -> None:
    timeline_row = row(taskrun("load", "Running", history=[entry("Running", -310)]))
    assert phases(timeline_row) == [(TimelinePhase.RUNNING, -310, 0)]


def test_a_state_of_a_newer_version_is_a_gap() -> None:
    timeline_row = row(taskrun("load", "Nova", history=[entry("Running", -290), entry("Nova", -200)]))
    assert phases(timeline_row)[-1] == (TimelinePhase.GAP, -200, 0)


@pytest.mark.parametrize(
    ("state", "moments", "expected"),
    [
        ("Scheduled", {}, [(TimelinePhase.QUEUED, -300, 0)]),
        ("Running", {"startedAt": at(-200)}, [(TimelinePhase.QUEUED, -300, -200), (TimelinePhase.RUNNING, -200, 0)]),
        (
            "Deferred",
            {"startedAt": at(-200), "deferredAt": at(-150)},
            [(TimelinePhase.QUEUED, -300, -200), (TimelinePhase.RUNNING, -200, -150), (TimelinePhase.WAITING, -150, 0)],
        ),
        (
            "Deferred",
            {"startedAt": at(-290), "deferredAt": at(-290)},
            [(TimelinePhase.QUEUED, -300, -290), (TimelinePhase.WAITING, -290, 0)],
        ),
        (
            "Scheduled",
            {"startedAt": at(-200), "deferredAt": at(-150), "firedAt": at(-50), "segment": 1},
            [
                (TimelinePhase.QUEUED, -300, -200),
                (TimelinePhase.RUNNING, -200, -150),
                (TimelinePhase.WAITING, -150, -50),
                (TimelinePhase.QUEUED, -50, 0),
            ],
        ),
        (
            "Succeeded",
            {"startedAt": at(-200), "completionTime": at(-100)},
            [(TimelinePhase.QUEUED, -300, -200), (TimelinePhase.RUNNING, -200, -100)],
        ),
        (
            "Running",
            {"attempt": 2, "retryAt": at(-80), "startedAt": at(-70)},
            [(TimelinePhase.QUEUED, -300, -80), (TimelinePhase.QUEUED, -80, -70), (TimelinePhase.RUNNING, -70, 0)],
        ),
    ],
)
def test_without_history_the_moments_give_the_present_attempt(state: str, moments: Any, expected: Any) -> None:
    timeline_row = row(taskrun("load", state, **moments))
    assert phases(timeline_row) == expected
    assert not timeline_row.exact


def test_a_pod_whose_container_never_started_is_not_shown_as_running() -> None:
    claimed = entry("Running", -290, pod="p0")
    open_one = row(taskrun("load", "Running", history=[claimed], reason="Unschedulable"))
    assert phases(open_one) == [(TimelinePhase.QUEUED, -300, -290), (TimelinePhase.STARTING, -290, 0)]
    failed = entry("Failed", -200, reason="ImagePullFailed")
    ended = row(taskrun("load", "Failed", history=[claimed, failed], completionTime=at(-200)))
    assert phases(ended)[-1] == (TimelinePhase.STARTING, -290, -200)
    retried = [claimed, entry("UpForRetry", -200, reason="LaunchFailed"), entry("Scheduled", -100, attempt=2)]
    again = row(taskrun("load", "Running", history=[*retried, entry("Running", -90, attempt=2)], attempt=2))
    assert [phase for phase, _, _ in phases(again)][1:3] == [TimelinePhase.STARTING, TimelinePhase.BACKING_OFF]
    assert phases(again)[-1] == (TimelinePhase.RUNNING, -90, 0)


def test_the_pod_separates_queueing_from_starting() -> None:
    body = taskrun("load", "Scheduled", history=[])
    timeline_row = row(body, pod(body, metadata={"creationTimestamp": at(-30)}))
    assert phases(timeline_row) == [(TimelinePhase.QUEUED, -300, -30), (TimelinePhase.STARTING, -30, 0)]
    assert [each.open for each in timeline_row.intervals] == [False, True]


def test_the_span_contains_all_intervals_and_ends_with_the_run() -> None:
    body = workflow(python("load"), state="Succeeded", status={"completionTime": at(-5)}, age=400)
    ended = taskrun("load", "Succeeded", startedAt=at(-200), completionTime=at(-100))
    built = timeline.build(run(body, ended))
    assert (built.start - NOW, built.end - NOW) == (-400, -5)
    assert timeline.build(run(workflow(python("load")))).rows == ()

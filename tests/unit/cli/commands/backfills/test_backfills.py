"""`torpor backfill list`, `status` and `cancel`."""

import json

from tests.support.fake_cluster import FakeCluster, Run


def test_the_list_has_period_state_and_progress(cluster: FakeCluster, torpor: Run) -> None:
    cluster.backfill("b1", "nightly", state="Running", progress="2/3", active=1, failed=1)
    cluster.backfill("b2", "hourly")
    code, out, err = torpor("backfill", "list")
    assert (code, err) == (0, "")
    head, first, second = (line.split() for line in out.splitlines())
    assert head == ["NAME", "SCHEDULE", "FROM", "TO", "STATE", "PROGRESS", "ACTIVE", "FAILED", "AGE"]
    period = ["2026-11-01T00:00:00Z", "2026-11-04T00:00:00Z"]
    assert first[:-1] == ["b1", "nightly", *period, "Running", "2/3", "1", "1"]
    assert second[:-1] == ["b2", "hourly", *period, "Pending", "-", "0", "0"]
    assert len(torpor("backfill", "list", "--schedule", "hourly")[1].splitlines()) == 2
    assert torpor("backfill", "list", "--schedule", "x")[2] == "namespace team has no backfills of schedule x\n"


def test_status_shows_counts_and_runs(cluster: FakeCluster, torpor: Run) -> None:
    cluster.backfill("b1", "nightly", state="Running", progress="1/3", started=2, active=1)
    for day in (1, 2):
        run = cluster.run_of("nightly", f"r{day}", f"2026-11-0{day}T02:00:00Z")
        run["metadata"]["labels"]["torpor.dev/backfill"] = "b1"
        run["spec"]["runOf"]["backfill"] = "b1"
    code, out, _ = torpor("backfill", "status", "b1")
    lines = [line.split() for line in out.splitlines()]
    assert code == 0
    assert ["state", "Running"] in lines
    assert ["progress", "1/3"] in lines
    assert ["period", "2026-11-01T00:00:00Z", "to", "2026-11-04T00:00:00Z"] in lines
    assert [line[0] for line in lines[-2:]] == ["r2", "r1"]
    assert json.loads(torpor("backfill", "status", "b1", "-o", "json")[1])["status"]["started"] == 2


def test_cancel_sets_the_field(cluster: FakeCluster, torpor: Run) -> None:
    cluster.backfill("b1", "nightly", state="Running")
    assert torpor("backfill", "cancel", "b1") == (0, "backfill.torpor.dev/b1 is cancelled\n", "")
    assert cluster.objects["backfills"]["b1"]["spec"]["cancel"] is True


def test_a_backfill_that_has_ended_cannot_be_cancelled(cluster: FakeCluster, torpor: Run) -> None:
    cluster.backfill("b1", "nightly", state="Running")
    cluster.backfill("b2", "nightly", state="Succeeded", completionTime="2026-11-22T10:01:00Z")
    message = "torpor: cannot cancel backfill b2: it has ended as Succeeded; nothing was changed\n"
    assert torpor("backfill", "cancel", "b1", "b2") == (1, "", message)
    assert cluster.patches == []


def test_status_says_why_a_backfill_waits_or_failed(cluster: FakeCluster, torpor: Run) -> None:
    conditions = [
        {"type": "Succeeded", "status": "Unknown", "reason": "ScheduleMissing", "message": "no Schedule nightly"},
        {"type": "Reconciling", "status": "True", "message": "3 ticks left"},
    ]
    cluster.backfill("b1", "nightly", state="Waiting", lastFailure="r1: Error", conditions=conditions)
    assert torpor("backfill", "status", "b1")[2] == "r1: Error\nno Schedule nightly\n"

import json
from typing import Any

from tests.support.fake_cluster import FakeCluster, Run


def test_without_schedules_a_note_says_so(torpor: Run) -> None:
    assert torpor("schedule", "list") == (0, "", "namespace team has no schedules\n")
    assert torpor("schedule", "list", "-A") == (0, "", "the cluster has no schedules\n")
    assert torpor("schedule", "list", "-l", "a=b")[2] == "namespace team has no schedules that match the options\n"


def test_a_row_has_next_last_counts_and_the_last_run(cluster: FakeCluster, torpor: Run) -> None:
    last = {"name": "nightly-x7", "at": "2026-11-22T02:00:00.000Z"}
    status: dict[str, Any] = {
        "next": "2026-11-23T02:00:00.000Z",
        "last": "2026-11-22T02:00:00.000Z",
        "active": 1,
        "queued": 2,
        "failed": 4,
    }
    cluster.schedule("nightly", lastRun=last, **status)
    cluster.schedule("drop", {"name": "files", "trigger": {"class": "object"}}, spec={"suspend": True})
    code, out, err = torpor("schedule", "list")
    assert (code, err) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["NAME", "NEXT", "LAST", "ACTIVE", "QUEUED", "FAILED", "SUSPENDED", "LAST-RUN"],
        ["drop", "-", "-", "0", "0", "0", "true", "-"],
        ["nightly", "2026-11-23T02:00:00Z", "2026-11-22T02:00:00Z", "1", "2", "4", "false", "nightly-x7"],
    ]


def test_wide_adds_counts_the_condition_and_the_sources(cluster: FakeCluster, torpor: Run) -> None:
    condition = {"type": "Ready", "status": "False", "reason": "TemplateMissing"}
    zone = {"name": "nightly", "cron": "0 2 * * *", "timezone": "Europe/Berlin"}
    cluster.schedule("a", zone, started=7, skipped=1, missed={"count": 3}, conditions=[condition])
    head, row = torpor("schedule", "list", "-o", "wide")[1].splitlines()
    assert head.split()[8:] == ["STARTED", "SKIPPED", "MISSED", "READY", "SOURCES"]
    assert row.split()[7:12] == ["-", "7", "1", "3", "False:"]
    assert row.endswith("False: TemplateMissing   nightly (0 2 * * * Europe/Berlin)")


def test_all_namespaces_has_a_column_and_json_is_a_list(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("nightly")
    assert torpor("schedule", "list", "-A")[1].splitlines()[1].split()[:2] == ["team", "nightly"]
    assert torpor("schedule", "list", "-o", "name")[1] == "schedule.torpor.dev/nightly\n"
    (item,) = json.loads(torpor("schedule", "list", "-o", "json")[1])["items"]
    assert item["metadata"]["name"] == "nightly"


def test_text_of_a_status_cannot_control_the_terminal(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("a", next="\x1b[31mred")
    assert "\x1b" not in torpor("schedule", "list")[1]

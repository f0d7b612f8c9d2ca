import json
import threading
from typing import Any

import pytest
from torpor_cli.following import backfill_end

from tests.support.fake_cluster import FakeCluster, Run

_PERIOD = ("--from", "2026-11-01", "--to", "2026-11-04")


def created(cluster: FakeCluster) -> dict[str, Any]:
    (item,) = cluster.objects["backfills"].values()
    return dict(item)


def test_a_period_of_dates_is_in_utc(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("nightly")
    code, out, err = torpor("backfill", "create", "nightly", *_PERIOD)
    assert (code, err) == (0, "")
    assert out.strip() == created(cluster)["metadata"]["name"]
    assert created(cluster)["metadata"]["generateName"] == "nightly-"
    assert created(cluster)["spec"] == {
        "schedule": "nightly",
        "reverse": False,
        "concurrency": 1,
        "from": "2026-11-01T00:00:00Z",
        "to": "2026-11-04T00:00:00Z",
        "rerun": "missing",
    }


def test_every_option_is_a_field(cluster: FakeCluster, torpor: Run) -> None:
    cluster.template("ingest", {"name": "limit", "type": "integer"})
    cluster.schedule("nightly")
    options = ("--source", "nightly", "--reverse", "--concurrency", "4", "--rerun", "failed", "-p", "limit=5")
    period = ("--from", "2026-11-01T02:00:00+01:00", "--to", "2026-11-04T02:00:00")
    assert torpor("backfill", "create", "nightly", *period, *options, "--name", "november")[:2] == (0, "november\n")
    assert created(cluster)["spec"] == {
        "schedule": "nightly",
        "source": "nightly",
        "reverse": True,
        "concurrency": 4,
        "from": "2026-11-01T01:00:00Z",
        "to": "2026-11-04T02:00:00Z",
        "rerun": "failed",
        "params": {"limit": 5},
    }


def test_a_dry_run_prints_the_ticks_and_creates_nothing(cluster: FakeCluster, torpor: Run) -> None:
    zone = {"name": "nightly", "cron": "0 0 * * *", "timezone": "Europe/Berlin"}
    cluster.schedule("nightly", zone)
    period = ("--from", "2026-10-31T22:00:00Z", "--to", "2026-11-03T23:00:00Z")
    code, out, err = torpor("backfill", "create", "nightly", *period, "--dry-run")
    assert (code, err) == (0, "3 ticks; nothing was created (dry run)\n")
    assert [line.split()[1] for line in out.splitlines()[1:]] == [
        "2026-11-01T00:00:00+01:00",
        "2026-11-02T00:00:00+01:00",
        "2026-11-03T00:00:00+01:00",
    ]
    backwards = torpor("backfill", "create", "nightly", *period, "--dry-run", "--reverse", "-o", "json")[1]
    assert [tick["tick"] for tick in json.loads(backwards)] == [
        "2026-11-02T23:00:00Z",
        "2026-11-01T23:00:00Z",
        "2026-10-31T23:00:00Z",
    ]
    assert cluster.objects["backfills"] == {}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--from", "2026-11-04", "--to", "2026-11-04"), 2, "torpor: --from must be before --to\n"),
        ((*_PERIOD, "--source", "noon"), 1, "torpor: schedule nightly has no cron source 'noon'; it has nightly\n"),
        ((*_PERIOD, "--timeout", "1m"), 2, "torpor: --timeout needs --wait\n"),
        (("--from", "yesterday", "--to", "2026-11-04"), 2, "torpor: --from 'yesterday' is not a time; write "),
        (
            (*_PERIOD, "--name", "taken"),
            1,
            "torpor: backfill taken exists already; choose another --name, or omit it\n",
        ),
    ],
)
def test_what_cannot_be_created_is_one_line(
    cluster: FakeCluster, torpor: Run, arguments: tuple[str, ...], code: int, message: str
) -> None:
    cluster.schedule("nightly")
    cluster.backfill("taken", "nightly")
    ended, out, err = torpor("backfill", "create", "nightly", *arguments)
    assert (ended, out, err.count("\n")) == (code, "", 1)
    assert err.startswith(message)


@pytest.mark.parametrize(("state", "code"), [("Succeeded", 0), ("Failed", 3), ("Cancelled", 4)])
def test_wait_prints_the_progress_and_ends_with_the_outcome(
    cluster: FakeCluster, torpor: Run, state: str, code: int
) -> None:
    cluster.schedule("nightly")

    def end() -> None:
        with cluster.changed:
            cluster.changed.wait_for(lambda: "b" in cluster.objects["backfills"], timeout=180)
        for progress, more in (("1/3", {}), ("3/3", {"state": state, "completionTime": "2026-11-22T10:01:00Z"})):
            item = json.loads(json.dumps(cluster.objects["backfills"]["b"]))
            item["status"] = {"state": "Running", "progress": progress, "succeeded": 1, **more}
            cluster.put("backfills", item)

    operator = threading.Thread(target=end)
    operator.start()
    ended, out, _ = torpor("backfill", "create", "nightly", *_PERIOD, "--name", "b", "--wait")
    operator.join()
    assert (ended, out.splitlines()[0]) == (code, "b")
    assert out.splitlines()[-1] == f"b {state} 3/3 (0 active, 1 succeeded, 0 failed, 0 passed)"


@pytest.mark.parametrize(
    "status",
    [{"lastFailure": "no room"}, {"conditions": [{"type": "Succeeded", "status": "Unknown", "message": "no room"}]}],
)
def test_wait_says_why_a_backfill_waits(cluster: FakeCluster, status: dict[str, Any]) -> None:
    waiting = cluster.backfill("b", "nightly", state="Waiting", progress="0/3", **status)
    assert backfill_end.summary(waiting) == "b Waiting 0/3 (0 active, 0 succeeded, 0 failed, 0 passed): no room"


def test_a_timeout_is_code_5_and_says_that_it_goes_on(cluster: FakeCluster, torpor: Run) -> None:
    cluster.schedule("nightly")
    code, _, err = torpor("backfill", "create", "nightly", *_PERIOD, "--name", "b", "--wait", "--timeout", "100ms")
    assert (code, err) == (5, "timed out; b goes on\n")

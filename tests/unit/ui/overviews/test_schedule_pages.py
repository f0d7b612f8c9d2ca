"""Schedules on the page: next ticks, last run, queue, calendar."""

from typing import Any

import pytest
from torpor_kubernetes.client.resources import SCHEDULES, WORKFLOWS
from torpor_wire import constants, times

from tests.support.made_up_cluster import MadeUpApi
from tests.support.made_up_cluster.users import User
from tests.support.page_server.browser import Browser, endpoint, opened_page

Object = dict[str, Any]


def schedule(cluster: MadeUpApi, name: str = "nightly", status: Object | None = None, **spec: Any) -> None:
    sources = [{"name": "night", "cron": "0 2 * * *", "timezone": "Europe/Berlin"}]
    body = {"sources": sources, "templateRef": {"name": "ingest"}, **spec}
    metadata = {"namespace": "data", "name": name}
    cluster.server.put(SCHEDULES, {"metadata": metadata, "spec": body, "status": status or {}})


def run(cluster: MadeUpApi, name: str, state: str, schedule_name: str = "nightly", **labels: str) -> None:
    labels = {constants.LABEL_SCHEDULE: schedule_name} | labels
    body = {
        "metadata": {"namespace": "data", "name": name, "labels": labels},
        "spec": {"runOf": {"schedule": schedule_name}},
        "status": {"state": state, **({} if state == "Running" else {"completionTime": "2026-11-22T10:00:00Z"})},
    }
    cluster.server.put(WORKFLOWS, body)


async def test_a_schedule_has_its_next_ticks_runs_and_queue(cluster: MadeUpApi, page: Browser) -> None:
    status = {"lastRun": {"name": "n1"}, "missed": {"count": 2}, "skipped": 3, "last": "2026-11-22T01:00:00Z"}
    schedule(cluster, status=status, concurrencyPolicy="Queue")
    run(cluster, "n1", "Failed")
    run(cluster, "n2", "Running")
    run(cluster, "n3", "Pending", **{constants.LABEL_QUEUED: "true"})
    [shown] = await page.get("api/schedules?ns=data")
    assert len(shown["next"]) == 10
    assert {times.rfc3339(at)[11:16] for at in shown["next"]} <= {"00:00", "01:00"}
    assert (shown["lastRun"], shown["lastState"], shown["tone"]) == ("live/data/n1", "Failed", "bad")
    assert shown["active"] == ["live/data/n2"]
    assert [entry["text"] for entry in shown["queue"]] == ["n3"]
    assert (shown["missed"], shown["skipped"], shown["template"]) == (2, 3, "ingest")
    assert shown["sources"] == [{"name": "night", "kind": "cron", "text": "0 2 * * *", "timeZone": "Europe/Berlin"}]


async def test_schedules_that_need_a_person_come_first(cluster: MadeUpApi, page: Browser) -> None:
    schedule(cluster, "a")
    condition = {"type": "Ready", "status": "False", "reason": "TemplateNotFound", "message": "no template"}
    schedule(cluster, "z", {"conditions": [condition]})
    schedule(cluster, "p", suspend=True)
    shown = await page.get("api/schedules?ns=data")
    assert [(each["name"], each["tone"], each["ready"]) for each in shown] == [
        ("p", "warn", True),
        ("z", "bad", False),
        ("a", "queue", True),
    ]
    assert shown[1]["message"] == "no template"


async def test_a_schedule_has_a_calendar_of_live_and_archived_runs(cluster: MadeUpApi, page: Browser) -> None:
    schedule(cluster)
    run(cluster, "n1", "Succeeded")
    old = {
        "kind": "Workflow",
        "metadata": {
            "namespace": "data",
            "name": "n0",
            "uid": "u0",
            "labels": {constants.LABEL_SCHEDULE: "nightly"},
            "creationTimestamp": times.rfc3339(cluster.clock.now() - 86_400),
        },
        "spec": {},
        "status": {"state": "Failed", "completionTime": times.rfc3339(cluster.clock.now() - 86_000)},
    }
    cluster.archive.add(old)
    shown = await page.get("api/schedules/data/nightly")
    assert len(shown["calendar"]) == 182
    assert sum(day["ok"] for day in shown["calendar"]) == 1
    assert sum(day["failed"] for day in shown["calendar"]) == 1
    assert [row[0] for row in shown["runs"]["rows"]] == ["live/data/n1", "archive/data/u0"]
    cluster.archive.away = True
    assert "only live runs" in (await page.get("api/schedules/data/nightly"))["notes"][0]


async def test_a_schedule_that_is_not_there_is_a_404(page: Browser) -> None:
    assert await page.status("GET", "api/schedules/data/none") == 404


@pytest.mark.attack
@pytest.mark.parametrize(
    "sources", [[{"name": "x", "cron": "not a cron"}], [{"cron": 7}], "text", [{"name": "x", "trigger": []}], None]
)
async def test_a_schedule_that_cannot_be_read_is_shown(cluster: MadeUpApi, page: Browser, sources: Any) -> None:
    schedule(cluster, sources=sources)
    [shown] = await page.get("api/schedules?ns=data")
    assert shown["next"] == []


@pytest.mark.attack
async def test_schedules_of_another_namespace_are_not_shown(cluster: MadeUpApi) -> None:
    schedule(cluster)
    cluster.users["ml-token"] = User(name="mia", reads={"ml"})
    async with opened_page(endpoint(cluster, "ml-token"), namespaces=("ml",)) as page:
        assert await page.get("api/schedules") == []
        assert await page.status("GET", "api/schedules?ns=data") == 403
        assert await page.status("GET", "api/schedules/data/nightly") == 403

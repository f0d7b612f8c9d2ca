"""Real controllers run Backfills with a real API server: its schema, rules and roles apply to what they write."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration.conftest import collection
from tests.integration.controller.stage import ControllerFixture, Object
from tests.support.manifests import manifest

ALARM = {"name": "alarm", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}
TICKS = [f"2026-01-0{day}T02:00:00.000Z" for day in range(1, 6)]


@pytest.fixture
def schedule(stage: ControllerFixture) -> Iterator[str]:
    """The name of a Schedule with a tick each night. It is suspended, which concerns no Backfill."""
    name = f"nightly-{uuid.uuid4().hex[:8]}"
    spec = {
        "suspend": True,
        "sources": [{"name": "night", "cron": "0 2 * * *"}],
        "params": {"day": "${at.substring(0, 10)}"},
        "workflow": {"tasks": [ALARM]},
    }
    create(stage, "schedules", "Schedule", name, spec)
    yield name
    stage.server.request("DELETE", f"{collection('schedules', stage.namespace)}/{name}").expect(200)


def create(stage: ControllerFixture, plural: str, kind: str, name: str, spec: Object) -> None:
    body = manifest(kind, name, spec)
    stage.server.create(plural, stage.namespace, body).expect(201)


def backfill(stage: ControllerFixture, schedule: str, **spec: Any) -> str:
    """Create a Backfill of five nights. Returns its name."""
    name = f"backfill-{uuid.uuid4().hex[:8]}"
    period = {"schedule": schedule, "from": "2026-01-01T00:00:00Z", "to": "2026-01-06T00:00:00Z"}
    create(stage, "backfills", "Backfill", name, period | spec)
    return name


def status(stage: ControllerFixture, name: str) -> Object:
    return dict(stage.get("backfills", name).get("status", {}))


def ends(stage: ControllerFixture, name: str) -> Object:
    stage.until(lambda: "completionTime" in status(stage, name), f"{name} has ended")
    return status(stage, name)


def runs(stage: ControllerFixture, name: str) -> list[Object]:
    """The runs of a Backfill, by tick."""
    items = stage.server.request("GET", collection("workflows", stage.namespace)).expect(200)["items"]
    mine = [item for item in items if item["metadata"].get("labels", {}).get("torpor.dev/backfill") == name]
    return sorted(mine, key=lambda run: str(run["spec"]["runOf"]["at"]))


def test_each_tick_has_one_run_although_the_leader_is_killed(stage: ControllerFixture, schedule: str) -> None:
    name = backfill(stage, schedule, concurrency=2)
    stage.until(lambda: len(runs(stage, name)) >= 2, "two runs are active")
    stage.leader().end()
    stage.start_controller()
    ended = ends(stage, name)

    assert (ended["state"], ended["progress"], ended["started"], ended["succeeded"]) == ("Succeeded", "5/5", 5, 5)
    workflows = runs(stage, name)
    assert [item["spec"]["runOf"]["at"] for item in workflows] == TICKS
    assert [item["spec"]["params"]["day"] for item in workflows] == [tick[:10] for tick in TICKS]
    stage.until(lambda: {"RunStarted", "Succeeded"} <= set(stage.events(name)), "the Events")
    stage.assert_no_bug()


def test_a_second_backfill_skips_finished_runs_and_repeats_them_on_request(
    stage: ControllerFixture, schedule: str
) -> None:
    ends(stage, backfill(stage, schedule, concurrency=5))
    missing = backfill(stage, schedule)
    passed = ends(stage, missing)
    every = backfill(stage, schedule, rerun="all", concurrency=5, reverse=True)
    repeated = ends(stage, every)

    assert (passed["passed"], passed.get("started", 0), runs(stage, missing)) == (5, 0, [])
    assert (repeated["started"], repeated["succeeded"]) == (5, 5)
    assert [run["spec"]["runOf"]["at"] for run in runs(stage, every)] == TICKS
    stage.assert_no_bug()


def test_a_cancelled_backfill_ends_with_its_active_run(stage: ControllerFixture, schedule: str) -> None:
    name = backfill(stage, schedule)
    stage.until(lambda: status(stage, name).get("active") == 1, "a run is active")
    stage.change("backfills", name, [{"op": "add", "path": "/spec/cancel", "value": True}])
    ended = ends(stage, name)

    assert ended["state"] == "Cancelled"
    assert 1 <= len(runs(stage, name)) < 5
    assert all("completionTime" in run["status"] for run in runs(stage, name))

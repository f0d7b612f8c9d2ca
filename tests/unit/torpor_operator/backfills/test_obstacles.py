"""Why a Backfill waits or a tick fails: rejected runs, missing objects, the archive."""

import pytest
from torpor_kubernetes.client.resources import BACKFILLS, SCHEDULES, TEMPLATES, WORKFLOWS
from torpor_operator.backfills.plan.snapshot import KnownRun, RunOutcome
from torpor_operator.controller.archive import NotArchivedError

from tests.support.builders import NAMESPACE
from tests.support.fake_api import Fault
from tests.support.schedules.backfill_harness import NIGHTLY, TICKS, BackfillHarness

CREATION = "/namespaces/ns/workflows"


@pytest.fixture
def harness() -> BackfillHarness:
    harness = BackfillHarness()
    harness.create("s", NIGHTLY)
    return harness


async def test_a_workflow_of_another_origin_with_the_name_of_a_run_fails_its_tick(harness: BackfillHarness) -> None:
    name = harness.run_name(TICKS[0])
    harness.fake.put(WORKFLOWS, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"tasks": []}})
    async with harness.running():
        harness.create_backfill()
        await harness.complete()

    assert harness.ticks == TICKS[1:]
    assert f"a Workflow named {name} exists that is not the run of this tick" in harness.succeeded[2]


async def test_a_rejected_run_fails_its_tick(harness: BackfillHarness) -> None:
    async with harness.running():
        harness.fake.inject(
            Fault(status=422, reason="Invalid", message="spec.x", causes=True, path=CREATION, method="POST")
        )
        harness.create_backfill()
        await harness.complete()

    assert harness.ticks == TICKS[1:]
    assert harness.backfill["failed"] == 1
    assert "spec.x" in harness.events("RunRejected")[0]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ('workflows.torpor.dev is forbidden: User "x" cannot create resource "workflows"', "NamespaceNotReady"),
        ("workflows.torpor.dev is forbidden: exceeded quota: q", "QuotaExceeded"),
    ],
)
async def test_a_backfill_waits_while_it_may_not_create_runs(
    harness: BackfillHarness, message: str, reason: str
) -> None:
    async with harness.running():
        harness.fake.inject(
            Fault(status=403, reason="Forbidden", message=message, path=CREATION, method="POST", times=3)
        )
        harness.create_backfill()
        await harness.advance(1)
        waiting = harness.backfill["state"], harness.succeeded
        await harness.complete()

    assert waiting == ("Waiting", ("Unknown", reason, message))
    assert harness.ticks == TICKS
    assert harness.backfill["failed"] == 0


async def test_a_backfill_waits_while_the_archive_is_unavailable(harness: BackfillHarness) -> None:
    async def unavailable(_namespace: str, _name: str) -> KnownRun | None:
        raise NotArchivedError("no route")

    async def empty(_namespace: str, _name: str) -> KnownRun | None:
        return None

    harness.find_archived = unavailable
    async with harness.running():
        harness.create_backfill()
        await harness.advance(5)
        waiting = harness.backfill["state"], harness.succeeded, harness.runs("s")
        harness.find_archived = empty
        await harness.complete()

    assert waiting == ("Waiting", ("Unknown", "ArchiveUnavailable", "the archive cannot be read: no route"), [])
    assert harness.ticks == TICKS


async def test_a_tick_whose_run_is_in_the_archive_is_passed_over(harness: BackfillHarness) -> None:
    archived = harness.run_name(TICKS[0])

    async def find(_namespace: str, name: str) -> KnownRun | None:
        return KnownRun(name=name, outcome=RunOutcome.SUCCEEDED) if name == archived else None

    harness.find_archived = find
    async with harness.running():
        harness.create_backfill()
        await harness.complete()

    assert harness.ticks == TICKS[1:]
    assert harness.backfill["passed"] == 1


async def test_runs_stay_after_the_deletion_of_their_backfill(harness: BackfillHarness) -> None:
    async with harness.running():
        harness.create_backfill()
        await harness.advance(2)
        harness.fake.remove(BACKFILLS, NAMESPACE, "b")
        await harness.advance(2)
        harness.end_active()
        await harness.advance(60)

    assert harness.ticks == TICKS[:1]


async def test_a_backfill_waits_until_its_schedule_exists() -> None:
    harness = BackfillHarness()
    async with harness.running():
        harness.create_backfill()
        await harness.advance(2)
        waiting = harness.succeeded[1]
        harness.create("s", NIGHTLY)
        await harness.complete()

    assert waiting == "ScheduleNotFound"
    assert harness.ticks == TICKS


async def test_active_runs_are_counted_after_the_deletion_of_the_schedule(harness: BackfillHarness) -> None:
    async with harness.running():
        harness.create_backfill()
        await harness.advance(2)
        (run,) = harness.active
        harness.fake.remove(SCHEDULES, NAMESPACE, "s")
        await harness.advance(2)
        harness.end(run)
        await harness.advance(2)

    assert (harness.backfill["state"], harness.backfill["succeeded"]) == ("Waiting", 1)


async def test_a_backfill_waits_until_the_template_exists() -> None:
    harness = BackfillHarness()
    harness.create("s", NIGHTLY, workflow=None, templateRef={"name": "t"})
    harness.fake.serve(TEMPLATES)
    async with harness.running():
        harness.create_backfill()
        await harness.advance(2)
        waiting = harness.succeeded[1], harness.runs("s")
        harness.fake.put(TEMPLATES, {"metadata": {"name": "t", "namespace": NAMESPACE}, "spec": {}})
        await harness.complete()

    assert waiting == ("TemplateNotFound", [])
    assert harness.ticks == TICKS


async def test_a_backfill_that_cannot_be_read_is_reported(harness: BackfillHarness) -> None:
    async with harness.running():
        harness.create_backfill(rerun="sometimes")
        await harness.advance(2)

    (condition,) = harness.backfill["conditions"]
    assert (condition["type"], condition["reason"]) == ("Stalled", "Unreadable")
    assert harness.runs("s") == []

"""The controller of Backfills with an API server in memory: runs are created once, whatever fails on the way."""

import itertools

import pytest
from torpor_api.client.resources import BACKFILLS, SCHEDULES, TEMPLATES, WORKFLOWS
from torpor_operator.controller.archive import NotArchivedError
from torpor_operator.schedules import run_names
from torpor_operator.schedules.backfill.snapshot import Outcome, Run
from torpor_wire import names, times

from tests.support.builders import NAMESPACE
from tests.support.fake_api import Fault
from tests.support.schedule_harness import ScheduleHarness

NIGHTLY = {"name": "nightly", "cron": "0 2 * * *"}
START, TO = "2023-11-10T00:00:00Z", "2023-11-13T00:00:00Z"
TICKS = [f"2023-11-{day}T02:00:00.000Z" for day in (10, 11, 12)]
CREATION = "/namespaces/ns/workflows"


@pytest.fixture
def harness() -> ScheduleHarness:
    made = ScheduleHarness()
    made.create("s", NIGHTLY)
    return made


def ticks(harness: ScheduleHarness) -> list[str]:
    return [run["spec"]["runOf"]["at"] for run in harness.runs("s")]


def active(harness: ScheduleHarness) -> list[str]:
    return [run["metadata"]["name"] for run in harness.runs("s") if "completionTime" not in run.get("status", {})]


def first_name(harness: ScheduleHarness) -> str:
    uid = harness.schedule("s")["metadata"]["uid"]
    return names.run("s", run_names.tick_key(uid, "nightly", times.epoch(TICKS[0])))


def succeeded(harness: ScheduleHarness, name: str = "b") -> tuple[str, str, str]:
    condition = next(one for one in harness.backfill(name)["conditions"] if one["type"] == "Succeeded")
    return condition["status"], condition["reason"], condition["message"]


async def complete(harness: ScheduleHarness, name: str = "b", *, seconds: int = 300) -> None:
    """End runs until the Backfill has ended."""
    for _ in range(seconds):
        for run in active(harness):
            harness.end(run)
        await harness.advance(1)
        if "completionTime" in harness.backfill(name):
            return
    raise AssertionError(harness.backfill(name))


async def test_the_runs_follow_one_another(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO)
        await harness.advance(2)
        first = ticks(harness), harness.backfill("b")["state"], harness.backfill("b")["progress"]
        await complete(harness)

    assert first == (TICKS[:1], "Running", "0/3")
    assert ticks(harness) == TICKS
    assert harness.backfill("b")["progress"] == "3/3"
    assert succeeded(harness) == ("True", "Succeeded", "3 runs succeeded, 0 ticks passed over")
    assert [event for event in harness.events("RunStarted") if "nightly" in event] != []


async def test_a_run_costs_one_creation_and_one_status(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create_backfill("b", start=START, to="2023-11-14T00:00:00Z")
        await complete(harness)

    assert len(harness.writes("POST", "workflows")) == 4
    assert len(harness.writes("PATCH", "backfills")) == 5


async def test_a_new_leader_continues_without_a_second_run(harness: ScheduleHarness) -> None:
    harness.create_backfill("b", start=START, to=TO, concurrency=2)
    for _ in range(20):
        async with harness.running():
            await harness.advance(1)
            for run in active(harness)[:1]:
                harness.end(run)

    assert ticks(harness) == TICKS
    assert (harness.backfill("b")["started"], harness.backfill("b")["succeeded"]) == (3, 3)


@pytest.mark.parametrize("commit", [False, True])
@pytest.mark.parametrize(("method", "path"), [("POST", CREATION), ("PATCH", "backfills"), ("GET", CREATION)])
async def test_a_request_without_an_answer_is_repeated_without_a_second_run(
    harness: ScheduleHarness, method: str, path: str, commit: bool
) -> None:
    async with harness.running():
        for _ in range(3):
            harness.fake.inject(Fault(method=method, path=path, commit=commit, times=2))
        harness.create_backfill("b", start=START, to=TO, concurrency=2)
        await complete(harness)

    assert ticks(harness) == TICKS
    assert (harness.backfill("b")["started"], harness.backfill("b")["passed"]) == (3, 0)


async def test_a_leader_that_ends_after_any_write_leaves_no_second_run(harness: ScheduleHarness) -> None:
    for number in itertools.count(1):
        each = ScheduleHarness()
        each.create("s", NIGHTLY)
        each.create_backfill("b", start=START, to=TO, concurrency=2)
        writes = itertools.count(1)

        def end_after(_: object, writes: "itertools.count[int]" = writes, each: ScheduleHarness = each) -> None:
            if next(writes) >= number:  # noqa: B023 - the loop waits for this run
                each.is_leader = False

        each.fake.on_write = end_after
        async with each.running():
            for _ in range(20):
                await each.advance(1)
                for run in active(each):
                    each.end(run)
        ended_by_itself = each.is_leader
        each.is_leader, each.fake.on_write = True, lambda _: None
        async with each.running():
            await complete(each)
        assert ticks(each) == TICKS
        assert (each.backfill("b")["started"], each.backfill("b")["succeeded"]) == (3, 3), number
        if ended_by_itself:
            return


async def test_a_replica_that_does_not_lead_writes_nothing(harness: ScheduleHarness) -> None:
    harness.is_leader = False
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO)
        await harness.advance(30)

    assert harness.runs("s") == []
    assert harness.backfill("b") == {}


async def test_the_schedule_accepts_the_run_that_a_backfill_created_for_its_tick(harness: ScheduleHarness) -> None:
    tick = times.epoch("2023-11-15T02:00:00Z")
    async with harness.running():
        await harness.advance(1)
        harness.clock.jump(tick + 1 - harness.clock.now())  # the tick is due, and the source has not fired yet
        harness.create_backfill("b", start="2023-11-15T00:00:00Z", to="2023-11-16T00:00:00Z")
        await harness.clock.advance(2)
        by_backfill = [run["spec"]["runOf"].get("backfill") for run in harness.runs("s")]
        harness.fire_due()
        await harness.advance(2)

    assert by_backfill == ["b"]
    assert ticks(harness) == ["2023-11-15T02:00:00.000Z"]
    assert harness.events("EventFailed") == []
    assert harness.status("s")["last"] == "2023-11-15T02:00:00.000Z"


async def test_runs_of_a_backfill_leave_the_room_of_the_schedule_free(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO)
        await harness.advance(1)
        harness.clock.jump(times.epoch("2023-11-15T02:00:00Z") - harness.clock.now())
        await harness.advance(2)

    assert ticks(harness) == [TICKS[0], "2023-11-15T02:00:00.000Z"]
    assert harness.events("EventSkipped") == []


async def test_a_workflow_of_another_origin_with_the_name_of_a_run_fails_its_tick(harness: ScheduleHarness) -> None:
    name = first_name(harness)
    harness.fake.put(WORKFLOWS, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"tasks": []}})
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO)
        await complete(harness)

    assert ticks(harness) == TICKS[1:]
    assert f"a Workflow named {name} exists that is not the run of this tick" in succeeded(harness)[2]


async def test_a_rejected_run_fails_its_tick(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.fake.inject(
            Fault(status=422, reason="Invalid", message="spec.x", causes=True, path=CREATION, method="POST")
        )
        harness.create_backfill("b", start=START, to=TO)
        await complete(harness)

    assert ticks(harness) == TICKS[1:]
    assert harness.backfill("b")["failed"] == 1
    assert "spec.x" in harness.events("RunRejected")[0]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ('workflows.torpor.dev is forbidden: User "x" cannot create resource "workflows"', "NamespaceNotReady"),
        ("workflows.torpor.dev is forbidden: exceeded quota: q", "QuotaExceeded"),
    ],
)
async def test_a_backfill_waits_while_it_may_not_create_runs(
    harness: ScheduleHarness, message: str, reason: str
) -> None:
    async with harness.running():
        harness.fake.inject(
            Fault(status=403, reason="Forbidden", message=message, path=CREATION, method="POST", times=3)
        )
        harness.create_backfill("b", start=START, to=TO)
        await harness.advance(1)
        waiting = harness.backfill("b")["state"], succeeded(harness)
        await complete(harness)

    assert waiting == ("Waiting", ("Unknown", reason, message))
    assert ticks(harness) == TICKS
    assert harness.backfill("b")["failed"] == 0


async def test_a_backfill_waits_while_the_archive_is_unavailable(harness: ScheduleHarness) -> None:
    async def unavailable(_namespace: str, _name: str) -> Run | None:
        raise NotArchivedError("no route")

    async def empty(_namespace: str, _name: str) -> Run | None:
        return None

    harness.find_archived = unavailable
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO)
        await harness.advance(5)
        waiting = harness.backfill("b")["state"], succeeded(harness), harness.runs("s")
        harness.find_archived = empty
        await complete(harness)

    assert waiting == ("Waiting", ("Unknown", "ArchiveUnavailable", "the archive cannot be read: no route"), [])
    assert ticks(harness) == TICKS


async def test_a_tick_whose_run_is_in_the_archive_is_passed_over(harness: ScheduleHarness) -> None:
    archived = first_name(harness)

    async def find(_namespace: str, name: str) -> Run | None:
        return Run(name=name, outcome=Outcome.SUCCEEDED) if name == archived else None

    harness.find_archived = find
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO)
        await complete(harness)

    assert ticks(harness) == TICKS[1:]
    assert harness.backfill("b")["passed"] == 1


async def test_runs_stay_after_the_deletion_of_their_backfill(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO)
        await harness.advance(2)
        harness.fake.remove(BACKFILLS, NAMESPACE, "b")
        await harness.advance(2)
        for run in active(harness):
            harness.end(run)
        await harness.advance(60)

    assert ticks(harness) == TICKS[:1]


async def test_a_backfill_waits_until_its_schedule_exists() -> None:
    harness = ScheduleHarness()
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO)
        await harness.advance(2)
        waiting = succeeded(harness)[1]
        harness.create("s", NIGHTLY)
        await complete(harness)

    assert waiting == "ScheduleNotFound"
    assert ticks(harness) == TICKS


async def test_active_runs_are_counted_after_the_deletion_of_the_schedule(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO)
        await harness.advance(2)
        (run,) = active(harness)
        harness.fake.remove(SCHEDULES, NAMESPACE, "s")
        await harness.advance(2)
        harness.end(run)
        await harness.advance(2)

    assert (harness.backfill("b")["state"], harness.backfill("b")["succeeded"]) == ("Waiting", 1)


async def test_a_backfill_waits_until_the_template_exists() -> None:
    harness = ScheduleHarness()
    harness.create("s", NIGHTLY, workflow=None, templateRef={"name": "t"})
    harness.fake.serve(TEMPLATES)
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO)
        await harness.advance(2)
        waiting = succeeded(harness)[1], harness.runs("s")
        harness.fake.put(TEMPLATES, {"metadata": {"name": "t", "namespace": NAMESPACE}, "spec": {}})
        await complete(harness)

    assert waiting == ("TemplateNotFound", [])
    assert ticks(harness) == TICKS


async def test_cancel_and_concurrency_apply_while_the_backfill_runs(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO)
        await harness.advance(2)
        harness.fake.edit(BACKFILLS, NAMESPACE, "b", {"spec": {"concurrency": 2}})
        await harness.advance(2)
        widened = len(active(harness))
        harness.fake.edit(BACKFILLS, NAMESPACE, "b", {"spec": {"cancel": True}})
        await harness.advance(2)
        cancelling = harness.backfill("b")["state"]
        await complete(harness)

    assert (widened, cancelling) == (2, "Cancelling")
    assert harness.backfill("b")["state"] == "Cancelled"
    assert ticks(harness) == TICKS[:2]


async def test_a_backfill_that_cannot_be_read_is_reported(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create_backfill("b", start=START, to=TO, rerun="sometimes")
        await harness.advance(2)

    (condition,) = harness.backfill("b")["conditions"]
    assert (condition["type"], condition["reason"]) == ("Stalled", "Unreadable")
    assert harness.runs("s") == []


async def test_many_ticks_with_runs_are_passed_over_page_by_page() -> None:
    harness = ScheduleHarness()
    harness.create("s", {"name": "hourly", "cron": "0 * * * *"})
    uid = harness.schedule("s")["metadata"]["uid"]
    for hour in range(240):
        tick = times.epoch("2023-11-01T00:00:00Z") + 3600 * hour
        name = names.run("s", run_names.tick_key(uid, "hourly", tick))
        origin = {"schedule": "s", "uid": uid, "source": "hourly", "at": times.rfc3339(tick)}
        body = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"tasks": [], "runOf": origin}}
        harness.fake.put(WORKFLOWS, body)
    async with harness.running():
        harness.create_backfill("b", start="2023-11-01T00:00:00Z", to="2023-11-11T00:00:00Z")
        await harness.advance(5)

    assert harness.backfill("b")["passed"] == 240
    assert len(harness.writes("PATCH", "backfills")) == 3

"""Laws of Backfills under lost answers, new leaders, deleted runs and edits, in any order."""

import asyncio
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st
from torpor_kubernetes.client.resources import WORKFLOWS

from tests.support.builders import NAMESPACE
from tests.support.fake_api import Fault
from tests.support.schedules.backfill_harness import NIGHTLY, BackfillHarness

FAULTS = st.builds(
    Fault,
    method=st.sampled_from(["POST", "PATCH", "GET"]),
    path=st.sampled_from(["/workflows", "/backfills"]),
    commit=st.booleans(),
    status=st.sampled_from([None, 503]),
    times=st.integers(1, 3),
)
STEPS = st.lists(
    st.one_of(
        FAULTS,
        st.sampled_from(["wait", "succeed", "succeed all", "fail", "delete", "restart", "suspend", "resume"]),
        st.integers(1, 3),  # the new concurrency
    ),
    max_size=25,
)
TICKS = 6


class Course:
    """One course of events: `limit` is the highest concurrency so far, `deleted` the number of deleted runs."""

    def __init__(self, concurrency: int, *, reverse: bool) -> None:
        self.harness = BackfillHarness()
        self.harness.create("s", NIGHTLY)
        self.harness.create_backfill(to="2023-11-16T00:00:00Z", start="2023-11-08T00:00:00Z", reverse=reverse)
        self.harness.edit_backfill(concurrency=concurrency, to="2023-11-14T00:00:00Z")
        self.limit = concurrency
        self.deleted = 0

    async def play(self, faults: list[Fault], steps: list[Fault | str | int]) -> None:
        for fault in faults:
            self.harness.fake.inject(fault)
        await self.harness.start()
        for step in steps:
            await self._take(step)
            await self.harness.advance(1)
            assert len(self.harness.active) <= self.limit
        self.harness.edit_backfill(suspend=False)
        await self.harness.complete()
        await self.harness.stop()

    async def _take(self, step: Fault | str | int) -> None:
        harness, active = self.harness, self.harness.active
        match step:
            case Fault():
                harness.fake.inject(step)
            case int():
                harness.edit_backfill(concurrency=step)
                self.limit = max(self.limit, step)
            case "succeed" | "fail" if active:
                harness.end(active[0], "Succeeded" if step == "succeed" else "Failed")
            case "succeed all":
                harness.end_active()
            case "delete" if active and active[0] in harness.backfill.get("activeRuns", []):
                harness.fake.remove(WORKFLOWS, NAMESPACE, active[0])
                self.deleted += 1
            case "restart":
                await harness.stop()
                await harness.start()
            case "suspend" | "resume":
                harness.edit_backfill(suspend=step == "suspend")
            case _:
                pass


@settings(max_examples=40, deadline=None)
@given(faults=st.lists(FAULTS, max_size=3), steps=STEPS, concurrency=st.integers(1, 3), reverse=st.booleans())
def test_each_tick_is_run_once_within_the_concurrency(
    faults: list[Fault], steps: list[Fault | str | int], concurrency: int, *, reverse: bool
) -> None:
    course = Course(concurrency, reverse=reverse)
    asyncio.run(course.play(faults, steps))

    status, harness = course.harness.backfill, course.harness
    assert (status["ticks"], status["started"], status.get("passed", 0)) == (TICKS, TICKS, 0)
    assert status["succeeded"] + status["failed"] == TICKS
    assert len(harness.ticks) == TICKS - course.deleted
    assert Counter(harness.ticks).most_common(1)[0][1] == 1
    failed = sum(run["status"]["state"] == "Failed" for run in harness.runs("s"))
    assert status["failed"] == failed + course.deleted

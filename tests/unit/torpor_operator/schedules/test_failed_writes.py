"""Writes that fail: what else of the Schedule goes on, and that nothing is lost."""

from torpor_kubernetes.client.resources import TASKRUNS
from torpor_wire import names

from tests.support.builders import NAMESPACE
from tests.support.fake_api import Fault
from tests.support.schedules.harness import HOOK, STREAM, ScheduleHarness, entry


async def test_an_expired_token_of_the_operator_loses_no_event(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM)
        await harness.advance(1)
        harness.fake.inject(Fault(status=401, message="Unauthorized", method="POST", path="/workflows", times=2))
        harness.fire("s", "orders", entry(1))
        await harness.advance(60)
        assert len(harness.runs("s")) == 1
        assert harness.status("s")["failedEvents"] == []


async def test_a_source_whose_taskrun_is_rejected_does_not_stop_the_others(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Allow")
        await harness.advance(1)
        denied = Fault(status=403, message="denied by a policy", method="POST", path="/taskruns", times=1000)
        harness.fake.inject(denied)
        harness.edit("s", sources=[STREAM, HOOK])
        await harness.advance(60)
        for number in (1, 2):
            harness.fire("s", "orders", entry(number))
            await harness.advance(1)
        assert len(harness.runs("s")) == 2
        assert harness.cursor("s", "orders") == "2-0"
        assert any("denied by a policy" in message for message in harness.events("SourceFailed"))


async def test_an_old_run_that_cannot_be_deleted_does_not_stop_the_schedule(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, history={"succeeded": 0})
        await harness.advance(1)
        harness.fake.inject(Fault(status=403, message="denied", method="DELETE", path="/workflows", times=1000))
        for number in (1, 2):
            harness.fire("s", "orders", entry(number))
            await harness.advance(1)
            harness.end(harness.runs("s")[-1]["metadata"]["name"])
            await harness.advance(60)
        assert harness.status("s")["started"] == 2
        assert harness.cursor("s", "orders") == "2-0"


async def test_a_queued_run_that_has_vanished_unnoticed_is_forgotten(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Queue")
        await harness.advance(1)
        for number in (1, 2):
            harness.fire("s", "orders", entry(number))
            await harness.advance(1)
        first, second = (run["metadata"]["name"] for run in harness.runs("s"))
        harness.fake.inject(Fault(status=404, method="PATCH", path=f"/workflows/{second}", times=1000))
        harness.end(first)
        await harness.advance(5)
        assert (harness.status("s")["active"], harness.status("s")["queued"]) == (0, 0)


async def test_a_taskrun_that_cannot_be_read_is_tried_with_backoff(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, suspend=True)
        await harness.advance(1)
        name = names.taskrun("s", harness.schedule("s")["metadata"]["uid"], "orders")
        harness.fake.put(TASKRUNS, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": {"task": 7}})
        harness.edit("s", suspend=False)
        await harness.clock.advance(60.0)
        assert 1 <= len(harness.writes("POST", "taskruns")) <= 20

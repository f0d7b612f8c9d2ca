"""Runs that a user requests, and what becomes of runs when their Schedule is deleted."""

import json

import pytest
from torpor_kubernetes.client.resources import SCHEDULES, TASKRUNS, WORKFLOWS
from torpor_wire import constants

from tests.support.builders import NAMESPACE
from tests.support.fake_api import Fault
from tests.support.schedules.harness import HOOK, ScheduleHarness


async def test_the_annotation_starts_a_run_while_others_are_active(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", HOOK, params={"a": 1, "b": 2}, suspend=True)
        await harness.advance(1)
        for value in ("1", json.dumps({"id": "x", "params": {"b": 3}})):
            harness.fake.edit(SCHEDULES, NAMESPACE, "s", {"metadata": {"annotations": {constants.RUN_NOW: value}}})
            await harness.advance(2)
        params = [run["spec"]["params"] for run in harness.runs("s")]
        assert sorted(param["b"] for param in params) == [2, 3]
        assert constants.RUN_NOW not in harness.schedule("s")["metadata"].get("annotations", {})


async def test_a_requested_run_that_cannot_be_created_now_is_created_later(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", HOOK, params={"a": "${event.missing}"})
        await harness.advance(1)
        harness.fake.inject(Fault(status=503, method="POST", path="workflows", times=2))
        value = json.dumps({"id": "x", "params": {"a": 3}})
        harness.fake.edit(SCHEDULES, NAMESPACE, "s", {"metadata": {"annotations": {constants.RUN_NOW: value}}})
        await harness.advance(20)
        (run,) = harness.runs("s")
        assert run["spec"]["params"] == {"a": 3}
        assert harness.status("s")["started"] == 1
        assert constants.RUN_NOW not in harness.schedule("s")["metadata"].get("annotations", {})


async def test_a_repeated_request_starts_and_counts_its_run_once(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", HOOK)
        for _ in range(2):
            harness.fake.edit(SCHEDULES, NAMESPACE, "s", {"metadata": {"annotations": {constants.RUN_NOW: "now"}}})
            await harness.advance(30)
        (run,) = harness.runs("s")
        status = harness.status("s")
        assert (status["started"], status["lastRun"]["at"]) == (1, run["spec"]["runOf"]["at"])


@pytest.mark.parametrize("value", ['{"id": "a', '{"id": "a", "parms": {}}', '{"params": [1]}'])
async def test_an_invalid_request_starts_no_run_and_is_reported(harness: ScheduleHarness, value: str) -> None:
    async with harness.running():
        harness.create("s", HOOK)
        harness.fake.edit(SCHEDULES, NAMESPACE, "s", {"metadata": {"annotations": {constants.RUN_NOW: value}}})
        await harness.advance(3)
        assert harness.runs("s") == []
        (failed,) = harness.status("s")["failedEvents"]
        assert (failed["reason"], "must be an object" in failed["message"]) == ("EventInvalid", True)
        assert constants.RUN_NOW not in harness.schedule("s")["metadata"].get("annotations", {})


@pytest.mark.parametrize(("policy", "kept"), [("Orphan", 1), ("Delete", 0)])
async def test_deletion_removes_queued_runs_and_by_policy_all(harness: ScheduleHarness, policy: str, kept: int) -> None:
    async with harness.running():
        harness.create("s", HOOK, concurrencyPolicy="Queue", deletionPolicy=policy)
        for number in (1, 2):
            await harness.advance(1)
            harness.fire("s", "hook", number)
        await harness.advance(1)
        assert len(harness.runs("s")) == 2
        address = harness.fake.objects.address(SCHEDULES, NAMESPACE, "s")
        harness.fake.objects.delete(address, {})
        harness.fake.bookmark()
        await harness.advance(3)
        assert harness.fake.get(SCHEDULES, NAMESPACE, "s") is None
        assert len(harness.fake.all(WORKFLOWS)) == kept


async def test_a_taskrun_of_no_schedule_is_reported_once(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", HOOK)
        await harness.advance(1)
        own = harness.fake.all(TASKRUNS)[0]
        for name, owner in (("a", "gone"), ("b", "s")):
            spec = own["spec"] | {"schedule": {"name": owner, "uid": "u"}}
            status = {"state": "Scheduled", "attempt": 1, "segment": 0, "launch": 0, "history": []}
            harness.fake.put(
                TASKRUNS, {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec, "status": status}
            )
        await harness.advance(70)
        messages = sorted(harness.events("Unowned"))
        assert len(messages) == 2
        assert "Schedule gone does not exist in this namespace" in messages[0]
        assert "Schedule s has another uid" in messages[1]
        writes = len(harness.fake.writes())
        await harness.advance(120)
        assert len(harness.fake.writes()) == writes
        assert harness.taskrun("s", "hook").status.reason is None

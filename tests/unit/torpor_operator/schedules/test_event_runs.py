"""Runs of events: cursors, `when`, `params`, errors, manual runs, and the deletion of the Schedule."""

import json

import pytest
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_wire import retry, times, transitions
from torpor_wire.reason import Reason
from torpor_wire.state import State

from tests.support.builders import NAMESPACE
from tests.support.fake_api import Fault
from tests.support.schedules.harness import HOOK, STREAM, ScheduleHarness, entry


async def test_history_keeps_a_finished_run_while_a_suspension_delays_its_event(
    harness: ScheduleHarness,
) -> None:
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Allow", history={"succeeded": 0})
        await harness.advance(1)
        harness.fake.inject(Fault(status=503, method="PATCH", path="/schedules/s/status", times=3))
        harness.fire("s", "orders", entry(1))
        await harness.advance(1)
        harness.edit("s", suspend=True)
        (run,) = harness.runs("s")
        harness.end(run["metadata"]["name"])
        await harness.advance(60)
        assert [workflow["metadata"]["name"] for workflow in harness.runs("s")] == [run["metadata"]["name"]]
        harness.edit("s", suspend=False)
        await harness.advance(60)
        assert harness.status("s")["started"] == 1
        assert harness.runs("s") == []


async def test_params_are_evaluated_over_the_event(harness: ScheduleHarness) -> None:
    params = {"n": "${event.fields.n}", "name": "run-${event.fields.n}-${source}", "last": "${previous}", "x": [1]}
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Allow", params=params)
        await harness.advance(1)
        for number in (1, 2):
            harness.fire("s", "orders", entry(number))
            await harness.advance(1)
        first, second = harness.runs("s")
        assert first["spec"]["params"] == {"n": 1, "name": "run-1-orders", "last": None, "x": [1]}
        assert second["spec"]["params"]["last"]["name"] == first["metadata"]["name"]
        assert second["spec"]["runOf"]["previous"]["name"] == first["metadata"]["name"]


async def test_when_false_takes_the_event_without_a_run(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Allow", when="event.fields.n > 1")
        await harness.advance(1)
        for number in (1, 2):
            harness.fire("s", "orders", entry(number))
            await harness.advance(1)
        assert len(harness.runs("s")) == 1
        assert harness.status("s")["skipped"] == 1
        assert harness.cursor("s", "orders") == "2-0"


@pytest.mark.parametrize("spec", [{"params": {"x": "${event.fields.missing}"}}, {"when": "event.fields.n"}])
async def test_an_expression_that_fails_keeps_the_event_and_the_schedule_goes_on(
    harness: ScheduleHarness, spec: dict[str, object]
) -> None:
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Allow", **spec)
        await harness.advance(1)
        harness.fire("s", "orders", entry(1))
        await harness.advance(1)
        (failed,) = harness.status("s")["failedEvents"]
        assert failed["source"] == "orders"
        assert failed["reason"].startswith("Expression")
        assert json.loads(failed["event"])["id"] == "1-0"
        assert harness.cursor("s", "orders") == "1-0"
        assert len(harness.events("EventFailed")) == 1


async def test_a_run_that_the_api_server_rejects_is_a_failed_event(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Allow")
        await harness.advance(1)
        message = "param n must be an integer"
        harness.fake.inject(Fault(status=422, reason="Invalid", causes=True, message=message, path="workflows"))
        harness.fire("s", "orders", entry(1))
        await harness.advance(5)
        (failed,) = harness.status("s")["failedEvents"]
        assert (failed["reason"], message in failed["message"]) == ("RunRejected", True)
        harness.fire("s", "orders", entry(2))
        await harness.advance(1)
        assert len(harness.runs("s")) == 1


async def test_an_event_waits_for_a_quota(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", HOOK, concurrencyPolicy="Allow")
        await harness.advance(1)
        message = "exceeded quota: runs, requested: count/workflows.torpor.dev=1, used: 5, limited: 5"
        harness.fake.inject(Fault(status=403, reason="Forbidden", message=message, path="workflows", times=3))
        harness.fire("s", "hook", {"n": 1})
        await harness.advance(2)
        assert harness.runs("s") == []
        assert harness.status("s")["failedEvents"] == [] or not harness.status("s")["failedEvents"]
        assert harness.events("QuotaExceeded") == ["exceeded quota: runs"]
        await harness.advance(30)
        assert len(harness.runs("s")) == 1


async def test_a_lost_answer_makes_no_second_run(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", HOOK, concurrencyPolicy="Allow")
        await harness.advance(1)
        harness.fake.inject(Fault(commit=True, method="POST", path="workflows"))
        harness.fire("s", "hook", {"n": 1})
        await harness.advance(10)
        assert len(harness.runs("s")) == 1
        assert harness.status("s")["started"] == 1
        assert harness.taskrun("s", "hook").status.state is State.DEFERRED


async def test_a_source_whose_trigger_fails_is_reported_and_retried(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM)
        await harness.advance(1)
        run = harness.taskrun("s", "orders")
        policy = retry.Policy(100, 5.0, 2, 600.0)
        now = harness.clock.now()
        harness.fail(
            "s",
            "orders",
            transitions.fail(run.pin(), policy, reason=Reason.TRIGGER_FAILED, message="no route to host", now=now),
        )
        await harness.advance(1)
        ready = harness.condition("s", "Ready")
        assert (ready["status"], "no route to host" in ready["message"]) == ("False", True)
        await harness.advance(10)
        assert harness.taskrun("s", "orders").status.state is State.DEFERRED
        assert harness.condition("s", "Ready")["status"] == "True"


async def test_a_source_that_failed_for_good_is_created_again_with_its_cursor(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Allow")
        await harness.advance(1)
        harness.fire("s", "orders", entry(3))
        await harness.advance(1)
        run = harness.taskrun("s", "orders")
        patch = transitions.fail(
            run.pin(), retry.Policy(), reason=Reason.TRIGGER_INVALID, message="bad", now=harness.clock.now()
        )
        harness.fail("s", "orders", patch)
        await harness.advance(299)
        assert harness.taskrun("s", "orders").metadata.uid == run.metadata.uid
        await harness.advance(5)
        assert harness.taskrun("s", "orders").metadata.uid != run.metadata.uid
        assert harness.cursor("s", "orders") == "3-0"


async def test_a_deleted_taskrun_is_created_again_with_the_cursor(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Allow")
        await harness.advance(1)
        harness.fire("s", "orders", entry(3))
        await harness.advance(1)
        harness.fake.remove(TASKRUNS, NAMESPACE, harness.taskrun("s", "orders").metadata.name)
        await harness.advance(1)
        assert harness.cursor("s", "orders") == "3-0"


async def test_no_run_before_and_after_the_period(harness: ScheduleHarness) -> None:
    now = harness.clock.now()
    period = {"notBefore": times.rfc3339(now + 600), "notAfter": times.rfc3339(now + 900)}
    async with harness.running():
        harness.create("s", {"name": "tick", "cron": "* * * * *"}, concurrencyPolicy="Allow", **period)
        await harness.advance(595)
        assert harness.runs("s") == []
        await harness.advance(600)
        assert len(harness.runs("s")) == 5
        assert harness.condition("s", "Ready")["reason"] == "Completed"


async def test_an_invalid_source_does_not_stop_the_others(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", {"name": "bad", "cron": "61 * * * *"}, HOOK, concurrencyPolicy="Allow")
        await harness.advance(1)
        harness.fire("s", "hook", 1)
        await harness.advance(1)
        assert len(harness.runs("s")) == 1
        ready = harness.condition("s", "Ready")
        assert (ready["status"], "source bad" in ready["message"]) == ("False", True)


async def test_params_of_an_event_that_waited_see_how_the_previous_run_ended(harness: ScheduleHarness) -> None:
    params = {"state": "${previous != null && has(previous.state) ? previous.state : ''}"}
    async with harness.running():
        harness.create("s", STREAM, concurrencyPolicy="Queue", maxQueued=0, params=params)
        await harness.advance(1)
        harness.fire("s", "orders", entry(1))
        await harness.advance(1)
        harness.fire("s", "orders", entry(2))
        await harness.advance(1)
        harness.end(harness.runs("s")[0]["metadata"]["name"])
        await harness.advance(1)
        second = harness.runs("s")[1]["spec"]
        assert second["runOf"]["previous"]["state"] == "Succeeded"
        assert second["params"] == {"state": "Succeeded"}


async def test_a_run_that_waits_for_its_template_is_shown_in_ready(harness: ScheduleHarness) -> None:
    async with harness.running():
        harness.create("s", HOOK)
        await harness.advance(1)
        harness.fire("s", "hook", "go")
        await harness.advance(1)
        (run,) = harness.runs("s")
        waiting = {"type": "Succeeded", "status": "Unknown", "reason": "TemplateNotFound", "message": "no template t"}
        waiting |= {"lastTransitionTime": times.rfc3339(harness.clock.now())}
        change = {"status": {"state": "Pending", "conditions": [waiting]}}
        harness.fake.edit(WORKFLOWS, NAMESPACE, run["metadata"]["name"], change)
        await harness.advance(30)
        ready = harness.condition("s", "Ready")
        assert (ready["status"], ready["reason"], "no template t" in ready["message"]) == (
            "False",
            "TemplateNotFound",
            True,
        )

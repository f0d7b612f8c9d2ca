"""The controller as a whole, in virtual time: runs end, trouble is put off, and nothing is asked without end."""

import logging
from collections.abc import AsyncIterator

import pytest
from torpor_api.client.resources import EVENTS, PODS, TASKRUNS, WORKFLOWS
from torpor_operator.model.actions import Plan
from torpor_operator.model.snapshot import Snapshot
from torpor_operator.plan.planner import plan
from torpor_operator.settings import Settings
from torpor_wire import constants

from tests.support.builders import NAMESPACE, container, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault


@pytest.fixture
async def rig() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


async def test_two_tasks_run_to_completion(rig: ControllerHarness) -> None:
    rig.script = lambda task, _: '{"rows": 3}' if task == "list" else None
    rig.create("run", python("list"), python("load", args={"rows": "${tasks.list.result.rows}"}))
    await rig.advance(3)
    assert rig.state("run") == "Succeeded"
    assert rig.taskrun("run", "load")["spec"]["arguments"] == [{"name": "rows", "value": "3"}]
    assert rig.workflow("run")["metadata"]["finalizers"] == []


async def test_a_python_task_costs_the_operator_two_writes(rig: ControllerHarness) -> None:
    tasks = [python(f"t{number}") for number in range(10)]
    rig.create("run", *tasks)
    await rig.advance(5)
    assert rig.state("run") == "Succeeded"
    assert len(rig.writes("taskruns", "POST")) == 10
    assert len(rig.writes("pods", "POST")) == 10
    assert rig.writes("taskruns", "PATCH") == []
    assert len(rig.writes("workflows", "PATCH")) <= 6
    assert len(rig.fake.writes()) <= 10 + 10 + 6 + 1


async def test_a_status_is_written_at_most_once_in_its_interval(rig: ControllerHarness) -> None:
    mapped = python("load", expand=[{"name": "n", "over": list(range(60))}])
    rig.create("run", mapped, parallelism=1)
    await rig.advance(5)
    statuses = [request for request in rig.fake.writes() if request.path.endswith("/run/status")]
    assert 3 <= len(statuses) <= 8


async def test_retries_and_failures_run_to_completion(rig: ControllerHarness) -> None:
    def script(task: str, attempt: int) -> str | None:
        if task == "bad" or attempt == 1:
            raise RuntimeError(f"{task} broke in attempt {attempt}")
        return None

    rig.script = script
    retries = {"limit": 1, "delay": "5s"}
    rig.create("run", python("good", retries=retries), python("bad", retries=retries), python("after", after=["bad"]))
    await rig.advance(10)
    status = rig.workflow("run")["status"]
    assert {entry["name"]: entry["state"] for entry in status["tasks"]} == {
        "good": "Succeeded",
        "bad": "Failed",
        "after": "UpstreamFailed",
    }
    notes = [event["note"] for event in rig.fake.all(EVENTS)]
    assert "bad broke in attempt 2" in notes
    assert len(notes) == len(set(notes)) == 4


async def test_a_deleted_run_is_cancelled_and_then_gone(rig: ControllerHarness) -> None:
    rig.create("run", {"name": "drop", "trigger": {"class": "http"}})
    await rig.advance(2)
    await rig.executor._api.delete(WORKFLOWS, NAMESPACE, "run")
    await rig.advance(30)
    assert rig.fake.get(WORKFLOWS, NAMESPACE, "run") is not None
    await rig.advance(40)
    assert rig.fake.get(WORKFLOWS, NAMESPACE, "run") is None
    assert rig.fake.all(TASKRUNS) == []


async def test_a_finished_workflow_is_deleted_after_its_ttl(rig: ControllerHarness) -> None:
    rig.create("run", python("a"), ttlAfterFinished="60s")
    await rig.advance(50)
    assert rig.state("run") == "Succeeded"
    await rig.advance(15)
    assert rig.fake.all(WORKFLOWS) == rig.fake.all(TASKRUNS) == rig.fake.all(PODS) == []


async def test_a_conflict_on_every_patch_is_harmless_and_causes_no_retry_loop(rig: ControllerHarness) -> None:
    rig.create("run", {"name": "drop", "trigger": {"class": "http"}})
    rig.fake.inject(Fault(status=422, method="PATCH", path="/taskruns/", times=5))
    await rig.advance(20)
    assert len(rig.writes("taskruns", "PATCH")) <= 4
    assert rig.taskrun("run", "drop")["status"]["state"] == "Scheduled"
    await rig.advance(4 * Settings().resync)
    assert rig.taskrun("run", "drop")["status"]["state"] == "Deferred"
    assert len(rig.writes("taskruns", "PATCH")) == 6


async def test_an_unavailable_api_server_is_retried_with_backoff(rig: ControllerHarness) -> None:
    rig.fake.inject(Fault(status=503, method="POST", path="/taskruns", times=8))
    rig.create("run", python("a"))
    await rig.advance(30)
    assert 4 <= len(rig.writes("taskruns", "POST")) <= 8
    await rig.advance(120)
    assert rig.state("run") == "Succeeded"
    assert len(rig.writes("taskruns", "POST")) == 9


async def test_a_success_resets_the_backoff(rig: ControllerHarness) -> None:
    rig.fake.inject(Fault(status=503, method="POST", path="/taskruns", times=4))
    rig.create("run", python("a"), python("b", after=["a"]))
    await rig.advance(60)
    assert rig.state("run") == "Succeeded"
    rig.fake.inject(Fault(status=503, method="POST", path="/pods", times=1))
    rig.create("other", python("a"))
    await rig.advance(3)
    assert rig.state("other") == "Succeeded"


async def test_a_create_without_a_response_is_found_done(rig: ControllerHarness) -> None:
    rig.fake.inject(Fault(commit=True, method="POST", path="/taskruns"))
    rig.fake.inject(Fault(commit=True, method="POST", path="/pods"))
    rig.create("run", python("a"))
    await rig.advance(10)
    assert rig.state("run") == "Succeeded"
    assert len(rig.fake.all(PODS)) == 1


async def test_a_failed_creation_in_the_middle_of_many_is_not_taken_for_a_deletion(rig: ControllerHarness) -> None:
    rig.fake.latency = 0.01
    refused = 0

    def on_write(request: object) -> None:
        nonlocal refused
        body = getattr(request, "body", None) or {}
        if refused < 3 and isinstance(body, dict) and body.get("spec", {}).get("mapIndex") == 2:
            refused += 1
            rig.fake.inject(Fault(status=503, method="POST", path="/taskruns"))

    rig.fake.on_write = on_write
    rig.create("run", python("load", expand=[{"name": "n", "over": list(range(6))}]))
    await rig.advance(30)
    assert refused == 3
    assert rig.state("run") == "Succeeded"


async def test_a_refused_taskrun_is_reported_on_the_workflow_and_retried(
    rig: ControllerHarness,
) -> None:
    fault = Fault(status=403, reason="Forbidden", method="POST", path="/taskruns", message="exceeded quota", times=2)
    rig.fake.inject(fault)
    rig.create("run", python("a"))
    await rig.advance(10)
    said = [event["note"] for event in rig.fake.all(EVENTS) if event["reason"] == "QuotaExceeded"]
    assert len(said) == 1
    assert "exceeded quota" in said[0]
    assert rig.taskrun("run", "a")["status"]["state"] == "Succeeded"


async def test_an_unexpected_error_of_one_workflow_does_not_stop_another(
    rig: ControllerHarness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    tries = 0

    def broken(snapshot: Snapshot) -> Plan:
        nonlocal tries
        if snapshot.workflow.metadata.name == "bad":
            tries += 1
            raise KeyError("a bug")
        return plan(snapshot)

    monkeypatch.setattr("torpor_operator.controller.reconciler.plan", broken)
    with caplog.at_level(logging.CRITICAL):
        rig.create("bad", python("a"))
        rig.create("good", python("a"))
        await rig.advance(60)
    assert rig.state("good") == "Succeeded"
    assert 4 <= tries <= 10


async def test_a_query_without_an_answer_is_an_expected_error(
    rig: ControllerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    rig.create("run", python("a"), python("b"), suspend=True)
    await rig.advance(2)
    rig.fake.edit(WORKFLOWS, NAMESPACE, "run", {"spec": {"suspend": False}})
    rig.script = lambda _task, _attempt: None
    rig.fake.inject(Fault(status=503, method="GET", path="/taskruns/", times=50))
    status = rig.workflow("run")["status"]
    entries = [entry | {"total": 1, "created": 1} for entry in status["tasks"]]
    rig.fake.edit(WORKFLOWS, NAMESPACE, "run", {"status": {"tasks": entries}})
    await rig.advance(60)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    await rig.advance(120)
    assert rig.state("run") == "Failed"


async def test_watches_that_break_and_fall_behind_lose_nothing(rig: ControllerHarness) -> None:
    mapped = python("load", expand=[{"name": "n", "over": list(range(12))}])
    rig.create("run", mapped, python("report", after=["load"]), parallelism=3)
    for _ in range(8):
        rig.fake.hold_watches()
        await rig.advance(0.3)
        rig.fake.release_watches()
        rig.fake.compact()
        rig.fake.end_watches()
        await rig.advance(1)
    await rig.advance(30)
    assert rig.state("run") == "Succeeded"
    assert len(rig.fake.all(TASKRUNS)) == 13


async def test_a_deleted_taskrun_is_noticed_at_once(rig: ControllerHarness) -> None:
    rig.create("run", {"name": "drop", "trigger": {"class": "http"}})
    await rig.advance(2)
    rig.fake.remove(TASKRUNS, NAMESPACE, rig.taskrun("run", "drop")["metadata"]["name"])
    await rig.advance(2)
    assert rig.state("run") == "Failed"
    assert rig.workflow("run")["status"]["tasks"][0]["reason"] == "Deleted"


async def test_a_pod_that_is_gone_is_noticed_at_once(rig: ControllerHarness) -> None:
    rig.create("run", container("count"))
    await rig.clock.advance(0.5)
    (pod,) = rig.fake.all(PODS)
    assert pod["spec"]["schedulingGates"] == []
    rig.fake.remove(PODS, NAMESPACE, pod["metadata"]["name"])
    await rig.clock.advance(2)
    assert rig.taskrun("run", "count")["status"]["reason"] == "Lost"


async def test_a_pod_whose_taskrun_is_gone_is_released(rig: ControllerHarness) -> None:
    rig.create("run", container("count"))
    await rig.clock.advance(2)
    assert rig.fake.all(PODS)[0]["metadata"]["finalizers"] == [constants.POD_FINALIZER]
    await rig.executor._api.delete(TASKRUNS, NAMESPACE, rig.taskrun("run", "count")["metadata"]["name"])
    await rig.clock.advance(3)
    assert rig.fake.all(PODS) == []


async def test_an_idle_controller_sends_no_requests(rig: ControllerHarness) -> None:
    rig.create("run", {"name": "drop", "trigger": {"class": "http"}})
    await rig.advance(5)
    before = len(rig.fake.writes())
    await rig.advance(50)
    assert len(rig.fake.writes()) == before


async def test_a_workflow_that_is_deleted_and_created_again_is_another_run(rig: ControllerHarness) -> None:
    rig.create("run", python("a"))
    await rig.advance(3)
    rig.fake.remove(WORKFLOWS, NAMESPACE, "run")
    await rig.advance(1)
    rig.create("run", python("a"))
    await rig.advance(3)
    assert rig.state("run") == "Succeeded"
    assert len(rig.writes("taskruns", "POST")) == 2


async def test_a_workflow_whose_deletion_was_missed_is_dropped_at_the_next_resync(rig: ControllerHarness) -> None:
    rig.create("run", python("a"))
    await rig.advance(5)
    body = rig.fake.get(WORKFLOWS, NAMESPACE, "run")
    assert body is not None
    rig.fake.remove(WORKFLOWS, NAMESPACE, "run")
    await rig.advance(1)
    rig.cache.store_workflow(body)
    assert rig.cache.workflows
    await rig.advance(Settings().resync + 1)
    assert not rig.cache.workflows

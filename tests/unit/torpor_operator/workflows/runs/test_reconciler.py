"""The whole controller in virtual time: runs end, errors are retried with backoff, and requests are bounded."""

import logging
from collections.abc import AsyncIterator

import pytest
from torpor_kubernetes.client.resources import EVENTS, PODS, TASKRUNS, WORKFLOWS
from torpor_operator.settings import Settings
from torpor_wire import constants

from tests.support.builders import NAMESPACE, container, python
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    async with ControllerHarness(Settings()).running() as running:
        yield running


async def test_two_tasks_run_to_completion(harness: ControllerHarness) -> None:
    harness.script = lambda task, _: '{"rows": 3}' if task == "list" else None
    harness.create("run", python("list"), python("load", args={"rows": "${tasks.list.result.rows}"}))
    await harness.advance(3)
    assert harness.state("run") == "Succeeded"
    assert harness.taskrun("run", "load")["spec"]["arguments"] == [{"name": "rows", "value": "3"}]
    assert harness.workflow("run")["metadata"]["finalizers"] == []


async def test_a_python_task_costs_the_operator_two_writes(harness: ControllerHarness) -> None:
    tasks = [python(f"t{number}") for number in range(10)]
    harness.create("run", *tasks)
    await harness.advance(5)
    assert harness.state("run") == "Succeeded"
    assert len(harness.writes("POST", "taskruns")) == 10
    assert len(harness.writes("POST", "pods")) == 10
    assert harness.writes("PATCH", "taskruns") == []
    assert len(harness.writes("PATCH", "workflows")) <= 6
    assert len(harness.fake.writes()) <= 10 + 10 + 6 + 1


async def test_a_status_is_written_at_most_once_in_its_interval(harness: ControllerHarness) -> None:
    mapped = python("load", expand=[{"name": "n", "over": list(range(60))}])
    harness.create("run", mapped, parallelism=1)
    await harness.advance(5)
    statuses = [request for request in harness.fake.writes() if request.path.endswith("/run/status")]
    assert 3 <= len(statuses) <= 8


async def test_retries_and_failures_run_to_completion(harness: ControllerHarness) -> None:
    def script(task: str, attempt: int) -> str | None:
        if task == "bad" or attempt == 1:
            raise RuntimeError(f"{task} broke in attempt {attempt}")
        return None

    harness.script = script
    retries = {"limit": 1, "delay": "5s"}
    harness.create(
        "run", python("good", retries=retries), python("bad", retries=retries), python("after", after=["bad"])
    )
    await harness.advance(10)
    status = harness.workflow("run")["status"]
    assert {entry["name"]: entry["state"] for entry in status["tasks"]} == {
        "good": "Succeeded",
        "bad": "Failed",
        "after": "UpstreamFailed",
    }
    notes = [event["note"] for event in harness.fake.all(EVENTS)]
    assert "bad broke in attempt 2" in notes
    assert len(notes) == len(set(notes))


async def test_a_deleted_run_is_cancelled_and_then_gone(harness: ControllerHarness) -> None:
    harness.create("run", {"name": "drop", "trigger": {"class": "http"}})
    await harness.advance(2)
    await harness.api.delete(WORKFLOWS, NAMESPACE, "run")
    await harness.advance(30)
    assert harness.fake.get(WORKFLOWS, NAMESPACE, "run") is not None
    await harness.advance(40)
    assert harness.fake.get(WORKFLOWS, NAMESPACE, "run") is None
    assert harness.fake.all(TASKRUNS) == []


async def test_a_finished_workflow_is_deleted_after_its_ttl(harness: ControllerHarness) -> None:
    harness.create("run", python("a"), ttlAfterFinished="60s")
    await harness.advance(50)
    assert harness.state("run") == "Succeeded"
    await harness.advance(15)
    assert harness.fake.all(WORKFLOWS) == harness.fake.all(TASKRUNS) == harness.fake.all(PODS) == []


async def test_a_conflict_on_every_patch_is_harmless_and_causes_no_retry_loop(harness: ControllerHarness) -> None:
    harness.create("run", {"name": "drop", "trigger": {"class": "http"}})
    harness.fake.inject(Fault(status=422, method="PATCH", path="/taskruns/", times=5))
    await harness.advance(20)
    assert len(harness.writes("PATCH", "taskruns")) <= 4
    assert harness.taskrun("run", "drop")["status"]["state"] == "Scheduled"
    await harness.advance(4 * Settings().resync)
    assert harness.taskrun("run", "drop")["status"]["state"] == "Deferred"
    assert len(harness.writes("PATCH", "taskruns")) == 6


async def test_an_unavailable_api_server_is_retried_with_backoff(harness: ControllerHarness) -> None:
    harness.fake.inject(Fault(status=503, method="POST", path="/taskruns", times=8))
    harness.create("run", python("a"))
    await harness.advance(30)
    assert 4 <= len(harness.writes("POST", "taskruns")) <= 8
    await harness.advance(120)
    assert harness.state("run") == "Succeeded"
    assert len(harness.writes("POST", "taskruns")) == 9


async def test_a_success_resets_the_backoff(harness: ControllerHarness) -> None:
    harness.fake.inject(Fault(status=503, method="POST", path="/taskruns", times=4))
    harness.create("run", python("a"), python("b", after=["a"]))
    await harness.advance(60)
    assert harness.state("run") == "Succeeded"
    harness.fake.inject(Fault(status=503, method="POST", path="/pods", times=1))
    harness.create("other", python("a"))
    await harness.advance(3)
    assert harness.state("other") == "Succeeded"


async def test_a_create_without_a_response_is_found_done(harness: ControllerHarness) -> None:
    harness.fake.inject(Fault(commit=True, method="POST", path="/taskruns"))
    harness.fake.inject(Fault(commit=True, method="POST", path="/pods"))
    harness.create("run", python("a"))
    await harness.advance(10)
    assert harness.state("run") == "Succeeded"
    assert len(harness.fake.all(PODS)) == 1


async def test_a_failed_creation_in_the_middle_of_many_is_not_taken_for_a_deletion(harness: ControllerHarness) -> None:
    harness.fake.latency = 0.01
    refused = 0

    def on_write(request: object) -> None:
        nonlocal refused
        body = getattr(request, "body", None) or {}
        if refused < 3 and isinstance(body, dict) and body.get("spec", {}).get("mapIndex") == 2:
            refused += 1
            harness.fake.inject(Fault(status=503, method="POST", path="/taskruns"))

    harness.fake.on_write = on_write
    harness.create("run", python("load", expand=[{"name": "n", "over": list(range(6))}]))
    await harness.advance(30)
    assert refused == 3
    assert harness.state("run") == "Succeeded"


async def test_a_refused_taskrun_is_reported_on_the_workflow_and_retried(
    harness: ControllerHarness,
) -> None:
    fault = Fault(status=403, reason="Forbidden", method="POST", path="/taskruns", message="exceeded quota", times=2)
    harness.fake.inject(fault)
    harness.create("run", python("a"))
    await harness.advance(10)
    notes = [event["note"] for event in harness.fake.all(EVENTS) if event["reason"] == "QuotaExceeded"]
    assert len(notes) == 1
    assert "exceeded quota" in notes[0]
    assert harness.taskrun("run", "a")["status"]["state"] == "Succeeded"


async def test_a_query_without_an_answer_is_an_expected_error(
    harness: ControllerHarness, caplog: pytest.LogCaptureFixture
) -> None:
    harness.create("run", python("a"), python("b"), suspend=True)
    await harness.advance(2)
    harness.fake.edit(WORKFLOWS, NAMESPACE, "run", {"spec": {"suspend": False}})
    harness.script = lambda _task, _attempt: None
    harness.fake.inject(Fault(status=503, method="GET", path="/taskruns/", times=50))
    status = harness.workflow("run")["status"]
    entries = [entry | {"total": 1, "created": 1} for entry in status["tasks"]]
    harness.fake.edit(WORKFLOWS, NAMESPACE, "run", {"status": {"tasks": entries}})
    await harness.advance(60)
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]
    await harness.advance(120)
    assert harness.state("run") == "Failed"


async def test_watches_that_break_and_fall_behind_lose_nothing(harness: ControllerHarness) -> None:
    mapped = python("load", expand=[{"name": "n", "over": list(range(12))}])
    harness.create("run", mapped, python("report", after=["load"]), parallelism=3)
    for _ in range(8):
        harness.fake.hold_watches()
        await harness.advance(0.3)
        harness.fake.release_watches()
        harness.fake.compact()
        harness.fake.end_watches()
        await harness.advance(1)
    await harness.advance(30)
    assert harness.state("run") == "Succeeded"
    assert len(harness.fake.all(TASKRUNS)) == 13


async def test_a_deleted_taskrun_is_noticed_at_once(harness: ControllerHarness) -> None:
    harness.create("run", {"name": "drop", "trigger": {"class": "http"}})
    await harness.advance(2)
    harness.fake.remove(TASKRUNS, NAMESPACE, harness.taskrun("run", "drop")["metadata"]["name"])
    await harness.advance(2)
    assert harness.state("run") == "Failed"
    assert harness.workflow("run")["status"]["tasks"][0]["reason"] == "Deleted"


async def test_a_pod_that_is_gone_is_noticed_at_once(harness: ControllerHarness) -> None:
    harness.create("run", container("count"))
    await harness.clock.advance(0.5)
    (pod,) = harness.fake.all(PODS)
    assert pod["spec"]["schedulingGates"] == []
    harness.fake.remove(PODS, NAMESPACE, pod["metadata"]["name"])
    await harness.clock.advance(2)
    assert harness.taskrun("run", "count")["status"]["reason"] == "Lost"


async def test_a_pod_whose_taskrun_is_gone_is_released(harness: ControllerHarness) -> None:
    harness.create("run", container("count"))
    await harness.clock.advance(2)
    assert harness.fake.all(PODS)[0]["metadata"]["finalizers"] == [constants.POD_FINALIZER]
    await harness.api.delete(TASKRUNS, NAMESPACE, harness.taskrun("run", "count")["metadata"]["name"])
    await harness.clock.advance(3)
    assert harness.fake.all(PODS) == []


async def test_an_idle_controller_sends_no_requests(harness: ControllerHarness) -> None:
    harness.create("run", {"name": "drop", "trigger": {"class": "http"}})
    await harness.advance(5)
    before = len(harness.fake.writes())
    await harness.advance(50)
    assert len(harness.fake.writes()) == before


async def test_a_workflow_that_is_deleted_and_created_again_is_another_run(harness: ControllerHarness) -> None:
    harness.create("run", python("a"))
    await harness.advance(3)
    harness.fake.remove(WORKFLOWS, NAMESPACE, "run")
    await harness.advance(1)
    harness.create("run", python("a"))
    await harness.advance(3)
    assert harness.state("run") == "Succeeded"
    assert len(harness.writes("POST", "taskruns")) == 2


async def test_a_workflow_whose_deletion_was_missed_is_dropped_at_the_next_resync(harness: ControllerHarness) -> None:
    harness.create("run", python("a"))
    await harness.advance(5)
    body = harness.fake.get(WORKFLOWS, NAMESPACE, "run")
    assert body is not None
    # A Workflow that the cache has seen and the API server no longer has, without a report of its deletion.
    vanished = {**body, "metadata": {**body["metadata"], "name": "vanished", "uid": "uid-vanished"}}
    harness.cache.store_workflow(vanished)
    assert [key.name for key in harness.cache.workflows] == ["run", "vanished"]
    await harness.advance(Settings().resync + 1)
    assert [key.name for key in harness.cache.workflows] == ["run"]

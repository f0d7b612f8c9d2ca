"""Bad input found late: a condition with a reason and an Event on the object, within seconds; nobody else disturbed.

What the API server refuses at once is tried by the integration tests; here is what only a running cluster can find.
"""

import pytest
from torpor_crds.models.taskrun import TaskRun
from torpor_kubernetes.client.errors import ApiError
from torpor_wire import times
from torpor_wire.state import State

from tests.e2e.support import concurrent_runs as runs
from tests.e2e.support.stage import TIMEOUT, ClusterFixture, condition
from tests.support.machine import slowness

_LEASE = 15.0
"""Seconds until another operator leads: other tests kill the one that does."""


@pytest.mark.parametrize("name", runs.FAILING)
async def test_a_task_that_cannot_go_well_says_why_on_its_taskrun(busy_stage: ClusterFixture, name: str) -> None:
    reason = runs.FAILING[name][1]
    workflow = await busy_stage.ended(name)
    (run,) = await busy_stage.taskruns(name)
    assert (run.status.state, condition(run)) == (State.FAILED, ("False", reason)), run.status.message
    assert run.status.message
    assert await busy_stage.event(run.metadata.uid, reason)
    assert condition(workflow) == ("False", reason)
    assert run.metadata.name in next(entry.message for entry in workflow.status.conditions if entry.type == "Succeeded")


@pytest.mark.parametrize("name", runs.INVALID)
async def test_a_workflow_that_cannot_go_on_says_why_on_itself(busy_stage: ClusterFixture, name: str) -> None:
    reason = runs.INVALID[name][1]
    workflow = await busy_stage.ended(name)
    assert condition(workflow) == ("False", reason), workflow.status.conditions
    assert condition(workflow, "Stalled") == ("True", reason)
    assert next(entry.message for entry in workflow.status.conditions if entry.type == "Succeeded")
    assert await busy_stage.event(workflow.metadata.uid, reason)


async def test_retries_are_used_up_where_they_may_help_and_not_where_they_cannot(busy_stage: ClusterFixture) -> None:
    attempts = {}
    for name in ("raises", "gives-up", "no-argument"):
        await busy_stage.ended(name)
        attempts[name] = (await busy_stage.taskruns(name))[0].status.attempt
    assert attempts == {"raises": 2, "gives-up": 1, "no-argument": 1}


async def test_a_traceback_is_in_the_pods_log_and_its_last_line_on_the_taskrun(busy_stage: ClusterFixture) -> None:
    await busy_stage.ended("raises")
    (run,) = await busy_stage.taskruns("raises")
    assert run.status.message is not None
    assert "ValueError: the day has no files" in run.status.message
    assert run.status.pod is not None
    log = await busy_stage.log(run.status.pod.name)
    assert "Traceback" in log
    assert "the day has no files" in log


async def test_what_a_container_said_before_it_failed_is_on_the_taskrun(busy_stage: ClusterFixture) -> None:
    await busy_stage.ended("exits")
    (run,) = await busy_stage.taskruns("exits")
    assert "exit code 3" in (run.status.message or "")
    assert "no more tea" in (run.status.message or "")


async def test_an_image_that_cannot_be_pulled_is_reported_and_fails_after_a_grace(busy_stage: ClusterFixture) -> None:
    async def pull_failed() -> TaskRun | None:
        return next(
            (run for run in await busy_stage.taskruns(runs.STUCK) if run.status.reason == "ImagePullFailed"), None
        )

    run = await busy_stage.until(pull_failed, TIMEOUT, "the TaskRun to say that its image cannot be pulled")
    assert "registry.invalid/no-such-image:1" in (run.status.message or "")
    assert await busy_stage.event(run.metadata.uid, "ImagePullFailed")
    workflow = await busy_stage.ended(runs.STUCK)
    assert condition(workflow) == ("False", "ImagePullFailed")


async def test_a_broken_run_is_reported_within_seconds(busy_stage: ClusterFixture) -> None:
    for name in ("no-module", "result-not-json", "task-trigger-unknown"):
        await busy_stage.ended(name)
        (run,) = await busy_stage.taskruns(name)
        began = run.status.started_at or run.metadata.creation_timestamp
        assert times.epoch(run.status.completion_time or "") - times.epoch(began) < _LEASE + 10 * slowness(), name


async def test_the_spec_of_a_running_workflow_cannot_be_edited(stage: ClusterFixture) -> None:
    await stage.start("running", runs.spec(runs.wait("it", "5s")))
    with pytest.raises(ApiError, match="cannot change"):
        await stage.edit("running", "triggerPool", "another")
    with pytest.raises(ApiError, match="cannot change"):
        await stage.edit("running", "tasks/0/trigger/kwargs/duration", "1s")
    await stage.edit("running", "parallelism", 7)
    assert (await stage.ended("running")).status.state == "Succeeded"

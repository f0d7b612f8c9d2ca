"""Schedules on the cluster: ticks, a run on request, a chain, a template, and deletion. The runs have real pods."""

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from torpor_crds.models import schedule as schedules
from torpor_crds.models import workflow as workflows
from torpor_crds.models.schedule import Schedule
from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client.errors import ApiError, NotFound
from torpor_kubernetes.client.resources import SCHEDULES, TASKRUNS, TEMPLATES, WORKFLOWS
from torpor_wire import constants
from torpor_wire.state import State

from tests.e2e.support.concurrent_runs import IMAGE, python, spec, wait
from tests.e2e.support.stage import TIMEOUT, ClusterFixture
from tests.support.manifests import manifest

NEVER = {"name": "never", "cron": "0 0 29 2 *"}
"""A source whose tick does not come during a test."""
EVERY_5_S = {"name": "tick", "cron": "*/5 * * * * *"}


async def create(stage: ClusterFixture, name: str, *sources: dict[str, Any], **fields: Any) -> None:
    body = manifest(
        "Schedule",
        name,
        {"sources": list(sources), "history": {"succeeded": 20, "failed": 20}, **fields},
        namespace=stage.namespace,
    )
    await stage.api.create(SCHEDULES, stage.namespace, body)


async def read(stage: ClusterFixture, name: str) -> Schedule:
    return schedules.parse(await stage.api.get(SCHEDULES, stage.namespace, name))


async def runs(stage: ClusterFixture, schedule: str) -> list[Workflow]:
    """The runs of a Schedule, the oldest event first."""
    selector = f"{constants.LABEL_SCHEDULE}={schedule}"
    items = map(workflows.parse, (await stage.api.list(WORKFLOWS, stage.namespace, label_selector=selector)).items)
    return sorted(items, key=lambda run: run.spec.run_of.at if run.spec.run_of else "")


async def ended(stage: ClusterFixture, schedule: str, count: int) -> list[Workflow]:
    """The first runs of a Schedule, once so many have ended."""

    async def over() -> list[Workflow] | None:
        first = (await runs(stage, schedule))[:count]
        return first if len(first) == count and all(run.status.completion_time for run in first) else None

    return await stage.until(over, TIMEOUT, f"{count} runs of {schedule} to end")


async def reached(stage: ClusterFixture, name: str, holds: Callable[[Schedule], bool], what: str) -> Schedule:
    async def there() -> Schedule | None:
        schedule = await read(stage, name)
        return schedule if holds(schedule) else None

    return await stage.until(there, TIMEOUT, f"{name} {what}")


async def edit(stage: ClusterFixture, name: str, field: str, value: Any) -> None:
    await stage.api.patch(SCHEDULES, stage.namespace, name, [{"op": "add", "path": f"/spec/{field}", "value": value}])


async def annotate(stage: ClusterFixture, name: str, value: str) -> None:
    await stage.api.patch(
        SCHEDULES,
        stage.namespace,
        name,
        [
            {"op": "add", "path": "/metadata/annotations", "value": {constants.RUN_NOW: value}},
        ],
    )


async def result(stage: ClusterFixture, run: Workflow, task: str = "it") -> Any:
    (taskrun,) = await stage.taskruns(run.metadata.name, task)
    return json.loads(taskrun.status.result or "null")


async def test_each_tick_starts_one_run_that_knows_its_time(stage: ClusterFixture) -> None:
    echoed = python("it", "echo", args={"value": "${run.at} ${run.schedule} ${run.source}"})
    await create(stage, "often", EVERY_5_S, workflow=spec(echoed), concurrencyPolicy="Allow")
    first = await ended(stage, "often", 3)
    await edit(stage, "often", "suspend", True)
    assert {run.status.state for run in first} == {"Succeeded"}
    ticks = [run.spec.run_of.at for run in first if run.spec.run_of]
    moments = [datetime.fromisoformat(tick) for tick in ticks]
    assert [moment.second % 5 for moment in moments] == [0, 0, 0]
    assert len(set(moments)) == 3
    assert [await result(stage, run) for run in first] == [f"{tick} often tick" for tick in ticks]
    paused = await reached(stage, "often", lambda it: it.status.suspended, "to be suspended")
    assert paused.status.started == len(await runs(stage, "often"))
    assert paused.status.missed is None


async def test_forbid_starts_no_run_beside_an_active_one(stage: ClusterFixture) -> None:
    await create(stage, "one", EVERY_5_S, workflow=spec(wait("it", "1h")))
    skipped = await reached(stage, "one", lambda it: it.status.skipped >= 2, "to skip two ticks")
    (active,) = await runs(stage, "one")
    assert (skipped.status.started, skipped.status.active) == (1, 1)
    note = await stage.event(skipped.metadata.uid, "EventSkipped")
    assert active.metadata.name in note


async def test_an_annotation_starts_a_run_of_a_template_with_its_params(stage: ClusterFixture) -> None:
    await _template(stage)
    params = {"word": "from the schedule", "number": 7}
    await create(stage, "report", NEVER, templateRef={"name": "echo"}, params=params)
    await reached(stage, "report", lambda it: it.status.next is not None, "to wait for its tick")
    await annotate(stage, "report", json.dumps({"id": "again", "params": {"word": "by hand"}}))
    (run,) = await ended(stage, "report", 1)
    assert await result(stage, run) == {"word": "by hand", "number": 7, "fixed": "constant"}
    assert run.spec.template_ref is not None
    assert run.spec.template_ref.name == "echo"
    schedule = await reached(
        stage, "report", lambda it: constants.RUN_NOW not in it.metadata.annotations, "to lose the annotation"
    )
    assert schedule.status.last_run is not None
    assert schedule.status.last_run.name == run.metadata.name

    await annotate(stage, "report", json.dumps({"id": "again", "params": {"word": "by hand"}}))
    await reached(stage, "report", lambda it: constants.RUN_NOW not in it.metadata.annotations, "to accept it again")
    assert len(await runs(stage, "report")) == 1


async def test_a_run_of_a_template_goes_on_without_it(stage: ClusterFixture) -> None:
    await _template(stage)
    await _run_of_template(stage, "mine", {"word": "mine"})
    await stage.reached("mine", "pause", State.DEFERRED)
    await stage.api.delete(TEMPLATES, stage.namespace, "echo")
    run = await stage.ended("mine")
    assert await result(stage, run) == {"word": "mine", "number": 1, "fixed": "constant"}

    await _run_of_template(stage, "early", {"word": "early"}, template="later")

    async def waits() -> bool | None:
        conditions = (await stage.workflow("early")).status.conditions
        return True if any(item.reason == "TemplateNotFound" for item in conditions) else None

    await stage.until(waits, TIMEOUT, "the run to wait for its template")
    await _template(stage, "later")
    assert (await stage.ended("early")).status.state == "Succeeded"
    with pytest.raises(ApiError, match="param number must be an integer"):
        await _run_of_template(stage, "wrong", {"word": "wrong", "number": "seven"}, template="later")


async def test_the_end_of_a_run_starts_the_next_schedule(stage: ClusterFixture) -> None:
    await create(stage, "first", NEVER, workflow=spec(python("it", "echo", args={"value": 1})))
    kwargs = {"labels": {constants.LABEL_SCHEDULE: "first"}, "state": "succeeded"}
    source = {"name": "done", "trigger": {"class": "workflow", "kwargs": kwargs}}
    follower = spec(python("it", "echo", args={"value": "${params.of}"}))
    params = {"of": "${event.name}"}
    await create(stage, "second", source, workflow=follower, params=params, concurrencyPolicy="Queue")
    await reached(stage, "second", _is_ready, "to be ready")
    for count in (1, 2):
        await annotate(stage, "first", f"request {count}")
        await ended(stage, "first", count)
        await ended(stage, "second", count)
    followed = {await result(stage, run) for run in await runs(stage, "second")}
    assert followed == {run.metadata.name for run in await runs(stage, "first")}


@pytest.mark.parametrize("policy", ["Orphan", "Delete"])
async def test_the_deletion_policy_decides_whether_the_runs_go(stage: ClusterFixture, policy: str) -> None:
    await create(stage, "gone", NEVER, workflow=spec(wait("it", "1h")), deletionPolicy=policy)
    await reached(stage, "gone", lambda it: it.status.next is not None, "to wait for its tick")
    await annotate(stage, "gone", "now")
    schedule = await reached(stage, "gone", lambda it: it.status.active == 1, "to have a run")
    await stage.api.delete(SCHEDULES, stage.namespace, "gone")

    async def is_gone() -> bool | None:
        try:
            await read(stage, "gone")
        except NotFound:
            return True
        return None

    await stage.until(is_gone, TIMEOUT, "the Schedule to be gone")
    left = [run for run in await runs(stage, "gone") if run.metadata.deletion_timestamp is None]
    assert len(left) == (1 if policy == "Orphan" else 0)

    async def sources_gone() -> bool | None:
        page = await stage.api.list(TASKRUNS, stage.namespace, label_selector=f"{constants.LABEL_SCHEDULE}=gone")
        owned = [item for item in page.items if item["metadata"]["ownerReferences"][0]["uid"] == schedule.metadata.uid]
        return None if owned else True

    await stage.until(sources_gone, TIMEOUT, "the TaskRun of the source to be gone")


async def test_the_api_server_rejects_a_mistyped_expression(stage: ClusterFixture) -> None:
    with pytest.raises(ApiError, match="cron"):
        await create(stage, "wrong", {"name": "tick", "cron": "every day"}, workflow=spec(wait("it", "1s")))


def _is_ready(schedule: Schedule) -> bool:
    return any(condition.type == "Ready" and condition.status == "True" for condition in schedule.status.conditions)


async def _run_of_template(stage: ClusterFixture, name: str, params: dict[str, Any], template: str = "echo") -> None:
    body = manifest("Workflow", name, {"templateRef": {"name": template}, "params": params}, namespace=stage.namespace)
    await stage.api.create(WORKFLOWS, stage.namespace, body)


async def _template(stage: ClusterFixture, name: str = "echo") -> None:
    arguments = {"word": "${params.word}", "number": "${params.number}", "fixed": "${params.fixed}"}
    body = manifest(
        "WorkflowTemplate",
        name,
        {
            "params": [
                {"name": "word", "required": True, "pattern": "[a-z ]+"},
                {"name": "number", "type": "integer", "default": 1},
            ],
            "workflow": {
                "image": IMAGE,
                "runtime": "Image",
                "params": {"fixed": "constant"},
                "tasks": [wait("pause", "5s"), python("it", "collect", args=arguments, after=["pause"])],
            },
        },
        namespace=stage.namespace,
    )
    await stage.api.create(TEMPLATES, stage.namespace, body)

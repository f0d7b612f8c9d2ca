"""Runs in runs with the whole controller in virtual time: lost answers, deletions, and what a name refers to."""

from collections.abc import AsyncIterator

import pytest
from torpor_crds.models import taskrun as taskruns
from torpor_kubernetes.client.resources import EVENTS, TASKRUNS, TEMPLATES, WORKFLOWS
from torpor_operator.settings import Settings
from torpor_operator.taskrun.child_run import child_name
from torpor_wire import transitions

from tests.support.builders import NAMESPACE, Body, python, run_of
from tests.support.controller_harness import ControllerHarness
from tests.support.fake_api import Fault
from tests.support.templates import cases as template_cases

CHILD: Body = {"image": "i", "tasks": [python("step")], "ttlAfterFinished": "0s"}


@pytest.fixture
async def harness() -> AsyncIterator[ControllerHarness]:
    harness = ControllerHarness(Settings())
    harness.fake.serve(TEMPLATES)
    body = template_cases.template([], CHILD)
    harness.fake.put(TEMPLATES, body | {"metadata": {"name": "child", "namespace": NAMESPACE}})
    async with harness.running() as running:
        yield running


def children(harness: ControllerHarness) -> list[Body]:
    return [body for body in harness.stored(WORKFLOWS) if "parent" in body["spec"]]


def state(harness: ControllerHarness, task: str = "load") -> str:
    return str(harness.taskrun("outer", task)["status"]["state"])


def succeed(harness: ControllerHarness, task: str = "load") -> None:
    """The triggerer sees the end of the run."""
    run = taskruns.parse(harness.taskrun("outer", task))
    harness.patch_taskrun(run.metadata.name, transitions.succeed(run.pin(), "1", now=harness.clock.now()))


async def test_a_task_is_one_run_that_is_kept_until_its_end_was_seen(harness: ControllerHarness) -> None:
    harness.create("outer", run_of("load"))
    await harness.advance(30)
    (child,) = children(harness)
    assert (child["status"]["state"], state(harness)) == ("Succeeded", "Deferred")
    succeed(harness)
    await harness.advance(3)
    assert harness.state("outer") == "Succeeded"
    assert children(harness) == [], "its TTL counts from here"


@pytest.mark.parametrize("commit", [True, False])
async def test_a_lost_answer_leaves_one_run(harness: ControllerHarness, commit: bool) -> None:
    harness.fake.inject(Fault(commit=commit, method="POST", path="/workflows", times=2))
    harness.create("outer", run_of("load"))
    await harness.advance(30)
    assert len(children(harness)) == 1
    assert state(harness) == "Deferred"


async def test_a_cleared_task_deletes_its_run_and_starts_another(harness: ControllerHarness) -> None:
    harness.create("outer", run_of("load"))
    await harness.advance(5)
    (first,) = children(harness)
    harness.fake.edit(WORKFLOWS, NAMESPACE, "outer", {"metadata": {"annotations": {"torpor.dev/clear": "load"}}})
    await harness.advance(30)
    (second,) = children(harness)
    assert first["metadata"]["name"] != second["metadata"]["name"]
    assert state(harness) == "Deferred"


async def test_a_foreign_workflow_of_the_name_is_reported(harness: ControllerHarness) -> None:
    harness.fake.inject(Fault(status=503, method="POST", path="/workflows", times=3))
    harness.create("outer", run_of("load"))
    await harness.advance(0.3)
    name = child_name(taskruns.parse(harness.taskrun("outer", "load")))
    harness.create(name, python("other"))
    await harness.advance(5)
    assert state(harness) == "Scheduled"
    message = f"Workflow {name} cannot be created: a Workflow named {name} exists that is not the run of this task"
    assert any(event["note"].startswith(message) for event in harness.fake.all(EVENTS))
    harness.fake.remove(WORKFLOWS, NAMESPACE, name)
    await harness.advance(60)
    assert state(harness) == "Deferred"


async def test_the_deletion_of_the_outer_run_leaves_nothing(harness: ControllerHarness) -> None:
    harness.create("outer", run_of("load"))
    await harness.advance(1)
    harness.fake.objects.delete(harness.fake.objects.address(WORKFLOWS, NAMESPACE, "outer"), {})
    for _ in range(60):
        await harness.advance(2)
        for body in harness.stored(TASKRUNS):
            run = taskruns.parse(body)
            if run.status.cancel is not None:
                harness.patch_taskrun(
                    run.metadata.name, transitions.cancel(run.pin(), message="", now=harness.clock.now())
                )
        if not harness.stored(WORKFLOWS):
            break
    assert harness.stored(WORKFLOWS) == []
    assert harness.stored(TASKRUNS) == []


async def test_a_run_that_was_deleted_by_hand_fails_its_task(harness: ControllerHarness) -> None:
    harness.create("outer", run_of("load"))
    await harness.advance(3)
    (child,) = children(harness)
    harness.fake.remove(WORKFLOWS, NAMESPACE, child["metadata"]["name"])
    await harness.advance(5)
    status = harness.taskrun("outer", "load")["status"]
    assert (status["state"], status["reason"]) == ("Failed", "RunDeleted")
    assert harness.state("outer") == "Failed"

"""`workflow` and `taskrun`: the end of another run."""

import json
from typing import Any

import pytest
from torpor.triggers import TaskRunEnd, WorkflowEnd
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS, Resource
from torpor_wire.state import TERMINAL, State, succeeded_condition

from tests.support.triggerer_fixture import TriggererFixture, triggerer_fixture

KINDS = {"workflow": WORKFLOWS, "taskrun": TASKRUNS}


def set_state(world: TriggererFixture, resource: Resource, state: str, **status: Any) -> None:
    """A run named `other` that is in this state, begun or changed."""
    fields = {"reason": status.pop("reason", None), "message": status.pop("message", None)}
    words = {"Succeeded": "True", "Failed": "False", "Cancelled": "False"}
    condition = {"type": "Succeeded", "status": words.get(state, "Unknown"), **{k: v for k, v in fields.items() if v}}
    body = {"status": {"state": state, "conditions": [condition], **status}}
    if world.fake.get(resource, "workflows", "other") is None:
        world.fake.put(resource, {"metadata": {"name": "other", "namespace": "workflows"}, **body})
    else:
        world.fake.edit(resource, "workflows", "other", body)


async def event_of(world: TriggererFixture, class_name: str, **status: Any) -> dict[str, Any]:
    """The event of a wait for a run that ends so."""
    world.taskrun("a", class_name, {"name": "other"})
    await world.start()
    set_state(world, KINDS[class_name], "Running")
    await world.settle()
    assert world.state_and_reason("a")[0] == "Deferred"
    set_state(world, KINDS[class_name], **status)
    await world.settle()
    document: dict[str, Any] = json.loads(world.status("a")["event"])
    assert document.pop("uid") == (world.fake.get(KINDS[class_name], "workflows", "other") or {})["metadata"]["uid"]
    return document


@pytest.mark.parametrize("class_name", ["workflow", "taskrun"])
async def test_it_fires_at_every_end_with_state_reason_and_message(class_name: str) -> None:
    async with triggerer_fixture() as world:
        event = await event_of(world, class_name, state="Failed", reason="TaskFailed", message="load: no such file")
        assert event == {
            "name": "other",
            "state": "Failed",
            "reason": "TaskFailed",
            "message": "load: no such file",
        }


@pytest.mark.parametrize("class_name", ["workflow", "taskrun"])
async def test_the_result_of_a_run_is_in_its_event(class_name: str) -> None:
    async with triggerer_fixture() as world:
        event = await event_of(world, class_name, state="Succeeded", result='{"rows":[1,2.5,null]}')
        assert (event["state"], event["result"]) == ("Succeeded", {"rows": [1, 2.5, None]})


async def test_a_result_that_does_not_fit_is_left_out_and_said_to_be() -> None:
    async with triggerer_fixture() as world:
        event = await event_of(world, "taskrun", state="Succeeded", result=json.dumps("x" * 5000))
        assert "result" not in event
        assert event["truncated"] is True


async def test_a_result_in_the_archive_is_left_out_and_said_to_be() -> None:
    async with triggerer_fixture() as world:
        event = await event_of(world, "workflow", state="Succeeded", stored={"size": 9000, "digest": "d"})
        assert ("result" in event, event["truncated"]) == (False, True)


async def test_one_that_has_ended_before_is_not_waited_for() -> None:
    async with triggerer_fixture() as world:
        set_state(world, WORKFLOWS, "Succeeded")
        world.taskrun("a", "workflow", {"name": "other", "state": "succeeded"})
        await world.start()
        assert world.state_and_reason("a")[0] == "Scheduled"


@pytest.mark.parametrize("class_name", ["workflow", "taskrun"])
async def test_one_that_was_to_succeed_and_did_not_fails_the_wait(class_name: str) -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", class_name, {"name": "other", "state": "succeeded"})
        await world.start()
        set_state(world, KINDS[class_name], "Cancelled", reason="Cancelled", message="spec.cancel was set")
        await world.settle()
        assert world.state_and_reason("a") == ("Failed", "TriggerFailed")
        assert "other has cancelled: Cancelled: spec.cancel was set" in world.status("a")["message"]


@pytest.mark.parametrize(
    ("states", "message"),
    [([], "Workflow other does not exist"), (["Running", "Finishing"], "Workflow other is Finishing")],
)
async def test_a_wait_that_times_out_says_the_state_of_the_workflow(states: list[str], message: str) -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", "workflow", {"name": "other"}, timeout=60)
        await world.start()
        for state in states:
            set_state(world, WORKFLOWS, state)
            await world.settle()
        await world.pass_time(61)
        assert message in world.status("a")["message"]


async def test_a_taskrun_that_waits_for_itself_fails() -> None:
    async with triggerer_fixture() as world:
        world.taskrun("a", "taskrun", {"name": "a"})
        await world.start()
        assert world.state_and_reason("a") == ("Failed", "TriggerInvalid")
        assert "cannot wait for its own end" in world.status("a")["message"]


@pytest.mark.parametrize("state", State)
def test_the_condition_that_says_the_end_is_the_one_that_is_written(state: State) -> None:
    ends = state in TERMINAL
    written = [succeeded_condition(state, completed="2026-01-01T00:00:00Z", reason=None, message=None)] if ends else []
    waiting = TaskRunEnd("other")
    ended = waiting._event({"metadata": {}, "status": {"state": state.value, "conditions": written}}) is not None
    assert ended is (state in TERMINAL)


def test_only_what_was_given_is_stored() -> None:
    assert WorkflowEnd("run").serialize() == ("workflow", {"name": "run"})
    assert TaskRunEnd("run", state="succeeded").serialize() == ("taskrun", {"name": "run", "state": "succeeded"})


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"name": ""}, ValueError, "name has 0 characters"),
        ({"name": 1}, TypeError, "name must be text"),
        ({"state": "Failed"}, ValueError, "state must be succeeded, or omitted"),
        ({"state": []}, ValueError, "state must be succeeded, or omitted"),
    ],
)
def test_what_makes_no_sense_is_refused(kwargs: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        WorkflowEnd(**{"name": "run", **kwargs})

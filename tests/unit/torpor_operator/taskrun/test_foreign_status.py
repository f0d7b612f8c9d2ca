"""Statuses that another client wrote or that are stale: the run still ends."""

import copy

import pytest
from torpor_operator.model.actions import PatchTaskRun, RemovePodFinalizer
from torpor_operator.model.pod import parse_pod, pod_name
from torpor_wire import constants, transitions
from torpor_wire.canonical import Json
from torpor_wire.state import State

from tests.support.builders import Body, container, python
from tests.support.plan_fixture import PlanFixture

FIELDS: list[Body] = [
    {"made": "9-1"},
    {"made": "-"},
    {"skips": "1-2-3"},
    {"made": "0-999999999"},
    {"skips": "999999999"},
    {"created": 2**31 - 1},
    {"total": 2**31 - 1, "created": 1},
]


def begun() -> PlanFixture:
    """A mapped task in the middle."""
    return PlanFixture(python("load", expand=[{"name": "n", "over": [1, 2, 3]}])).settle()


def scribble(world: PlanFixture, fields: Body) -> None:
    (entry,) = world.workflow["status"]["tasks"]
    entry.update(fields)


@pytest.mark.parametrize("fields", FIELDS)
def test_an_invalid_status_ends_the_run_with_a_message(fields: Body) -> None:
    world = begun()
    scribble(world, fields)
    world.settle()
    assert world.condition()[:2] == ("False", "StatusInvalid")
    assert "load" in world.condition()[2]
    assert {str(world.state("load", index)) for index in range(3)} == {"Cancelled"}


@pytest.mark.parametrize("fields", FIELDS)
def test_a_run_with_an_invalid_status_can_be_deleted(fields: Body) -> None:
    world = begun()
    scribble(world, fields)
    world.delete()
    world.settle()
    assert world.api.deleted


@pytest.mark.parametrize("fields", FIELDS)
def test_a_clearing_does_not_accept_an_invalid_status(fields: Body) -> None:
    world = begun()
    for index in range(3):
        world.fail("load", index=index)
    scribble(world, fields)
    world.workflow["metadata"]["annotations"] = {constants.CLEAR: "failed"}
    world.settle()
    assert constants.CLEAR not in world.workflow["metadata"]["annotations"]


@pytest.mark.parametrize("text", ["{", "[NaN]", "[1e999]", "[" * 8_000])
def test_a_list_that_is_not_json_fails_the_task_that_is_mapped_over_it(text: str) -> None:
    world = PlanFixture(python("list"), python("load", expand=[{"name": "n", "over": "${tasks.list.result}"}])).settle()
    world.succeed("list", text)
    assert world.tasks() == {"list": "Succeeded", "load": "Failed"}
    assert world.task("load").message


@pytest.mark.parametrize("text", ["{", "[" * 8_000])
def test_results_that_are_not_json_fail_the_task_that_is_mapped_over_them(text: str) -> None:
    over = "${tasks.first.results}"
    first = python("first", expand=[{"name": "n", "over": [1]}])
    world = PlanFixture(first, python("load", expand=[{"name": "n", "over": over}])).settle()
    world.succeed("first", text, index=0)
    assert world.tasks() == {"first": "Succeeded", "load": "Failed"}
    assert world.task("load").message


@pytest.mark.parametrize("text", ["NaN", "1e999"])
def test_an_argument_that_is_not_json_fails_the_task_that_takes_it(text: str) -> None:
    world = PlanFixture(python("first"), python("load", args={"x": "${tasks.first.result}"})).settle()
    world.succeed("first", text)
    assert world.tasks() == {"first": "Succeeded", "load": "Failed"}


@pytest.mark.parametrize("text", ["{", "7", '["a"]', '["a", 1]', "[" * 8_000])
def test_invalid_keys_of_an_archived_object_fail_the_task(text: str) -> None:
    world = PlanFixture(python("list"), python("load", expand=[{"name": "n", "over": "${tasks.list.result}"}])).settle()
    stored: Json = {"size": 9_000, "digest": "d", "type": "object", "length": 2, "keys": text}
    world.claim("list")
    run = world.run("list")
    world.api.patch(run, transitions.succeed(run.pin(), None, now=world.now, stored=stored))
    world.write_pod("list", -1, {"phase": "Succeeded"})
    world.settle()
    assert world.tasks() == {"list": "Succeeded", "load": "Failed"}
    assert world.task("load").message


def test_a_claimed_container_keeps_its_finalizer_while_the_cache_lags() -> None:
    world = PlanFixture(container("load"))
    world.apply(world.plan())
    world.apply(world.plan())
    before_the_claim = copy.deepcopy(world.taskruns)
    world.settle()
    pod = world.pods[pod_name(world.run("load"))]
    assert not parse_pod(pod).gated
    world.taskruns.clear()
    world.taskruns.update(before_the_claim)
    assert world.state("load") is State.SCHEDULED
    pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert [action for action in world.plan().actions if isinstance(action, RemovePodFinalizer)] == []


def test_a_taskrun_that_appears_after_the_end_of_its_run_is_cancelled() -> None:
    world = PlanFixture(python("a")).settle()
    late = copy.deepcopy(world.taskruns)
    world.succeed("a")
    world.taskruns.update(late)
    assert world.state("a") is State.SCHEDULED
    assert world.settle().state("a") is State.CANCELLED


def test_an_explanation_of_a_pod_pins_its_launch() -> None:
    world = PlanFixture(container("load")).settle()
    world.pods.clear()
    failed = [action.patch for action in world.plan().actions if isinstance(action, PatchTaskRun)]
    assert {"op": "test", "path": "/status/launch", "value": 0} in failed[0]

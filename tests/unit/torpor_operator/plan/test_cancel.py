"""Ending a run before its tasks have ended: spec.cancel, deletion, and the run's own timeout."""

import pytest
from torpor_operator.settings import Settings
from torpor_wire import constants, transitions
from torpor_wire.state import State

from tests.support.builders import NOW, python, wait
from tests.support.plan_world import World

GRACE = Settings().triggerer_grace


def test_cancel_ends_tasks_in_every_state_and_starts_nothing() -> None:
    retried = python("retried", retries={"limit": 1})
    tasks = [python("scheduled"), python("running"), retried, python("ended"), python("next", after=["running"])]
    world = World(*tasks).settle().succeed("ended").fail("retried")
    world.claim("running")
    world.change(cancel=True)
    assert world.tasks() == {
        "scheduled": "Cancelled",
        "running": "Cancelled",
        "retried": "Cancelled",
        "ended": "Succeeded",
        "next": "Cancelled",
    }
    assert [name for name in ("scheduled", "running", "retried") if world.live_pods(name)] == []
    assert not world.has("next")
    assert world.run("running").status.message == "spec.cancel was set"
    assert world.condition() == ("False", "Cancelled", "spec.cancel was set")


def test_a_wait_is_asked_to_end_and_left_to_its_triggerer() -> None:
    world = World(wait("drop"), python("a")).settle().change(cancel=True)
    assert world.state("drop") is State.DEFERRED
    assert world.run("drop").status.cancel is not None
    assert world.status.state == "Cancelling"
    assert world.status.completion_time is None
    run = world.run("drop")
    world.api.patch(run, transitions.cancel(run.pin(), message="on_kill has run", now=world.now))
    world.settle()
    assert world.condition()[:2] == ("False", "Cancelled")


def test_a_wait_that_no_triggerer_ends_is_ended_by_the_operator_after_a_grace() -> None:
    world = World(wait("drop")).settle().change(cancel=True)
    assert world.plan().again_at == NOW + GRACE
    assert world.advance(GRACE - 1).state("drop") is State.DEFERRED
    assert world.advance(1).state("drop") is State.CANCELLED
    assert world.run("drop").status.message == "spec.cancel was set (no triggerer answered)"
    assert world.status.completion_time is not None


def test_a_wait_that_fires_while_it_is_asked_to_end_is_cancelled_without_a_pod() -> None:
    world = World(python("a")).settle().defer("a").change(cancel=True).fire("a")
    assert world.state("a") is State.CANCELLED
    assert world.live_pods("a") == []


def test_a_deleted_run_cancels_first_and_then_lets_go() -> None:
    world = World(python("a"), wait("drop")).settle()
    world.claim("a")
    world.delete()
    world.settle()
    assert world.state("a") is State.CANCELLED
    assert not world.api.deleted
    world.advance(GRACE)
    assert world.state("drop") is State.CANCELLED
    assert world.api.deleted


def test_a_finished_run_is_deleted_without_further_ado() -> None:
    world = World(python("a")).settle().succeed("a")
    assert world.workflow["metadata"]["finalizers"] == []
    world.delete()
    assert world.api.deleted


def test_a_run_takes_its_finalizer_before_it_starts_anything() -> None:
    world = World(python("a"))
    world.workflow["metadata"]["finalizers"] = ["example.org/other"]
    world.apply(world.plan())
    assert world.workflow["metadata"]["finalizers"] == ["example.org/other", constants.FINALIZER]
    assert world.taskruns == {}
    assert world.settle().succeed("a").workflow["metadata"]["finalizers"] == ["example.org/other"]


def test_a_run_deleted_before_it_began_starts_nothing() -> None:
    world = World(python("a"))
    world.workflow["metadata"]["finalizers"] = ["example.org/other"]
    world.delete()
    world.settle()
    assert world.taskruns == {}
    assert constants.FINALIZER not in world.workflow["metadata"]["finalizers"]


def test_a_run_that_takes_too_long_is_cancelled() -> None:
    world = World(python("a"), wait("drop"), timeout="1h").settle()
    world.claim("a")
    assert world.settle().plan().again_at == NOW + 3600
    world.advance(3599)
    assert world.state("a") is State.RUNNING
    world.advance(1).advance(GRACE)
    assert world.tasks() == {"a": "Cancelled", "drop": "Cancelled"}
    assert world.condition() == ("False", "Timeout", "the run exceeded its timeout of 1h")


@pytest.mark.parametrize("lost", ["pod", "taskrun"])
def test_what_vanishes_while_it_is_cancelled_holds_nothing_up(lost: str) -> None:
    world = World(python("a"), python("b")).settle()
    world.claim("a")
    if lost == "pod":
        world.lose_pod("a")
    else:
        world.lose_taskrun("a")
    assert world.change(cancel=True).status.completion_time is not None


def test_a_cancelled_task_that_had_ended_keeps_its_end() -> None:
    world = World(python("a"), python("b")).settle().fail("a", "no disk").change(cancel=True)
    assert world.tasks() == {"a": "Failed", "b": "Cancelled"}
    assert world.condition()[1] == "Cancelled"

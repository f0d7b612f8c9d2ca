"""Pods that have ended go after their time, and no earlier than what they were is stored."""

from torpor_operator.model import pod
from torpor_operator.settings import Settings
from torpor_wire import times
from torpor_wire.state import State

from tests.support.builders import NOW, container, python
from tests.support.plan_world import World

DAY = Settings().pods_ttl


def test_the_pod_of_a_finished_run_goes_a_day_after_its_end() -> None:
    world = World(python("a")).settle().succeed("a")
    assert len(world.pods) == 1
    assert world.advance(DAY - 1).pods
    assert world.plan().again_at == NOW + DAY
    assert world.advance(1).pods == {}
    assert world.state("a") is State.SUCCEEDED


def test_a_run_says_itself_how_long() -> None:
    world = World(python("a"), podsTTL="1h").settle().succeed("a")
    assert world.advance(3599).pods
    assert world.advance(1).pods == {}
    assert World(python("a"), podsTTL="0s").settle().succeed("a").pods == {}


def test_the_time_counts_from_the_end_of_the_container() -> None:
    world = World(container("a"), podsTTL="1h").settle()
    terminated = {"exitCode": 0, "reason": "Completed", "finishedAt": times.rfc3339(NOW + 500)}
    world.now += 500
    world.kubelet("a", {"phase": "Succeeded", "containerStatuses": [{"state": {"terminated": terminated}}]})
    assert world.advance(3599).pods
    assert world.advance(1).pods == {}


def test_pods_of_former_segments_go_while_the_task_waits_or_runs() -> None:
    world = World(python("a"), podsTTL="1h").settle().defer("a")
    assert len(world.pods) == 1
    world.advance(3600)
    assert world.pods == {}
    world.fire("a")
    assert len(world.live_pods("a")) == 1
    assert world.advance(10).succeed("a").condition()[0] == "True"


def test_a_pod_whose_outcome_is_still_to_be_stored_stays() -> None:
    world = World(container("a"), podsTTL="0s").settle()
    name = pod.name_of(world.run("a"))
    state = {"terminated": {"exitCode": 0, "message": "7"}}
    world.pods[name]["status"] = {"phase": "Succeeded", "containerStatuses": [{"state": state}]}
    world.settle()
    assert world.run("a").status.result == "7"
    assert world.pods == {}


def test_pods_that_ended_together_go_some_at_a_time() -> None:
    many = python("a", expand=[{"name": "n", "over": list(range(7))}])
    world = World(many, settings=Settings(batch=3), podsTTL="1h").settle()
    for index in range(7):
        world.succeed("a", None, index)
    world.now += 3600
    made = world.plan()
    assert len(made.actions) == 3
    assert made.again_at == world.now + 1
    world.settle()
    assert world.pods == {}

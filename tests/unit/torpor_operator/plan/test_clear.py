"""Running instances of a run again: the wish is an annotation, the mark is in the status, TaskRuns are made anew."""

import pytest
from torpor_operator.model.actions import CreatePod, CreateTaskRun
from torpor_wire import constants, times
from torpor_wire.index_ranges import Indexes
from torpor_wire.state import State

from tests.support.builders import container, python, wait
from tests.support.plan_world import World

LOAD = python("load", expand=[{"name": "n", "over": [1, 2, 3]}])


def clear(world: World, text: str) -> World:
    """As `kubectl annotate workflow run torpor.dev/clear=...` does."""
    world.workflow["metadata"].setdefault("annotations", {})[constants.CLEAR] = text
    return world.settle()


def uids(world: World) -> dict[str, str]:
    return {name: body["metadata"]["uid"] for name, body in world.taskruns.items()}


def ended() -> World:
    """A run that failed: the second of three instances did, and what comes after them was not reached."""
    world = World(LOAD, python("report", after=["load"])).settle()
    return world.succeed("load", index=0).fail("load", index=1).succeed("load", index=2)


def test_one_instance_of_an_ended_run_is_made_anew_and_what_depends_on_it_runs() -> None:
    world = ended()
    assert world.tasks() == {"load": "Failed", "report": "UpstreamFailed"}
    before = uids(world)
    clear(world, "load/1")
    assert world.status.state == "Running"
    assert world.status.completion_time is None
    anew = world.run("load", 1)
    assert (anew.status.state, anew.spec.clears) == (State.SCHEDULED, 1)
    kept = [world.run("load", index).metadata for index in (0, 2)]
    assert all(before[meta.name] == meta.uid for meta in kept)
    assert before[anew.metadata.name] != anew.metadata.uid
    world.succeed("load", index=1).succeed("report")
    assert world.tasks() == {"load": "Succeeded", "report": "Succeeded"}
    assert world.status.state == "Succeeded"
    assert world.status.clearing is None
    assert world.workflow["metadata"]["annotations"] == {}


def test_what_failed_can_be_cleared_without_naming_it() -> None:
    world = clear(ended(), "failed").succeed("load", index=1).succeed("report")
    assert world.status.state == "Succeeded"
    assert world.run("load", 0).spec.clears == 0


def test_what_depends_on_a_cleared_task_waits_for_it_and_its_width_is_found_out_again() -> None:
    world = World(python("list"), python("load", expand=[{"name": "n", "over": "${tasks.list.result}"}])).settle()
    world.succeed("list", "[1, 2, 3]")
    for index in range(3):
        world.succeed("load", index=index)
    clear(world, "list")
    assert world.tasks() == {"list": "Running", "load": "Pending"}
    assert not world.has("load", 0)
    world.succeed("list", "[7]")
    assert world.task("load").total == 1
    assert world.arguments("load", 0) == {"n": "7"}
    world.succeed("load", index=0)
    assert world.status.state == "Succeeded"
    assert (world.task("load").succeeded, world.status.progress) == (1, "2/2")


def test_nothing_is_made_anew_before_the_old_pods_have_gone() -> None:
    world = World(python("a")).settle()
    world.claim("a")
    world.api.graceful = True
    old = world.run("a").metadata.uid
    clear(world, "a")
    assert world.run("a").metadata.uid == old
    assert all(not isinstance(action, CreateTaskRun | CreatePod) for action in world.plan().actions)
    world.reap()
    world.api.collect()
    world.settle()
    assert world.run("a").metadata.uid != old
    assert world.succeed("a").status.state == "Succeeded"


@pytest.mark.parametrize("state", ["Running", "Failed"])
def test_a_clearing_that_waits_for_a_node_that_does_not_answer_says_which_pod_it_is(state: str) -> None:
    world = World(python("a")).settle()
    world.claim("a")
    world.api.graceful = True
    if state == "Failed":
        world.fail("a")
    clear(world, "a")
    (pod,) = world.pods.values()
    pod["status"] = {"phase": "Running"}
    pod["metadata"]["deletionTimestamp"] = times.rfc3339(world.now)
    world.now += 3600
    stalled = next(entry for entry in world.settle().status.conditions if entry.type == "Stalled")
    assert (stalled.status, stalled.reason) == ("True", "NodeLost")
    assert f"pod {pod['metadata']['name']} was to end" in stalled.message
    assert [event.reason for event in world.events].count("NodeLost") == 1
    world.reap()
    world.api.collect()
    assert world.settle().succeed("a").status.state == "Succeeded"


def test_a_container_is_let_go_when_its_process_has_ended() -> None:
    world = World(container("a")).settle()
    world.api.graceful = True
    clear(world, "a")
    (pod,) = world.pods.values()
    assert pod["metadata"]["finalizers"] == [constants.POD_FINALIZER]
    pod["status"] = {"phase": "Failed"}
    world.settle()
    world.api.collect()
    world.settle()
    assert world.run("a").spec.clears == 1


def test_a_crash_between_deletion_and_creation_leaves_nothing_deleted() -> None:
    world = ended()
    world.workflow["metadata"]["annotations"] = {constants.CLEAR: "load/1"}
    world.apply(world.plan())
    assert world.status.clearing is not None
    world.lose_taskrun("load", 1)
    world.settle()
    assert world.state("load", 1) is State.SCHEDULED


def test_a_taskrun_that_somebody_deleted_can_be_cleared() -> None:
    world = World(python("a")).settle()
    world.lose_taskrun("a")
    assert world.settle().tasks() == {"a": "Failed"}
    assert clear(world, "a").succeed("a").status.state == "Succeeded"


def test_a_second_wish_waits_for_the_first() -> None:
    world = ended()
    world.api.graceful = True
    world.write_pod("load", 1, {"phase": "Running"})
    clear(world, "load/1")
    clear(world, "load/0")
    assert world.workflow["metadata"]["annotations"] == {constants.CLEAR: "load/0"}
    assert world.run("load", 0).metadata.deletion_timestamp is None
    world.api.graceful = False
    world.api.pods = {}
    world.api.collect()
    world.settle()
    assert (world.run("load", 1).spec.clears, world.run("load", 0).spec.clears) == (1, 2)
    assert world.workflow["metadata"]["annotations"] == {}


def test_a_run_that_is_cleared_again_and_again_counts_on() -> None:
    world = World(python("a")).settle().fail("a")
    for count in (1, 2, 3):
        clear(world, "a").fail("a")
        assert (world.status.clears, world.run("a").spec.clears) == (count, count)
    assert world.status.state == "Failed"
    assert [event.reason for event in world.events].count("Cleared") == 3


def test_the_time_of_a_run_that_had_ended_starts_anew() -> None:
    world = World(python("a"), timeout="1h").settle().fail("a")
    world.advance(7200)
    assert clear(world, "a").succeed("a").status.state == "Succeeded"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing", "no task named nothing; tasks: load, report"),
        ("load/3", "no instance load/3: task load has the instances 0-2; clear load to expand it again"),
        ("report/0", "task report is not mapped: clear report without an index"),
        ("load[1]", "invalid entry 'load[1]': use `task`, `task/index` or `failed`"),
        ("", "nothing to clear: no instance has failed"),
        (
            ",".join(["load/1"] * 700),
            "the list has 4899 characters; the limit is 4096: clear whole tasks, or use `failed`",
        ),
    ],
)
def test_what_cannot_be_cleared_is_refused_once_and_changes_nothing(text: str, said: str) -> None:
    world = ended()
    before = world.status, uids(world)
    clear(world, text)
    assert (world.status, uids(world)) == before
    assert world.workflow["metadata"]["annotations"] == {}
    assert [event.message for event in world.events if event.reason == "ClearRefused"] == [said]


def test_what_was_created_before_the_first_status_and_deleted_is_not_made_anew_with_another_task() -> None:
    world = World(python("a"), python("b")).settle()
    world.workflow["status"] = {}
    world.api.created = {"a": {(): Indexes.below(1)}, "b": {(): Indexes.below(1)}}
    world.lose_taskrun("a")
    world.workflow["metadata"].setdefault("annotations", {})[constants.CLEAR] = "b"
    world.apply(world.plan())
    world.api.created = {}  # what was seen since the clearing
    world.settle()
    assert not world.has("a")
    assert world.run("b").spec.clears == 1


@pytest.mark.parametrize("field", ["stop", "cancel"])
def test_a_run_that_is_being_cancelled_is_not_cleared(field: str) -> None:
    world = World(wait("drop")).settle().change(**{field: True})
    clear(world, "drop")
    assert world.status.state == "Cancelling"
    assert world.events[-1].message == "the run is being cancelled: clear it after it has ended"
    assert world.workflow["spec"][field] is True


def test_instances_beyond_a_shorter_list_are_counted_as_removed() -> None:
    world = World(python("list"), python("load", expand=[{"name": "n", "over": "${tasks.list.result}"}])).settle()
    world.succeed("list", "[1, 2, 3]")
    for index in range(3):
        world.succeed("load", "1", index)
    clear(world, "list")
    world.settle().succeed("list", "[1]").succeed("load", "1", 0)
    entry = world.task("load")
    assert (entry.state, entry.total, entry.succeeded, entry.removed) == ("Succeeded", 1, 1, 2)
    assert not world.has("load", 2)


def test_an_instance_that_was_left_out_is_none_to_clear() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [1, 2, 3]}], when="mapping.index != 1")
    world = World(mapped).settle().fail("load", "no", 0).succeed("load", "1", 2)
    clear(world, "load/1")
    assert [event.message for event in world.events if event.reason == "ClearRefused"] == [
        "no instance load/1: task load has the instances 0,2; clear load to expand it again"
    ]
    clear(world, "failed")
    world.settle().succeed("load", "1", 0)
    assert world.tasks() == {"load": "Succeeded"}

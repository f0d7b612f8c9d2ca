"""After the end: the last pods, the time to live, and TaskRuns that somebody deletes."""

from torpor_operator.model.actions import ConfirmTaskRun, CreateTaskRun, DeleteWorkflow
from torpor_operator.settings import Settings
from torpor_wire.index_ranges import Indexes
from torpor_wire.state import State

from tests.support.builders import NOW, python
from tests.support.plan_world import World


def test_a_finished_run_asks_for_nothing_whatever_becomes_of_its_taskruns() -> None:
    world = World(python("a"), python("b", after=["a"])).settle().succeed("a").succeed("b")
    status = world.status
    world.lose_taskrun("a")
    assert world.settle().status == status
    assert not world.has("a")


def test_a_finished_run_sees_off_the_last_pods() -> None:
    world = World(python("a")).settle().succeed("a")
    (pod,) = world.pods
    world.pods[pod]["status"] = {"phase": "Running"}
    assert world.plan().again_at == NOW + Settings().finished_pod_grace
    assert world.advance(Settings().finished_pod_grace).pods == {}


def test_a_finished_run_is_deleted_when_its_time_to_live_is_over() -> None:
    world = World(python("a"), ttlAfterFinished="1h").settle().succeed("a")
    assert world.plan().again_at == NOW + 3600
    world.advance(3599)
    assert not world.api.deleted
    assert world.advance(1).api.deleted


def test_a_finished_run_that_is_being_deleted_is_not_looked_at_again_and_again() -> None:
    world = World(python("a"), ttlAfterFinished="1h").settle().succeed("a")
    world.workflow["metadata"]["finalizers"] = ["foregroundDeletion"]
    world.advance(3600)
    assert "deletionTimestamp" in world.workflow["metadata"]
    made = world.plan()
    assert not any(isinstance(action, DeleteWorkflow) for action in made.actions)
    assert made.again_at is None


def test_without_a_time_to_live_a_run_is_kept() -> None:
    world = World(python("a")).settle().succeed("a")
    assert world.plan().again_at == world.now + world.settings.pods_ttl  # for its pod
    assert world.advance(world.settings.pods_ttl).plan().again_at is None


def test_a_taskrun_that_is_only_not_seen_yet_is_not_taken_for_deleted() -> None:
    world = World(python("a")).settle()
    name = world.run("a").metadata.name
    world.api.unseen.add(name)
    world.settle()
    assert world.api.confirmed == [ConfirmTaskRun("ns", name)]
    assert world.tasks() == {"a": "Running"}


def test_a_taskrun_deleted_before_the_status_tells_of_it_is_not_created_again() -> None:
    world = World(python("a", expand=[{"name": "n", "over": [1, 2]}])).settle()
    for task in world.workflow["status"]["tasks"]:
        task |= {"created": 0, "total": 0}
    world.api.created = {"a": {(): Indexes.below(2)}}
    world.lose_taskrun("a", 0)
    world.lose_taskrun("a", 1)
    assert not any(isinstance(action, CreateTaskRun) for action in world.plan().actions)
    assert world.settle().tasks() == {"a": "Failed"}


def test_a_deleted_taskrun_fails_its_task_and_is_never_created_again() -> None:
    world = World(python("a"), python("b"), python("c", after=["a"], rule="all_done")).settle()
    world.lose_taskrun("a")
    world.settle()
    assert not world.has("a")
    assert world.tasks() == {"a": "Failed", "b": "Running", "c": "Running"}
    assert (world.task("a").reason, world.task("a").failed) == ("Deleted", 1)


def test_a_deleted_instance_is_counted_when_the_others_have_ended() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [1, 2, 3]}])
    world = World(mapped).settle()
    world.lose_taskrun("load", 1)
    world.settle().succeed("load", None, 0).succeed("load", None, 2)
    task = world.task("load")
    assert (task.state, task.reason, task.message) == ("Failed", "Deleted", "1 of its TaskRuns were deleted")
    assert (task.total, task.created, task.succeeded, task.failed) == (3, 3, 2, 1)


def test_an_instance_below_the_high_water_mark_is_not_created_again_while_others_are_still_to_come() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [1, 2, 3]}])
    world = World(mapped, parallelism=2).settle()
    world.lose_taskrun("load", 0)
    world.settle()
    assert [world.has("load", index) for index in range(3)] == [False, True, True]


def test_the_last_instance_that_was_created_is_not_created_again_either() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [1, 2, 3]}])
    world = World(mapped, parallelism=2).settle()
    world.lose_taskrun("load", 1)
    created = [action for action in world.plan().actions if isinstance(action, CreateTaskRun)]
    assert [action.body["spec"]["mapIndex"] for action in created] == [2]


def test_a_taskrun_that_cannot_be_read_fails_its_task_with_its_name() -> None:
    world = World(python("a"), python("b")).settle()
    name = world.run("a").metadata.name
    world.api.unreadable.add(name)
    world.settle()
    assert world.tasks() == {"a": "Failed", "b": "Running"}
    assert world.task("a").reason == "StatusInvalid"
    assert name in (world.task("a").message or "")


def test_beside_a_taskrun_that_cannot_be_read_the_others_go_on() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [1, 2]}])
    world = World(mapped).settle()
    world.api.unreadable.add(world.run("load", 0).metadata.name)
    assert world.settle().tasks() == {"load": "Running"}
    world.claim("load", 1)
    world.kubelet("load", {"phase": "Failed"}, 1)
    assert world.state("load", 1) is State.FAILED
    assert world.task("load").reason == "StatusInvalid"


def test_deleted_instances_are_looked_for_only_when_all_others_have_ended() -> None:
    world = World(python("load", expand=[{"name": "n", "over": [1, 2, 3]}])).settle()
    name = world.run("load", 1).metadata.name
    world.lose_taskrun("load", 1)
    world.settle().succeed("load", index=0)
    assert world.api.confirmed == []
    assert world.tasks() == {"load": "Running"}
    world.succeed("load", index=2)
    assert set(world.api.confirmed) == {ConfirmTaskRun("ns", name)}
    assert (world.task("load").state, world.task("load").reason) == ("Failed", "Deleted")

"""Clearing: which instances run again, what depends on them, and what is refused."""

import pytest
from torpor_kubernetes.client.resources import TASKRUNS, WORKFLOWS
from torpor_operator.model.actions import CreatePod, CreateTaskRun
from torpor_operator.settings import Settings
from torpor_wire import constants, times
from torpor_wire.index_ranges import Indexes
from torpor_wire.state import State

from tests.support.builders import NAMESPACE, container, python, wait
from tests.support.controller_harness import ControllerHarness
from tests.support.plan_fixture import PlanFixture

LOAD = python("load", expand=[{"name": "n", "over": [1, 2, 3]}])


def clear(world: PlanFixture, text: str) -> PlanFixture:
    """As `kubectl annotate workflow run torpor.dev/clear=...` does."""
    world.workflow["metadata"].setdefault("annotations", {})[constants.CLEAR] = text
    return world.settle()


def uids(world: PlanFixture) -> dict[str, str]:
    return {name: body["metadata"]["uid"] for name, body in world.taskruns.items()}


def ended() -> PlanFixture:
    """A failed run: the second of three instances failed, and the next task never ran."""
    world = PlanFixture(LOAD, python("report", after=["load"])).settle()
    return world.succeed("load", index=0).fail("load", index=1).succeed("load", index=2)


def test_clearing_one_instance_runs_it_and_its_dependents_again() -> None:
    world = ended()
    assert world.tasks() == {"load": "Failed", "report": "UpstreamFailed"}
    before = uids(world)
    clear(world, "load/1")
    assert world.status.state == "Running"
    assert world.status.completion_time is None
    rerun = world.run("load", 1)
    assert (rerun.status.state, rerun.spec.clears) == (State.SCHEDULED, 1)
    kept = [world.run("load", index).metadata for index in (0, 2)]
    assert all(before[meta.name] == meta.uid for meta in kept)
    assert before[rerun.metadata.name] != rerun.metadata.uid
    world.succeed("load", index=1).succeed("report")
    assert world.tasks() == {"load": "Succeeded", "report": "Succeeded"}
    assert world.status.state == "Succeeded"
    assert world.status.clearing is None
    assert world.workflow["metadata"]["annotations"] == {}


def test_failed_instances_can_be_cleared_without_names() -> None:
    world = clear(ended(), "failed").succeed("load", index=1).succeed("report")
    assert world.status.state == "Succeeded"
    assert world.run("load", 0).spec.clears == 0


def test_dependents_of_a_cleared_task_wait_for_it_and_expand_again() -> None:
    world = PlanFixture(python("list"), python("load", expand=[{"name": "n", "over": "${tasks.list.result}"}])).settle()
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


def test_nothing_is_created_again_before_the_former_pods_are_gone() -> None:
    world = PlanFixture(python("a")).settle()
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
def test_a_clearing_blocked_by_a_lost_node_names_the_pod(state: str) -> None:
    world = PlanFixture(python("a")).settle()
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
    assert f"pod {pod['metadata']['name']} should have terminated" in stalled.message
    assert [event.reason for event in world.events].count("NodeLost") == 1
    world.reap()
    world.api.collect()
    assert world.settle().succeed("a").status.state == "Succeeded"


def test_a_cleared_container_pod_loses_its_finalizer_when_it_has_ended() -> None:
    world = PlanFixture(container("a")).settle()
    world.api.graceful = True
    clear(world, "a")
    (pod,) = world.pods.values()
    assert pod["metadata"]["finalizers"] == [constants.POD_FINALIZER]
    pod["status"] = {"phase": "Failed"}
    world.settle()
    world.api.collect()
    world.settle()
    assert world.run("a").spec.clears == 1


def test_a_crash_between_deletion_and_creation_loses_no_instance() -> None:
    world = ended()
    world.workflow["metadata"]["annotations"] = {constants.CLEAR: "load/1"}
    world.apply(world.plan())
    assert world.status.clearing is not None
    world.lose_taskrun("load", 1)
    world.settle()
    assert world.state("load", 1) is State.SCHEDULED


def test_a_deleted_taskrun_can_be_cleared() -> None:
    world = PlanFixture(python("a")).settle()
    world.lose_taskrun("a")
    assert world.settle().tasks() == {"a": "Failed"}
    assert clear(world, "a").succeed("a").status.state == "Succeeded"


def test_a_second_clear_request_waits_for_the_first() -> None:
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


def test_each_clearing_increments_the_counter() -> None:
    world = PlanFixture(python("a")).settle().fail("a")
    for count in (1, 2, 3):
        clear(world, "a").fail("a")
        assert (world.status.clears, world.run("a").spec.clears) == (count, count)
    assert world.status.state == "Failed"
    assert [event.reason for event in world.events].count("Cleared") == 3


def test_the_timeout_of_a_cleared_run_starts_again() -> None:
    world = PlanFixture(python("a"), timeout="1h").settle().fail("a")
    world.advance(7200)
    assert clear(world, "a").succeed("a").status.state == "Succeeded"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "unknown task nothing; tasks: load, report"),
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
def test_an_invalid_clear_request_is_refused_once_and_changes_nothing(text: str, message: str) -> None:
    world = ended()
    before = world.status, uids(world)
    clear(world, text)
    assert (world.status, uids(world)) == before
    assert world.workflow["metadata"]["annotations"] == {}
    assert [event.message for event in world.events if event.reason == "ClearRefused"] == [message]


def test_a_taskrun_lost_before_the_first_status_is_not_made_by_a_clearing() -> None:
    world = PlanFixture(python("a"), python("b")).settle()
    world.workflow["status"] = {}
    world.api.created = {"a": {(): Indexes.below(1)}, "b": {(): Indexes.below(1)}}
    world.lose_taskrun("a")
    world.workflow["metadata"].setdefault("annotations", {})[constants.CLEAR] = "b"
    world.apply(world.plan())
    world.api.created = {}  # nothing was seen since the clearing
    world.settle()
    assert not world.has("a")
    assert world.run("b").spec.clears == 1


@pytest.mark.parametrize("field", ["stop", "cancel"])
def test_a_run_that_is_being_cancelled_is_not_cleared(field: str) -> None:
    world = PlanFixture(wait("drop")).settle().change(**{field: True})
    clear(world, "drop")
    assert world.status.state == "Cancelling"
    assert world.events[-1].message == "the run is being cancelled: clear it after it has ended"
    assert world.workflow["spec"][field] is True


def test_instances_beyond_a_shorter_list_are_counted_as_removed() -> None:
    world = PlanFixture(python("list"), python("load", expand=[{"name": "n", "over": "${tasks.list.result}"}])).settle()
    world.succeed("list", "[1, 2, 3]")
    for index in range(3):
        world.succeed("load", "1", index)
    clear(world, "list")
    world.settle().succeed("list", "[1]").succeed("load", "1", 0)
    entry = world.task("load")
    assert (entry.state, entry.total, entry.succeeded, entry.removed) == ("Succeeded", 1, 1, 2)
    assert not world.has("load", 2)


def test_a_skipped_instance_cannot_be_cleared() -> None:
    mapped = python("load", expand=[{"name": "n", "over": [1, 2, 3]}], when="mapping.index != 1")
    world = PlanFixture(mapped).settle().fail("load", "no", 0).succeed("load", "1", 2)
    clear(world, "load/1")
    assert [event.message for event in world.events if event.reason == "ClearRefused"] == [
        "no instance load/1: task load has the instances 0,2; clear load to expand it again"
    ]
    clear(world, "failed")
    world.settle().succeed("load", "1", 0)
    assert world.tasks() == {"load": "Succeeded"}


async def test_a_failed_instance_is_deleted_after_its_pods_and_created_again() -> None:
    async with ControllerHarness(Settings()).running() as rig:
        broken = {"load"}

        def script(task: str, _: int) -> str | None:
            if task in broken:
                raise RuntimeError("it broke")
            return None

        rig.script = script
        rig.create("run", python("load", expand=[{"name": "n", "over": [1, 2]}]), python("report", after=["load"]))
        await rig.advance(3)
        assert rig.state("run") == "Failed"
        before = {run["metadata"]["name"]: run["metadata"]["uid"] for run in rig.fake.all(TASKRUNS)}
        broken.clear()
        rig.fake.edit(WORKFLOWS, NAMESPACE, "run", {"metadata": {"annotations": {constants.CLEAR: "load/1"}}})
        await rig.advance(5)
        assert rig.state("run") == "Failed"
        rig.fake.edit(WORKFLOWS, NAMESPACE, "run", {"metadata": {"annotations": {constants.CLEAR: "failed"}}})
        await rig.advance(5)
        assert rig.state("run") == "Succeeded"
        assert constants.CLEAR not in rig.workflow("run")["metadata"].get("annotations", {})
        assert all(before.get(run["metadata"]["name"]) != run["metadata"]["uid"] for run in rig.fake.all(TASKRUNS))
        deletions = [request for request in rig.fake.writes() if request.method == "DELETE"]
        assert {request.body["propagationPolicy"] for request in deletions if "/taskruns/" in request.path} == {
            "Foreground"
        }


def test_a_clear_of_a_queued_run_waits_until_the_run_starts() -> None:
    world = PlanFixture(python("load"), suspend=True)
    world.workflow["metadata"]["labels"] = {constants.LABEL_QUEUED: "true"}
    clear(world, "load")
    assert world.status.start_time is None  # otherwise its Schedule would never start it
    world.workflow["spec"]["suspend"] = False
    world.settle()
    assert world.run("load").status.state is State.SCHEDULED
    assert world.workflow["metadata"]["annotations"] == {}

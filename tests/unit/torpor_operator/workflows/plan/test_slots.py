"""Slots of a run and of its tasks: how many instances start, and in which order."""

from torpor_wire.state import State

from tests.support.builders import python, wait
from tests.support.plan_fixture import PlanFixture


def mapped(name: str, count: int, **fields: object) -> dict[str, object]:
    return python(name, expand=[{"name": "n", "over": list(range(count))}], **fields)


def test_no_more_tasks_hold_a_pod_than_the_parallelism_allows() -> None:
    world = PlanFixture(mapped("load", 5), parallelism=2).settle()
    assert len(world.pods) == 2
    assert world.task("load").created == 2
    assert world.task("load").total == 5


def test_an_ended_task_frees_its_slot_for_the_next() -> None:
    world = PlanFixture(mapped("load", 4), parallelism=2).settle().succeed("load", None, 1)
    assert [world.has("load", index) for index in range(4)] == [True, True, True, False]


def test_a_deferred_task_frees_its_slot() -> None:
    world = PlanFixture(mapped("load", 3), parallelism=1).settle().defer("load", 0)
    assert world.state("load", 1) is State.SCHEDULED
    assert len(world.live_pods("load", 1)) == 1


def test_a_resume_goes_before_a_new_start() -> None:
    world = PlanFixture(mapped("load", 3), parallelism=1).settle().defer("load", 0).fire("load", 0)
    assert world.live_pods("load", 0) == []
    world.succeed("load", None, 1)
    assert len(world.live_pods("load", 0)) == 1
    assert not world.has("load", 2)


def test_a_resume_goes_before_a_retry_that_is_older() -> None:
    retried = mapped("load", 3, retries={"limit": 1, "delay": "10s"})
    world = (
        PlanFixture(retried, parallelism=1).settle().fail("load", "", 0).defer("load", 1).fire("load", 1).advance(10)
    )
    assert (world.live_pods("load", 0), world.live_pods("load", 1)) == ([], [])
    world.succeed("load", None, 2)
    assert world.live_pods("load", 0) == []
    assert len(world.live_pods("load", 1)) == 1


def test_a_task_that_waits_for_its_retry_holds_no_slot() -> None:
    world = (
        PlanFixture(mapped("load", 2, retries={"limit": 1, "delay": "10s"}), parallelism=1).settle().fail("load", "", 0)
    )
    assert world.state("load", 0) is State.UP_FOR_RETRY
    assert len(world.live_pods("load", 1)) == 1


def test_trigger_tasks_need_no_slot() -> None:
    waits = [wait(f"w{number}") for number in range(5)]
    world = PlanFixture(python("a"), *waits, parallelism=1).settle()
    assert [world.state(f"w{number}") for number in range(5)] == ["Deferred"] * 5


def test_more_parallelism_takes_effect_at_once_and_less_when_tasks_end() -> None:
    world = PlanFixture(mapped("load", 6), parallelism=1).settle().change(parallelism=3)
    assert len(world.pods) == 3
    world.workflow["spec"]["parallelism"] = 1
    assert world.plan().actions == ()
    for index in (0, 1):
        world.claim("load", index)
        world.api.pods = {name: pod for name, pod in world.pods.items() if f"-{index}-" not in name}
        del world.taskruns[world.run("load", index).metadata.name]
    assert not any(type(action).__name__ == "CreatePod" for action in world.plan().actions)


def test_a_suspended_run_starts_nothing_and_running_tasks_go_on() -> None:
    world = PlanFixture(mapped("load", 2), python("after", after=["load"]), wait("drop"), parallelism=1).settle()
    world.defer("load", 0).change(suspend=True)
    assert world.status.state == "Suspended"
    world.succeed("load", None, 1).fire("load", 0)
    assert len(world.live_pods("load", 0)) == 1
    world.succeed("load", None, 0).end_wait("drop")
    assert not world.has("after")
    assert world.condition()[:2] == ("Unknown", "Suspended")
    assert world.change(suspend=False).has("after")


def test_a_run_suspended_from_the_beginning_does_nothing() -> None:
    world = PlanFixture(python("a"), wait("drop"), suspend=True).settle()
    assert world.taskruns == {}
    assert world.status.state == "Suspended"


def test_a_task_reports_that_its_instances_wait_for_a_slot() -> None:
    items = {"expand": [{"name": "n", "over": list(range(6))}]}
    world = PlanFixture(python("a", maxActive=2, **items), python("b", **items), parallelism=4).settle()
    assert (world.task("a").reason, world.task("b").reason) == ("MaxActiveReached", "ParallelismReached")
    assert world.task("a").message == "instances wait for a slot of the task: maxActive is 2"
    assert world.task("b").message == "instances wait for a slot of the run: spec.parallelism is 4"
    assert world.condition()[1:] == ("Running", "")
    world.change(parallelism=50)
    assert (world.task("a").reason, world.task("b").reason) == ("MaxActiveReached", None)


def test_a_task_and_its_run_report_a_full_pool() -> None:
    world = PlanFixture(python("a", pool="gpu"), python("b", pool="gpu"))
    world.api.slots["gpu"] = 1
    plan = world.plan()
    while not plan.actions or plan.status is None:
        world.apply(plan)
        plan = world.plan()
    tasks = {entry.name: entry.reason for entry in plan.status.tasks}
    assert tasks == {"a": None, "b": "PoolFull"}
    message = next(condition.message for condition in plan.status.conditions if condition.type == "Succeeded")
    assert message == "task b: instances wait for a slot of pool gpu, which is full (ConfigMap torpor-pools)"

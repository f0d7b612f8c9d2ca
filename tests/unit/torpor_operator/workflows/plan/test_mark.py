"""Marking: instances that end in a state that a user chose, without running."""

import pytest
from torpor_wire import constants
from torpor_wire.state import State

from tests.support.builders import container, python, wait
from tests.support.plan_fixture import PlanFixture

LOAD = python("load", expand=[{"name": "n", "over": [1, 2, 3]}])


def mark(world: PlanFixture, text: str, *, result: str | None = None, by: str = "ann") -> PlanFixture:
    """As `torpor mark` does."""
    annotations = world.workflow["metadata"].setdefault("annotations", {})
    annotations |= {constants.MARK: text, constants.CHANGED_BY: f"mark {by}"}
    if result is not None:
        annotations[constants.MARK_RESULT] = result
    return world.settle()


def refusal(world: PlanFixture) -> str:
    return next(event.message for event in reversed(world.events) if event.reason == "MarkRefused")


def test_a_failed_instance_that_is_marked_lets_the_run_go_on() -> None:
    world = PlanFixture(LOAD, python("report", after=["load"])).settle()
    world.succeed("load", index=0).fail("load", index=1).succeed("load", index=2)
    before = world.run("load", 1).metadata.uid
    mark(world, "succeeded load/1 because the file came by mail", result='{"rows":3}')
    marked = world.run("load", 1)
    assert marked.metadata.uid != before
    assert (marked.status.state, marked.status.reason, marked.status.result) == ("Succeeded", "Marked", '{"rows":3}')
    assert marked.status.message == "marked as succeeded by ann because the file came by mail"
    assert world.workflow["metadata"]["annotations"] == {}
    assert world.succeed("report").status.state == "Succeeded"
    assert world.status.clearing is None
    entry = next(item for item in world.status.history if item.type == "Marked")
    assert (entry.by, entry.message) == ("ann", "load/1 as succeeded because the file came by mail")


@pytest.mark.parametrize(
    ("state", "ended", "report"),
    [("succeeded", "Succeeded", "Running"), ("skipped", "Skipped", "Skipped"), ("failed", "Failed", "UpstreamFailed")],
)
def test_a_task_that_has_not_begun_ends_at_once(state: str, ended: str, report: str) -> None:
    world = PlanFixture(python("list"), python("load", after=["list"]), python("report", after=["load"])).settle()
    mark(world, f"{state} load because we have it")
    assert world.run("load").status.state == ended
    assert not [name for name in world.pods if "-load-" in name]
    assert world.task("report").state == report
    assert world.succeed("list").task("load").state == ended


def test_a_running_instance_is_ended_before_its_mark() -> None:
    world = PlanFixture(python("a"), python("b", after=["a"])).settle()
    world.claim("a")
    world.api.graceful = True
    old = world.run("a").metadata.uid
    mark(world, "succeeded a because it hangs")
    assert world.run("a").metadata.uid == old
    assert world.task("b").state == "Pending"
    world.reap()
    world.api.collect()
    world.settle()
    assert (world.run("a").metadata.uid != old, world.run("a").status.state) == (True, "Succeeded")
    assert world.task("b").state == "Running"


def test_the_trigger_of_a_wait_is_cancelled_before_its_mark() -> None:
    world = PlanFixture(wait("drop"), python("b", after=["drop"])).settle()
    old = world.run("drop")
    assert old.status.state == State.DEFERRED
    mark(world, "succeeded drop because the file is there", result='{"etag":"x"}')
    kept = world.run("drop")
    assert (kept.metadata.uid, kept.status.state) == (old.metadata.uid, "Deferred")
    assert kept.status.cancel is not None
    world.now += world.settings.triggerer_grace + 1
    world.settle()
    assert (world.run("drop").status.state, world.run("drop").status.result) == ("Succeeded", '{"etag":"x"}')


@pytest.mark.parametrize("task", [python("b", after=["a"]), container("b", after=["a"]), wait("b", after=["a"])])
def test_a_task_behind_a_failure_may_be_marked(task: dict[str, object]) -> None:
    world = PlanFixture(python("a"), task, python("c", after=["b"])).settle().fail("a")
    assert world.status.state == "Failed"
    mark(world, "succeeded b because the other site did it")
    assert world.run("b").status.state == "Succeeded"
    assert world.task("c").state == "Running"
    assert world.succeed("c").status.state == "Failed"
    assert world.task("a").state == "Failed"


def test_a_suspended_run_and_a_full_one_carry_out_a_mark() -> None:
    for spec in ({"suspend": True}, {"parallelism": 1}):
        world = PlanFixture(python("a"), python("b"), **spec).settle()
        mark(world, "skipped b because not today")
        assert world.run("b").status.state == "Skipped"


def test_a_clear_runs_a_marked_instance_again() -> None:
    world = PlanFixture(python("a")).settle()
    mark(world, "skipped a because not today")
    assert world.status.state == "Succeeded"
    world.workflow["metadata"]["annotations"][constants.CLEAR] = "a"
    world.settle()
    assert (world.run("a").spec.mark, world.run("a").status.state) == (None, State.SCHEDULED)
    assert world.succeed("a").status.state == "Succeeded"


def test_dependents_that_have_begun_stay_if_the_instance_has_not_ended() -> None:
    world = PlanFixture(LOAD, python("first", after=["load"], rule="one_success")).settle().succeed("load", index=0)
    early = world.run("first").metadata.uid
    mark(world, "skipped load/2 because it is empty")
    assert world.run("first").metadata.uid == early
    mark(world, "failed load/0 because its rows are wrong")
    assert not world.has("first") or world.run("first").metadata.uid != early


def test_an_instance_in_a_group_may_be_marked() -> None:
    groups = [{"name": "days", "expand": [{"name": "d", "over": [1, 2]}]}]
    world = PlanFixture(
        python("load", group="days"), python("check", group="days", after=["load"]), groups=groups
    ).settle()
    world.fail("load", index=(0,)).succeed("load", index=(1,)).succeed("check", index=(1,))
    mark(world, "succeeded load/0 because it was loaded by hand")
    assert world.run("load", (0,)).status.reason == "Marked"
    assert world.succeed("check", index=(0,)).status.state == "Succeeded"


@pytest.mark.parametrize(
    ("text", "result", "words"),
    [
        ("done a because x", None, "invalid mark: write"),
        ("succeeded a", None, "invalid mark"),
        ("succeeded a because ", None, "invalid mark"),
        (f"succeeded a because {'x' * 600}", None, "with at most 512 bytes"),
        ("succeeded a because x", "{", "must be JSON"),
        ("succeeded a because x", "[" * 3000, "must be JSON"),
        ("succeeded a because x", "NaN", "must be JSON"),
        ("skipped a because x", "1", "marked as skipped has no result"),
        ("succeeded a because x", f'"{"x" * 5000}"', "the limit is 4096"),
        ("succeeded other because x", None, "unknown task other"),
        ("succeeded a/3 because x", None, "task a is not mapped"),
        ("succeeded load because x", None, "name them, such as load/0"),
        ("succeeded load/7 because x", None, "no instance load/7: it has 0-2"),
        ("succeeded end because x", None, "is a hook"),
    ],
)
def test_a_mark_that_cannot_be_carried_out_is_refused(text: str, result: str | None, words: str) -> None:
    world = PlanFixture(python("a"), LOAD, python("end", hook="end")).settle()
    before = world.status
    mark(world, text, result=result)
    assert words in refusal(world)
    assert world.workflow["metadata"]["annotations"] == {}
    assert world.status.clears == before.clears


def test_a_mark_waits_for_the_clear_before_it() -> None:
    world = PlanFixture(python("a")).settle()
    world.claim("a")
    world.api.graceful = True
    world.workflow["metadata"]["annotations"] = {constants.CLEAR: "a"}
    world.settle()
    mark(world, "skipped a because not today")
    assert world.workflow["metadata"]["annotations"] != {}
    world.reap()
    world.api.collect()
    world.settle()
    world.reap()
    world.api.collect()
    world.settle()
    assert world.run("a").status.state == "Skipped"

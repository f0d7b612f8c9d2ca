"""Every rule, over every mixture of ends before a task (Airflow's trigger rules)."""

import pytest

from tests.support.builders import python
from tests.support.plan_world import World

# What a task of each rule comes to when the tasks before it have (succeeded, failed, been skipped).
S, F, K, U = "Succeeded", "Failed", "Skipped", "UpstreamFailed"
RUNS, SKIPPED, UPSTREAM = "Running", "Skipped", "UpstreamFailed"
ENDS = ((S, S), (S, F), (S, K), (F, F), (F, K), (K, K))
TABLE = {
    "all_success": (RUNS, UPSTREAM, SKIPPED, UPSTREAM, UPSTREAM, SKIPPED),
    "all_failed": (SKIPPED, SKIPPED, SKIPPED, RUNS, SKIPPED, SKIPPED),
    "all_done": (RUNS, RUNS, RUNS, RUNS, RUNS, RUNS),
    "all_skipped": (SKIPPED, SKIPPED, SKIPPED, SKIPPED, SKIPPED, RUNS),
    "one_success": (RUNS, RUNS, RUNS, UPSTREAM, UPSTREAM, SKIPPED),
    "one_failed": (SKIPPED, RUNS, SKIPPED, RUNS, RUNS, SKIPPED),
    "one_done": (RUNS, RUNS, RUNS, RUNS, RUNS, SKIPPED),
    "none_failed": (RUNS, UPSTREAM, RUNS, UPSTREAM, UPSTREAM, RUNS),
    "none_failed_min_one_success": (RUNS, UPSTREAM, RUNS, UPSTREAM, UPSTREAM, SKIPPED),
    "none_skipped": (RUNS, RUNS, SKIPPED, RUNS, SKIPPED, SKIPPED),
    "all_done_min_one_success": (RUNS, RUNS, SKIPPED, UPSTREAM, SKIPPED, SKIPPED),
    "always": (RUNS, RUNS, RUNS, RUNS, RUNS, RUNS),
}
# The same beside one that never ran, since one before it failed.
BESIDE = (S, F, K, U)
NEVER_RAN = {
    "all_success": (UPSTREAM, UPSTREAM, UPSTREAM, UPSTREAM),
    "all_failed": (SKIPPED, RUNS, SKIPPED, RUNS),
    "all_done": (RUNS, RUNS, RUNS, RUNS),
    "all_skipped": (SKIPPED, SKIPPED, SKIPPED, SKIPPED),
    "one_success": (RUNS, UPSTREAM, UPSTREAM, UPSTREAM),
    "one_failed": (RUNS, RUNS, RUNS, RUNS),
    "one_done": (RUNS, RUNS, SKIPPED, SKIPPED),
    "none_failed": (UPSTREAM, UPSTREAM, UPSTREAM, UPSTREAM),
    "none_failed_min_one_success": (UPSTREAM, UPSTREAM, UPSTREAM, UPSTREAM),
    "none_skipped": (RUNS, RUNS, SKIPPED, RUNS),
    "all_done_min_one_success": (RUNS, UPSTREAM, SKIPPED, UPSTREAM),
    "always": (RUNS, RUNS, RUNS, RUNS),
}
CASES = [(rule, ends, came) for rule, row in TABLE.items() for ends, came in zip(ENDS, row, strict=True)]


def end(world: World, task: str, how: str) -> None:
    if how == S:
        world.succeed(task, "1")
    elif how == F:
        world.fail(task, "no")


def before(name: str, how: str) -> dict[str, object]:
    return python(name, **({"when": "false"} if how == K else {}))


@pytest.mark.parametrize(("rule", "ends", "came"), CASES)
def test_a_rule_decides_on_the_ends_of_tasks(rule: str, ends: tuple[str, str], came: str) -> None:
    first, second = ends
    world = World(before("a", first), before("b", second), python("c", after=["a", "b"], rule=rule)).settle()
    end(world, "a", first)
    end(world, "b", second)
    assert world.tasks()["c"] == came


@pytest.mark.parametrize(("rule", "ends", "came"), [case for case in CASES if case[0] != "always"])
def test_a_mapped_task_counts_as_its_instances(rule: str, ends: tuple[str, str], came: str) -> None:
    mapped = python("a", expand=[{"name": "how", "over": list(ends)}], when="mapping.value != 'Skipped'")
    world = World(mapped, python("c", after=["a"], rule=rule)).settle()
    for index, how in enumerate(ends):
        if how == S:
            world.succeed("a", "1", index)
        elif how == F:
            world.fail("a", "no", index)
    assert world.tasks()["c"] == came


@pytest.mark.parametrize(
    ("rule", "how", "came"),
    [(rule, how, came) for rule, row in NEVER_RAN.items() for how, came in zip(BESIDE, row, strict=True)],
)
def test_a_rule_decides_beside_a_task_that_never_ran(rule: str, how: str, came: str) -> None:
    beside = python("a", after=["broken"]) if how == U else before("a", how)
    never = python("b", after=["broken"])
    world = World(python("broken"), beside, never, python("c", after=["a", "b"], rule=rule)).settle()
    world.fail("broken", "no")
    if how != U:
        end(world, "a", how)
    assert world.tasks()["b"] == U
    assert world.tasks()["c"] == came


def test_one_done_says_which_tasks_before_it_never_ran() -> None:
    world = World(python("a"), python("b", after=["a"]), python("c", after=["b"], rule="one_done")).settle().fail("a")
    assert world.task("c").message == "rule one_done: before it 0 succeeded, 0 failed, 0 were skipped, 1 never ran"


@pytest.mark.parametrize(
    ("rule", "how", "came"),
    [
        ("one_success", S, RUNS),
        ("one_failed", F, RUNS),
        ("one_done", F, RUNS),
        ("one_success", F, "Pending"),
        ("all_done", S, "Pending"),
        ("none_failed", S, "Pending"),
        ("always", "", RUNS),
    ],
)
def test_the_rules_that_say_one_do_not_wait_for_the_rest(rule: str, how: str, came: str) -> None:
    world = World(python("a"), python("b"), python("c", after=["a", "b"], rule=rule)).settle()
    end(world, "a", how)
    assert world.tasks()["c"] == came


def test_a_mapped_task_of_no_instances_counts_as_one_that_was_skipped() -> None:
    empty = python("a", expand=[{"name": "n", "over": []}])
    world = World(empty, python("c", after=["a"], rule="all_skipped"), python("d", after=["a"])).settle()
    assert world.tasks() == {"a": SKIPPED, "c": RUNS, "d": SKIPPED}


def branching(result: str) -> World:
    fork = python("fork", branch=True)
    left, right = python("left", after=["fork"]), python("right", after=["fork"])
    join = python("join", after=["left", "right"], rule="none_failed_min_one_success")
    return World(fork, left, right, join).settle().succeed("fork", result)


@pytest.mark.parametrize("result", ['"left"', '["left"]'])
def test_a_branch_runs_what_it_names_and_skips_the_rest(result: str) -> None:
    world = branching(result)
    assert world.tasks() == {"fork": S, "left": RUNS, "right": SKIPPED, "join": "Pending"}
    assert world.task("right").message == "task fork before it chose left"
    assert world.succeed("left", "1").tasks()["join"] == RUNS


def test_a_branch_may_choose_nothing() -> None:
    assert branching("null").tasks() == {"fork": S, "left": SKIPPED, "right": SKIPPED, "join": SKIPPED}


def test_what_the_choice_leads_to_is_not_skipped() -> None:
    fork = python("fork", branch=True)
    tasks = python("left", after=["fork"]), python("join", after=["fork", "left"])
    world = World(fork, *tasks).settle().succeed("fork", '"left"').succeed("left", "1")
    assert world.tasks()["join"] == RUNS


@pytest.mark.parametrize(
    ("result", "wrong"),
    [('"nope"', "'nope'"), ('["left", "join"]', "'join'"), ('[""]', "''"), ("3", "what it returned")],
)
def test_a_branch_that_names_no_task_after_it_fails_and_says_which_there_are(result: str, wrong: str) -> None:
    world = branching(result)
    assert world.task("fork").reason == "BranchInvalid"
    assert world.task("fork").message == f"branch: {wrong} is no task right after it; there are: left, right"
    assert world.tasks()["left"] == UPSTREAM


def test_a_choice_too_large_for_its_taskrun_is_none() -> None:
    world = World(python("fork", branch=True), python("left", after=["fork"])).settle()
    status = world.api.taskruns[world.run("fork").metadata.name]["status"]
    status |= {"state": "Succeeded", "stored": {"size": 9000, "digest": "d", "type": "list", "length": 9}}
    assert world.settle().task("fork").reason == "BranchInvalid"
    assert world.tasks()["left"] == UPSTREAM

"""Whether a task runs: its trigger rule, `when`, and branches."""

import pytest

from tests.support.builders import python
from tests.support.plan_fixture import PlanFixture

# The outcome of a task for each rule, when its upstream tasks have (succeeded, failed, been skipped).
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
# The same with one more upstream task that never ran, since a task before it failed.
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


def end(world: PlanFixture, task: str, how: str) -> None:
    if how == S:
        world.succeed(task, "1")
    elif how == F:
        world.fail(task, "no")


def before(name: str, how: str) -> dict[str, object]:
    return python(name, **({"when": "false"} if how == K else {}))


@pytest.mark.parametrize(("rule", "ends", "came"), CASES)
def test_a_rule_decides_on_the_outcomes_of_tasks(rule: str, ends: tuple[str, str], came: str) -> None:
    first, second = ends
    world = PlanFixture(before("a", first), before("b", second), python("c", after=["a", "b"], rule=rule)).settle()
    end(world, "a", first)
    end(world, "b", second)
    assert world.tasks()["c"] == came


@pytest.mark.parametrize(("rule", "ends", "came"), [case for case in CASES if case[0] != "always"])
def test_a_mapped_task_counts_as_its_instances(rule: str, ends: tuple[str, str], came: str) -> None:
    mapped = python("a", expand=[{"name": "how", "over": list(ends)}], when="mapping.value != 'Skipped'")
    world = PlanFixture(mapped, python("c", after=["a"], rule=rule)).settle()
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
def test_a_rule_counts_a_task_that_never_ran(rule: str, how: str, came: str) -> None:
    beside = python("a", after=["broken"]) if how == U else before("a", how)
    never = python("b", after=["broken"])
    world = PlanFixture(python("broken"), beside, never, python("c", after=["a", "b"], rule=rule)).settle()
    world.fail("broken", "no")
    if how != U:
        end(world, "a", how)
    assert world.tasks()["b"] == U
    assert world.tasks()["c"] == came


def test_the_message_of_one_done_counts_tasks_that_never_ran() -> None:
    world = (
        PlanFixture(python("a"), python("b", after=["a"]), python("c", after=["b"], rule="one_done")).settle().fail("a")
    )
    assert world.task("c").message == "rule one_done: upstream: 0 succeeded, 0 failed, 0 skipped, 1 never ran"


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
def test_one_rules_do_not_wait_for_all_upstream_tasks(rule: str, how: str, came: str) -> None:
    world = PlanFixture(python("a"), python("b"), python("c", after=["a", "b"], rule=rule)).settle()
    end(world, "a", how)
    assert world.tasks()["c"] == came


def test_a_mapped_task_without_instances_counts_as_one_skipped_task() -> None:
    empty = python("a", expand=[{"name": "n", "over": []}])
    world = PlanFixture(empty, python("c", after=["a"], rule="all_skipped"), python("d", after=["a"])).settle()
    assert world.tasks() == {"a": SKIPPED, "c": RUNS, "d": SKIPPED}


def branching(result: str) -> PlanFixture:
    fork = python("fork", branch=True)
    left, right = python("left", after=["fork"]), python("right", after=["fork"])
    join = python("join", after=["left", "right"], rule="none_failed_min_one_success")
    return PlanFixture(fork, left, right, join).settle().succeed("fork", result)


@pytest.mark.parametrize("result", ['"left"', '["left"]'])
def test_a_branch_runs_the_chosen_tasks_and_skips_the_others(result: str) -> None:
    world = branching(result)
    assert world.tasks() == {"fork": S, "left": RUNS, "right": SKIPPED, "join": "Pending"}
    assert world.task("right").message == "upstream task fork chose left"
    assert world.succeed("left", "1").tasks()["join"] == RUNS


def test_a_branch_may_choose_nothing() -> None:
    assert branching("null").tasks() == {"fork": S, "left": SKIPPED, "right": SKIPPED, "join": SKIPPED}


def test_a_task_after_the_chosen_one_is_not_skipped() -> None:
    fork = python("fork", branch=True)
    tasks = python("left", after=["fork"]), python("join", after=["fork", "left"])
    world = PlanFixture(fork, *tasks).settle().succeed("fork", '"left"').succeed("left", "1")
    assert world.tasks()["join"] == RUNS


@pytest.mark.parametrize(
    ("result", "wrong"),
    [('"nope"', "'nope'"), ('["left", "join"]', "'join'"), ('[""]', "''"), ("3", "the result")],
)
def test_a_branch_that_names_no_downstream_task_fails_and_lists_them(result: str, wrong: str) -> None:
    world = branching(result)
    assert world.task("fork").reason == "BranchInvalid"
    assert world.task("fork").message == f"branch: {wrong} is not a direct downstream task; choices: left, right"
    assert world.tasks()["left"] == UPSTREAM


def test_a_choice_in_the_archive_is_invalid() -> None:
    world = PlanFixture(python("fork", branch=True), python("left", after=["fork"])).settle()
    status = world.api.taskruns[world.run("fork").metadata.name]["status"]
    status |= {"state": "Succeeded", "stored": {"size": 9000, "digest": "d", "type": "list", "length": 9}}
    assert world.settle().task("fork").reason == "BranchInvalid"
    assert world.tasks()["left"] == UPSTREAM


def test_a_task_whose_when_is_true_runs() -> None:
    assert PlanFixture(python("a", when="params.day == 'today'"), params={"day": "today"}).settle().has("a")


def test_a_task_whose_when_is_false_is_skipped_with_a_message() -> None:
    world = PlanFixture(python("a", when="params.day == 'today'"), params={"day": "never"}).settle()
    assert world.tasks() == {"a": "Skipped"}
    assert world.task("a").message == "when: params.day == 'today' is false"
    assert world.condition()[:2] == ("True", "Succeeded")


def test_the_message_of_a_long_when_is_cut_to_the_limit() -> None:
    world = PlanFixture(python("a", when="false && '" + "x" * 1000 + "' == ''")).settle()
    assert world.tasks() == {"a": "Skipped"}
    assert len(world.task("a").message or "") <= 1024


@pytest.mark.parametrize(
    ("when", "kind"),
    [("1", "a number"), ("'yes'", "a string"), ("null", "null"), ("[true]", "a list"), ("{'a': true}", "an object")],
)
def test_a_when_that_yields_no_boolean_fails_the_task(when: str, kind: str) -> None:
    world = PlanFixture(python("a", when=when)).settle()
    assert world.tasks() == {"a": "Failed"}
    assert world.task("a").reason == "ExpressionFailed"
    assert world.task("a").message == f"when: yields {kind}; it must yield true or false"


def test_a_when_that_fails_at_run_time_fails_the_task_and_nothing_else() -> None:
    world = PlanFixture(python("a", when="params.day.month == 1"), python("b"), params={"day": {}}).settle()
    assert world.tasks() == {"a": "Failed", "b": "Running"}
    assert world.task("a").reason == "ExpressionFailed"
    assert "month" in (world.task("a").message or "")
    assert [(event.regarding, event.reason) for event in world.events] == [(None, "ExpressionFailed")]
    assert world.succeed("b").condition()[:2] == ("False", "ExpressionFailed")


def test_a_task_after_a_skipped_one_is_skipped() -> None:
    world = PlanFixture(python("a", when="false"), python("b", after=["a"]), python("c", after=["b"])).settle()
    assert world.tasks() == {"a": "Skipped", "b": "Skipped", "c": "Skipped"}
    assert world.task("c").message == "upstream task b was skipped"
    assert world.condition()[0] == "True"


def test_a_task_after_a_failed_one_is_upstream_failed_and_names_it() -> None:
    world = PlanFixture(python("a"), python("b", after=["a"]), python("c", after=["b"])).settle().fail("a")
    assert world.tasks() == {"a": "Failed", "b": "UpstreamFailed", "c": "UpstreamFailed"}
    assert world.task("b").message == "upstream task a: Error"
    assert world.condition()[:2] == ("False", "Error")


def test_a_failure_outweighs_a_skip() -> None:
    world = PlanFixture(python("a"), python("b", when="false"), python("c", after=["a", "b"])).settle().fail("a")
    assert world.tasks()["c"] == "UpstreamFailed"


def test_with_rule_all_done_a_task_runs_after_failures_and_skips() -> None:
    world = PlanFixture(python("a"), python("b", when="false"), python("c", after=["a", "b"], rule="all_done")).settle()
    assert not world.has("c")
    assert world.fail("a").has("c")


def test_with_rule_all_done_a_task_sees_the_states_of_the_others() -> None:
    args = {
        "states": "${[tasks.a.state, tasks.b.state]}",
        "none": "${tasks.a.result}",
        "rows": "${size(tasks.b.results)}",
    }
    empty = python("b", expand=[{"name": "x", "over": []}])
    world = PlanFixture(python("a"), empty, python("c", args=args, rule="all_done")).settle().fail("a")
    assert world.arguments("c") == {"states": '["Failed","Skipped"]', "none": "null", "rows": "0"}


def test_a_successful_clean_up_does_not_hide_a_failure() -> None:
    world = (
        PlanFixture(python("a"), python("c", after=["a"], rule="all_done")).settle().fail("a", "no disk").succeed("c")
    )
    assert world.tasks() == {"a": "Failed", "c": "Succeeded"}
    assert world.condition()[:2] == ("False", "Error")
    assert "no disk" in world.condition()[2]


def test_a_when_may_be_written_as_a_template() -> None:
    world = PlanFixture(python("a", when="${params.big}"), params={"big": False}).settle()
    assert world.tasks() == {"a": "Skipped"}

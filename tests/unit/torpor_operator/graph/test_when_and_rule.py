"""Whether a task runs at all: `when`, and its rule over the outcomes before it."""

import pytest

from tests.support.builders import python
from tests.support.plan_world import World


def test_a_task_whose_when_is_true_runs() -> None:
    assert World(python("a", when="params.day == 'today'"), params={"day": "today"}).settle().has("a")


def test_a_task_whose_when_is_false_is_skipped_and_says_so() -> None:
    world = World(python("a", when="params.day == 'today'"), params={"day": "never"}).settle()
    assert world.tasks() == {"a": "Skipped"}
    assert world.task("a").message == "when: params.day == 'today' is false"
    assert world.condition()[:2] == ("True", "Succeeded")


def test_a_long_when_that_is_false_is_told_within_the_limit_of_a_message() -> None:
    world = World(python("a", when="false && '" + "x" * 1000 + "' == ''")).settle()
    assert world.tasks() == {"a": "Skipped"}
    assert len(world.task("a").message or "") <= 1024


@pytest.mark.parametrize(
    ("when", "kind"),
    [("1", "a number"), ("'yes'", "a string"), ("null", "null"), ("[true]", "a list"), ("{'a': true}", "an object")],
)
def test_a_when_that_yields_no_boolean_fails_the_task(when: str, kind: str) -> None:
    world = World(python("a", when=when)).settle()
    assert world.tasks() == {"a": "Failed"}
    assert world.task("a").reason == "ExpressionFailed"
    assert world.task("a").message == f"when: yields {kind}; it must yield true or false"


def test_a_when_that_fails_at_run_time_fails_the_task_and_nothing_else() -> None:
    world = World(python("a", when="params.day.month == 1"), python("b"), params={"day": {}}).settle()
    assert world.tasks() == {"a": "Failed", "b": "Running"}
    assert world.task("a").reason == "ExpressionFailed"
    assert "month" in (world.task("a").message or "")
    assert [(event.regarding, event.reason) for event in world.events] == [(None, "ExpressionFailed")]
    assert world.succeed("b").condition()[:2] == ("False", "ExpressionFailed")


def test_a_task_after_a_skipped_one_is_skipped() -> None:
    world = World(python("a", when="false"), python("b", after=["a"]), python("c", after=["b"])).settle()
    assert world.tasks() == {"a": "Skipped", "b": "Skipped", "c": "Skipped"}
    assert world.task("c").message == "task b before it was skipped"
    assert world.condition()[0] == "True"


def test_a_task_after_a_failed_one_is_upstream_failed_and_says_after_which() -> None:
    world = World(python("a"), python("b", after=["a"]), python("c", after=["b"])).settle().fail("a")
    assert world.tasks() == {"a": "Failed", "b": "UpstreamFailed", "c": "UpstreamFailed"}
    assert world.task("b").message == "task a before it: Error"
    assert world.condition()[:2] == ("False", "Error")


def test_a_failure_weighs_more_than_a_skip() -> None:
    world = World(python("a"), python("b", when="false"), python("c", after=["a", "b"])).settle().fail("a")
    assert world.tasks()["c"] == "UpstreamFailed"


def test_with_rule_all_done_a_task_runs_after_failures_and_skips() -> None:
    world = World(python("a"), python("b", when="false"), python("c", after=["a", "b"], rule="all_done")).settle()
    assert not world.has("c")
    assert world.fail("a").has("c")


def test_with_rule_all_done_a_task_sees_what_came_of_the_others() -> None:
    args = {
        "states": "${[tasks.a.state, tasks.b.state]}",
        "none": "${tasks.a.result}",
        "rows": "${size(tasks.b.results)}",
    }
    empty = python("b", expand=[{"name": "x", "over": []}])
    world = World(python("a"), empty, python("c", args=args, rule="all_done")).settle().fail("a")
    assert world.arguments("c") == {"states": '["Failed","Skipped"]', "none": "null", "rows": "0"}


def test_a_clean_up_that_goes_well_does_not_hide_what_failed() -> None:
    world = World(python("a"), python("c", after=["a"], rule="all_done")).settle().fail("a", "no disk").succeed("c")
    assert world.tasks() == {"a": "Failed", "c": "Succeeded"}
    assert world.condition()[:2] == ("False", "Error")
    assert "no disk" in world.condition()[2]


def test_a_when_written_as_a_template_means_what_is_inside() -> None:
    world = World(python("a", when="${params.big}"), params={"big": False}).settle()
    assert world.tasks() == {"a": "Skipped"}

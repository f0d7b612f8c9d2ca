"""Mapped task groups: failures, limits, results, and how many TaskRuns and reads one plan takes."""

import json
from typing import Any

import pytest
from torpor_crds.models.argument import ArgumentSource
from torpor_crds.models.workflow import TaskStatus
from torpor_operator.model.actions import Need
from torpor_operator.model.snapshot import Answer, Snapshot
from torpor_operator.state import instance_indexes
from torpor_wire.index_ranges import Indexes
from torpor_wire.instance_paths import Path
from torpor_wire.state import State, TaskState

from tests.support.builders import Body, python
from tests.support.group_builders import CITIES, COUNTRY, FETCH, LOAD, PLACES, run
from tests.support.plan_fixture import ROUNDS, PlanFixture


@pytest.mark.parametrize(
    ("over", "state", "message"),
    [
        ([], "Skipped", "group city: expand city: the list is empty"),
        (
            "${tasks.list.result}",
            "Failed",
            "group city: expand city: the value is a number; it must be a list or an object",
        ),
        (list(range(11)), "Failed", "group city: expand city: 11 items; at most 10 are allowed"),
    ],
)
def test_the_tasks_of_a_group_report_an_invalid_list(over: object, state: str, message: str) -> None:
    group: Body = {"name": "city", "expand": [{"name": "city", "over": over}]}
    world = run(python("list"), FETCH, groups=[group], maxMapSize=10)
    world.succeed("list", "7")
    assert (world.task("fetch").state, world.task("fetch").message) == (state, message)
    assert world.status.state == ("Succeeded" if state == "Skipped" else "Failed")


def test_a_group_whose_list_failed_runs_nothing() -> None:
    world = run(python("list"), python("tidy", group="country", rule="always"), groups=[COUNTRY]).fail("list")
    assert world.tasks() == {"list": "Failed", "tidy": "UpstreamFailed"}
    assert "group country: expand country: task list" in str(world.task("tidy").message)


def test_a_task_of_a_group_waits_for_the_groups_list_under_every_rule() -> None:
    world = run(python("list"), python("early", group="country", rule="always"), groups=[COUNTRY])
    assert world.tasks()["early"] == "Pending"
    world.succeed("list", json.dumps(PLACES))
    assert world.has("early", (2,))


def test_the_indexes_of_a_group_share_the_limit_of_the_run() -> None:
    many = python("many", group="city", expand=[{"name": "n", "over": [1, 2, 3, 4]}])
    world = run(many, maxMapSize=9)
    assert world.task("many").message == (
        "many/0: expand n: 4 items; at most 3 are allowed, since the indexes of the group share maxMapSize (9)"
    )
    assert not world.taskruns


def test_a_deleted_taskrun_in_a_group_is_not_created_again() -> None:
    world = run(FETCH, LOAD)
    world.lose_taskrun("fetch", (1,))
    world.succeed("fetch", index=(0,)).succeed("fetch", index=(2,))
    assert not world.has("fetch", (1,))
    world.succeed("load", index=(0,)).succeed("load", index=(2,))
    assert world.tasks() == {"fetch": "Failed", "load": "UpstreamFailed"}
    assert world.task("fetch").reason == "Deleted"


def test_running_taskruns_go_on_when_the_list_of_their_group_is_lost() -> None:
    world = run(python("list"), FETCH, groups=[CITIES | {"expand": [{"name": "city", "over": "${tasks.list.result}"}]}])
    world.succeed("list", '["a", "b"]').succeed("fetch", index=(0,))
    world.lose_taskrun("list")
    world.settle().succeed("fetch", index=(1,))
    assert (world.task("fetch").succeeded, world.status.state) == (2, "Failed")


def test_a_cancelled_run_ends_taskruns_at_all_indexes() -> None:
    world = run(FETCH, LOAD).succeed("fetch", index=(0,)).change(cancel=True).reap().advance(60)
    assert world.status.state == "Failed"
    assert (world.task("fetch").succeeded, world.task("fetch").failed) == (1, 2)
    assert world.tasks()["load"] == "Cancelled"


@pytest.mark.parametrize(
    ("tasks", "groups", "message"),
    [
        ([python("a", group="b")], [], "task a: unknown group b; groups: none"),
        ([python("city")], [CITIES], "city is the name of a task and of a group: rename one"),
        ([python("a")], [CITIES], "group city has no tasks: set `group: city` on a task, or remove the group"),
        ([FETCH | {"hook": "end"}], [CITIES], "task fetch is a hook, which runs once at the end of the run"),
        ([FETCH], [CITIES | {"in": "b"}], "group city: unknown group b; groups: city"),
        ([FETCH], [CITIES | {"in": "city"}], "groups contain each other: city in city"),
        (
            [FETCH, python("a", args={"x": "${groups.city.value}"})],
            [CITIES],
            "it is not in group city; its groups: none",
        ),
        (
            [FETCH],
            [CITIES | {"expand": [{"name": "c", "over": "${tasks.fetch.results}"}]}],
            "group city: expand c: task fetch is in the group whose list it produces",
        ),
        (
            [FETCH, python("a", args={"x": "${tasks.city.results}"})],
            [CITIES],
            "city is a group: name a task in it, as in tasks.x.results",
        ),
        ([FETCH | {"args": {"x": "${groups.town.value}"}}], [CITIES], "unknown group town; groups: city"),
        ([FETCH | {"args": {"x": "${groups.city.item}"}}], [CITIES], "a group has `index`, `key` and `value`"),
        ([FETCH | {"args": {"x": "${mapping.value}"}}], [CITIES], "; the item of its group is groups.city.value"),
        (
            [FETCH, LOAD | {"args": {"x": "${tasks.fetch.results}"}}],
            [CITIES],
            "task fetch has the same group index: write tasks.fetch.result",
        ),
        (
            [FETCH],
            [CITIES | {"expand": [{"name": "c", "over": "${tasks.no.result}"}]}],
            "group city: expand c: unknown task no",
        ),
    ],
)
def test_invalid_groups_are_rejected_with_a_message(tasks: list[Body], groups: list[Body], message: str) -> None:
    world = run(*tasks, groups=groups)
    assert world.status.state == "Failed"
    assert message in world.condition()[2]


def test_a_foreign_status_without_valid_paths_ends_the_run() -> None:
    world = run(FETCH)
    world.workflow["status"]["tasks"][0]["instances"] = "0-1.0"
    world.settle()
    assert world.condition()[1] == "StatusInvalid"


def test_an_unknown_pool_is_reported_for_the_whole_task() -> None:
    world = run(FETCH | {"pool": "db"})
    assert world.task("fetch").reason == "PoolUnknown"
    assert world.condition()[2].startswith("task fetch waits: fetch/0: pool db: the ConfigMap torpor-pools")


LISTED: Body = {"name": "g", "expand": [{"name": "g", "over": "${tasks.list.result}"}]}
LARGE = "x" * 2000


class Remembering(PlanFixture):
    """The operator keeps the answers of a Workflow from plan to plan."""

    def __init__(self, *tasks: Body, **spec: Any) -> None:
        self.answers: dict[Need, Answer] = {}
        super().__init__(*tasks, **spec)

    def snapshot(self, known: dict[Need, Answer] | None = None) -> Snapshot:
        self.answers |= known or {}
        return super().snapshot(self.answers)


def test_an_answer_is_stale_once_a_task_has_ended_at_all_indexes() -> None:
    state = {"state": "${tasks.load.state + '!'}"}
    first, last = python("first", args=state, rule="one_success"), python("last", args=state, rule="all_done")
    world = Remembering(FETCH, LOAD, first, last, groups=[CITIES]).settle()
    world.succeed("fetch", index=(0,)).succeed("load", index=(0,))
    world.fail("fetch", index=(1,)).fail("fetch", index=(2,))
    assert world.arguments("first") == {"state": '"Running!"'}
    assert world.arguments("last") == {"state": '"UpstreamFailed!"'}


def test_an_answer_at_one_index_is_not_used_at_another() -> None:
    load = python("load", group="city", args={"n": "${groups.city.index + tasks.fetch.result}"})
    world = Remembering(FETCH, load, groups=[CITIES]).settle()
    for index in range(3):
        world.succeed("fetch", "10", index=(index,))
    assert [world.arguments("load", (index,))["n"] for index in range(3)] == ["10", "11", "12"]


@pytest.mark.parametrize("field", [LARGE, "small"])
def test_a_field_named_like_the_entry_is_not_the_whole_item(field: str) -> None:
    use = python("use", group="g", args={"x": "${groups.g.value.g}"})
    world = run(python("list"), use, groups=[LISTED]).succeed("list", json.dumps([{"g": field, "more": LARGE}]))
    assert world.arguments("use", (0,)) == {"x": json.dumps(field)}


def test_with_several_lists_the_worker_reads_one_item_from_its_source() -> None:
    both: Body = {"name": "g", "expand": [*LISTED["expand"], {"name": "n", "over": [1]}]}
    use = python("use", group="g", args={"x": "${groups.g.value.g}"})
    world = run(python("list"), use, groups=[both]).succeed("list", json.dumps([LARGE]))
    assert world.arguments("use", (0,))["x"] == {"task": "list", "field": "result", "count": 1, "item": 0}


def test_an_item_that_is_not_json_fails_the_tasks_that_use_it() -> None:
    many = python("many", expand=[{"name": "n", "over": [1, 2]}])
    outer: Body = {"name": "outer", "expand": [{"name": "o", "over": "${tasks.many.results}"}]}
    inner: Body = {"name": "inner", "in": "outer", "expand": [{"name": "i", "over": "${groups.outer.value}"}]}
    use, deep = python("use", group="outer", args={"x": "${groups.outer.value}"}), python("deep", group="inner")
    world = run(many, use, deep, groups=[outer, inner])
    world.succeed("many", "{", index=0).succeed("many", "[1]", index=1)
    world.succeed("use", index=(1,)).succeed("deep", index=(1, 0))
    assert world.tasks() == {"many": "Succeeded", "use": "Failed", "deep": "Failed"}
    assert "is not valid JSON" in str(world.task("use").message)
    assert "deep/0: group inner: an input of the task is not valid JSON" in str(world.task("deep").message)


def test_expressions_of_many_indexes_are_evaluated_at_once_with_few_slots() -> None:
    many: Body = {"name": "city", "expand": [{"name": "city", "over": list(range(2 * ROUNDS))}]}
    world = run(FETCH | {"when": f"groups.city.index >= {2 * ROUNDS - 1}"}, groups=[many], parallelism=1)
    assert [world.by_name(name).spec.group_path for name in world.taskruns] == [(2 * ROUNDS - 1,)]


PAIR: Body = {"name": "side", "expand": [{"name": "side", "over": ["left", "right"]}]}
LIST = python("list", group="side")
PARTS = python("parts", group="side", after=["list"], expand=[{"name": "n", "over": [1, 2, 3]}])


def act(world: PlanFixture) -> None:
    """A plan before the next write of the status."""
    for action in world.plan().actions:
        world.act(action)


def test_an_index_of_unknown_width_does_not_count_as_complete() -> None:
    world = run(LIST, PARTS, groups=[PAIR], parallelism=2)
    for index in (0, 1):
        world.claim("list", (index,))
    world.report_success("list", (1,))
    act(world)
    assert world.has("parts", (1, 0))
    world.report_success("list", (0,))
    world.settle()  # the earlier index uses the whole limit of a plan
    for _ in range(6):
        runs = map(world.by_name, world.taskruns)
        world.succeed("parts", index=next(run.spec.path for run in runs if run.status.state is State.SCHEDULED))
    assert (world.task("parts").succeeded, world.status.state) == (6, "Succeeded")


def test_a_status_holds_ten_thousand_indexes_of_different_widths() -> None:
    widths: dict[Path, Indexes] = {
        (number, two): Indexes.below(1 + (number + two) % 2) for number in range(100) for two in range(100)
    }
    text = instance_indexes.to_text(widths, mapped=True)
    held = TaskStatus(name="parts", state=TaskState.RUNNING, instances=text)
    assert len(instance_indexes.from_status(held, 2, mapped=True)) == 10_000
    assert ArgumentSource(task="parts", field="results", paths=text).paths == text


def test_equal_indexes_share_one_record() -> None:
    held = TaskStatus(name="list", state=TaskState.RUNNING, instances="0-9999", made="0-4999")
    outcomes = instance_indexes.from_status(held, 1, mapped=False)
    assert (len(outcomes), len({id(outcome) for outcome in outcomes.values()})) == (10_000, 2)

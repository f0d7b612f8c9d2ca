"""The rules of task groups, as docs/how-to/task-groups.md lists them."""

import json

from torpor_wire import constants

from tests.support.builders import Body, python
from tests.support.group_builders import COUNTRY, FETCH, LOAD, PLACES, TOWN, run, succeed_all
from tests.unit.torpor_operator.mapping.test_mapping import stored
from tests.unit.torpor_operator.workflows.plan.test_clear import clear

OUTER: Body = {"name": "outer", "expand": [{"name": "x", "over": ["a", "b"]}]}
LISTED: Body = {"name": "city", "expand": [{"name": "city", "over": "${tasks.list.result}"}]}


def test_a_task_of_the_outer_group_waits_for_its_index_of_the_inner_group() -> None:
    inner: Body = {"name": "inner", "in": "outer", "expand": [{"name": "y", "over": [1, 2]}]}
    tell = python("tell", group="outer", after=["inner"])
    world = run(python("do", group="inner"), tell, groups=[OUTER, inner])
    world.succeed("do", index=(0, 0)).succeed("do", index=(0, 1))
    assert [world.has("tell", (index,)) for index in range(2)] == [True, False]


def test_the_list_of_an_inner_group_may_be_produced_at_each_outer_index() -> None:
    inner: Body = {"name": "inner", "in": "outer", "expand": [{"name": "y", "over": "${tasks.list.result}"}]}
    do = python("do", group="inner", args={"y": "${groups.inner.value}"})
    world = run(python("list", group="outer"), do, groups=[OUTER, inner])
    world.succeed("list", '["Lyon", "Nice"]', index=(1,))
    assert world.arguments("do", (1, 1)) == {"y": '"Nice"'}
    assert not world.has("do", (0, 0))


def test_a_group_expands_over_the_length_and_keys_of_an_archived_result() -> None:
    world = run(python("list"), FETCH, groups=[LISTED])
    stored(world, "list", type="list", length=2)
    assert world.arguments("fetch", (1,)) == {"city": {"task": "list", "field": "result", "count": 1, "item": 1}}
    world = run(python("list"), FETCH | {"args": {"city": "${groups.city.key}"}}, groups=[LISTED])
    stored(world, "list", type="object", length=2, keys='["z", "a"]')
    assert world.arguments("fetch", (0,)) == {"city": '"z"'}


def test_an_archived_entry_of_an_object_cannot_be_passed() -> None:
    world = run(python("list"), FETCH, groups=[LISTED])
    stored(world, "list", type="object", length=1, keys='["z"]')
    message = (
        "groups.city.value is in the archive, which expressions cannot read: use groups.city.key, or map over a list"
    )
    assert message in (world.task("fetch").message or "")


def test_a_branch_outside_chooses_a_task_of_a_group_at_all_indexes() -> None:
    left, right = (python(name, group="city", after=["choice"]) for name in ("left", "right"))
    world = run(python("choice", branch=True), left, right).succeed("choice", '"left"')
    assert [world.has("left", (index,)) for index in range(3)] == [True] * 3
    assert world.tasks()["right"] == "Skipped"


def test_a_branch_in_a_group_cannot_choose_a_task_outside() -> None:
    choice = python("choice", group="city", branch=True)
    world = run(choice, python("left", group="city", after=["choice"]), python("out", after=["choice"]))
    for index in range(3):
        world.succeed("choice", '"out"', index=(index,))
    assert (world.task("choice").state, world.task("choice").reason) == ("Failed", "BranchInvalid")


def test_max_active_counts_all_indexes_together() -> None:
    world = run(FETCH | {"maxActive": 2}, LOAD)
    assert [world.has("fetch", (index,)) for index in range(3)] == [True, True, False]
    world.succeed("fetch", index=(0,))
    assert [world.has("fetch", (index,)) for index in range(3)] == [True] * 3


def test_an_index_without_items_skips_what_counts_it_by_all_success() -> None:
    visit, total = python("visit", group="town"), python("total", group="country", after=["visit"])
    every = total | {"name": "every", "rule": "none_failed"}
    world = run(python("list"), visit, total, every, python("report", after=["total"]), groups=[COUNTRY, TOWN])
    world.succeed("list", json.dumps(PLACES))
    for path in [(0, 0), (0, 1), (1, 0)]:
        world.succeed("visit", index=path)
    for index in range(2):
        world.succeed("total", index=(index,))
    assert [world.has(task, (2,)) for task in ("total", "every")] == [False, True]
    assert world.tasks()["report"] == "Skipped"


def test_a_hook_sees_all_indexes() -> None:
    world = run(FETCH, python("tell", hook="end", args={"all": "${tasks.fetch.results}"}))
    succeed_all(world, "fetch", 3)
    assert world.arguments("tell")["all"]["paths"] == "0-2"


def test_in_a_group_mapping_index_is_the_index_of_the_tasks_own_expand() -> None:
    say = python("say", group="city", args={"own": "${mapping.index}", "groups": "${groups.city.index}"})
    world = run(say, say | {"name": "each", "expand": [{"name": "n", "over": ["x", "y"]}]})
    assert world.arguments("say", (2,)) == {"own": json.dumps(constants.UNMAPPED), "groups": "2"}
    assert world.arguments("each", (2, 1)) == {"own": "1", "groups": "2", "n": '"y"'}


def test_an_instance_that_when_skipped_cannot_be_cleared() -> None:
    world = run(FETCH | {"when": "groups.city.index != 1"})
    world.succeed("fetch", index=(0,)).succeed("fetch", index=(2,))
    clear(world, "fetch/1")
    assert "no instance fetch/1: task fetch has the instances 0,2" in world.events[-1].message

"""Groups that cannot be mapped, lose what they came from, or are cut short."""

import json

import pytest

from tests.support.builders import Body, python
from tests.support.group_builders import CITIES, COUNTRY, FETCH, LOAD, PLACES, run


@pytest.mark.parametrize(
    ("over", "state", "message"),
    [
        ([], "Skipped", "group city: expand city: the list is empty"),
        ("${tasks.list.result}", "Failed", "group city: expand city: over a number; it takes a list or an object"),
        (list(range(11)), "Failed", "group city: expand city: over 11 items; at most 10 are allowed"),
    ],
)
def test_what_a_group_cannot_be_mapped_over_is_said_of_its_tasks(over: object, state: str, message: str) -> None:
    group: Body = {"name": "city", "expand": [{"name": "city", "over": over}]}
    world = run(python("list"), FETCH, groups=[group], maxMapSize=10)
    world.succeed("list", "7")
    assert (world.task("fetch").state, world.task("fetch").message) == (state, message)
    assert world.status.state == ("Succeeded" if state == "Skipped" else "Failed")


def test_without_the_list_that_failed_to_come_nothing_of_the_group_runs() -> None:
    world = run(python("list"), python("tidy", group="country", rule="always"), groups=[COUNTRY]).fail("list")
    assert world.tasks() == {"list": "Failed", "tidy": "UpstreamFailed"}
    assert "group country: expand country: task list" in str(world.task("tidy").message)


def test_a_task_of_a_group_waits_for_the_groups_list_whatever_its_rule() -> None:
    world = run(python("list"), python("early", group="country", rule="always"), groups=[COUNTRY])
    assert world.tasks()["early"] == "Pending"
    world.succeed("list", json.dumps(PLACES))
    assert world.has("early", (2,))


def test_the_indexes_of_a_group_share_what_the_run_may_have() -> None:
    many = python("many", group="city", expand=[{"name": "n", "over": [1, 2, 3, 4]}])
    world = run(many, maxMapSize=9)
    assert world.task("many").message == (
        "many/0: expand n: over 4 items; at most 3 are allowed, as the indexes of its group share the 9 of maxMapSize"
    )
    assert not world.taskruns


def test_what_was_deleted_by_hand_is_not_made_again_at_its_index() -> None:
    world = run(FETCH, LOAD)
    world.lose_taskrun("fetch", (1,))
    world.succeed("fetch", index=(0,)).succeed("fetch", index=(2,))
    assert not world.has("fetch", (1,))
    world.succeed("load", index=(0,)).succeed("load", index=(2,))
    assert world.tasks() == {"fetch": "Failed", "load": "UpstreamFailed"}
    assert world.task("fetch").reason == "Deleted"


def test_what_runs_goes_on_when_the_list_of_its_group_is_lost() -> None:
    world = run(python("list"), FETCH, groups=[CITIES | {"expand": [{"name": "city", "over": "${tasks.list.result}"}]}])
    world.succeed("list", '["a", "b"]').succeed("fetch", index=(0,))
    world.lose_taskrun("list")
    world.settle().succeed("fetch", index=(1,))
    assert (world.task("fetch").succeeded, world.status.state) == (2, "Failed")


def test_a_cancelled_run_ends_what_runs_at_each_index() -> None:
    world = run(FETCH, LOAD).succeed("fetch", index=(0,)).change(cancel=True).reap().advance(60)
    assert world.status.state == "Failed"
    assert (world.task("fetch").succeeded, world.task("fetch").failed) == (1, 2)
    assert world.tasks()["load"] == "Cancelled"


@pytest.mark.parametrize(
    ("tasks", "groups", "message"),
    [
        ([python("a", group="b")], [], "task a: there is no group b; there are: none"),
        ([python("city")], [CITIES], "city is a task and a group: rename one"),
        ([python("a")], [CITIES], "group city: no task stands in it; a task says so by `group: city`"),
        ([FETCH | {"hook": "end"}], [CITIES], "task fetch is a hook, which runs once at the end"),
        ([FETCH], [CITIES | {"in": "b"}], "group city: there is no group b; there are: city"),
        ([FETCH], [CITIES | {"in": "city"}], "groups stand in each other: city in city"),
        (
            [FETCH, python("a", args={"x": "${groups.city.value}"})],
            [CITIES],
            "groups.city is not around it; it stands in: none",
        ),
        (
            [FETCH],
            [CITIES | {"expand": [{"name": "c", "over": "${tasks.fetch.results}"}]}],
            "group city: expand c: task fetch stands in the group whose list it makes",
        ),
        (
            [FETCH, python("a", args={"x": "${tasks.city.results}"})],
            [CITIES],
            "city is a group: name a task that stands in it, as in tasks.x.results",
        ),
        ([FETCH | {"args": {"x": "${groups.town.value}"}}], [CITIES], "there is no group town; there are: city"),
        ([FETCH | {"args": {"x": "${groups.city.item}"}}], [CITIES], "a group has `index`, `key` and `value`"),
        ([FETCH | {"args": {"x": "${mapping.value}"}}], [CITIES], "; its group's item is groups.city.value"),
        (
            [FETCH, LOAD | {"args": {"x": "${tasks.fetch.results}"}}],
            [CITIES],
            "task fetch stands at the same index: write tasks.fetch.result",
        ),
        (
            [FETCH],
            [CITIES | {"expand": [{"name": "c", "over": "${tasks.no.result}"}]}],
            "group city: expand c: there is no task no",
        ),
    ],
)
def test_groups_that_cannot_be_are_refused_with_the_reason(tasks: list[Body], groups: list[Body], message: str) -> None:
    world = run(*tasks, groups=groups)
    assert world.status.state == "Failed"
    assert message in world.condition()[2]


def test_a_status_of_another_hand_is_no_set_of_paths() -> None:
    world = run(FETCH)
    world.workflow["status"]["tasks"][0]["instances"] = "0-1.0"
    world.settle()
    assert world.condition()[1] == "StatusInvalid"


def test_a_pool_that_is_not_there_is_told_of_the_whole_task() -> None:
    world = run(FETCH | {"pool": "db"})
    assert world.task("fetch").reason == "PoolUnknown"
    assert world.condition()[2].startswith("task fetch waits: fetch/0: pool db: the ConfigMap torpor-pools")

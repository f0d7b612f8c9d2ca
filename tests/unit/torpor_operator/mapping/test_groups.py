"""Groups of tasks mapped as a whole (AIP-42): each index goes on by itself, and what is outside sees them all."""

import json

from torpor_operator.settings import Settings
from torpor_wire.state import State

from tests.support.builders import Body, container, python, wait
from tests.support.group_builders import CITIES, FETCH, LOAD, REPORT, at_once, run
from tests.support.plan_world import World


def test_each_task_of_a_group_runs_for_each_item() -> None:
    world = run(FETCH)
    assert [world.arguments("fetch", (index,)) for index in range(3)] == [
        {"city": '"Ulm"'},
        {"city": '"Bonn"'},
        {"city": '"Kiel"'},
    ]
    spec = world.run("fetch", (2,)).spec
    assert (spec.frame, spec.map_index) == ((2,), -1)


def test_one_index_goes_on_while_another_has_not_begun() -> None:
    world = run(FETCH, LOAD)
    world.succeed("fetch", '"rows of Bonn"', index=(1,))
    assert world.has("load", (1,))
    assert not world.has("load", (0,))
    assert world.arguments("load", (1,)) == {"rows": '"rows of Bonn"'}


def test_where_slots_are_few_an_index_is_finished_before_the_next_begins() -> None:
    world = run(FETCH, LOAD, parallelism=1)
    order = []
    while world.status.completion_time is None:
        (name,) = [run for run, body in world.taskruns.items() if world.by_name(run).status.state is State.SCHEDULED]
        spec = world.by_name(name).spec
        order.append((spec.task, *spec.frame))
        world.succeed(spec.task, index=spec.path)
    assert order == [(task, index) for index in range(3) for task in ("fetch", "load")]


def test_a_task_outside_waits_for_all_indexes_and_takes_their_results_in_order() -> None:
    world = run(FETCH, LOAD, REPORT)
    for index in (2, 0):
        world.succeed("fetch", index=(index,)).succeed("load", str(index), index=(index,))
    assert not world.has("report")
    world.succeed("fetch", index=(1,)).succeed("load", "1", index=(1,))
    assert world.arguments("report") == {
        "all": {
            "task": "load",
            "field": "results",
            "count": 1,
            "paths": "0-2",
            "mapped": False,
            "missing": "",
        }
    }
    world.succeed("report")
    assert world.status.state == "Succeeded"


def test_an_expression_outside_sees_the_results_and_their_indexes() -> None:
    told = python(
        "told",
        args={"sum": "${tasks.load.results[0] + tasks.load.results[1]}", "of": "${tasks.load.indexes.map(i, i + 1)}"},
    )
    world = run(FETCH, LOAD, told | {"rule": "all_done"})
    at_once(world, "fetch", 3)
    world.succeed("load", "5", index=(0,)).fail("load", index=(1,)).succeed("load", "7", index=(2,))
    assert world.arguments("told") == {"sum": "12", "of": "[1,3]"}


def test_a_failure_at_one_index_ends_what_follows_there_and_nothing_else() -> None:
    world = run(FETCH, LOAD, REPORT)
    world.fail("fetch", index=(1,)).succeed("fetch", index=(0,)).succeed("fetch", index=(2,))
    assert [world.has("load", (index,)) for index in range(3)] == [True, False, True]
    world.succeed("load", index=(0,)).succeed("load", index=(2,))
    assert world.tasks() == {"fetch": "Failed", "load": "UpstreamFailed", "report": "UpstreamFailed"}
    assert (world.task("load").succeeded, world.task("load").total) == (2, 3)


def test_rules_within_a_group_count_one_index_and_outside_all() -> None:
    tidy = python("tidy", group="city", after=["fetch"], rule="one_failed")
    some = python("some", after=["fetch"], rule="one_failed")
    all_ = python("all", after=["fetch"], rule="all_failed")
    world = run(FETCH, tidy, some, all_)
    world.fail("fetch", index=(1,)).succeed("fetch", index=(0,)).succeed("fetch", index=(2,))
    assert [world.has("tidy", (index,)) for index in range(3)] == [False, True, False]
    assert world.has("some")
    assert world.tasks()["all"] == "Skipped"
    world.succeed("tidy", index=(1,)).succeed("some")
    assert (world.task("tidy").state, world.task("tidy").skipped) == ("Succeeded", 2)


def test_when_is_asked_at_each_index() -> None:
    world = run(FETCH | {"when": "groups.city.index != 1"}, LOAD, REPORT | {"rule": "none_failed"})
    assert [world.has("fetch", (index,)) for index in range(3)] == [True, False, True]
    for task in ("fetch", "load"):
        world.succeed(task, "1", index=(0,)).succeed(task, "1", index=(2,))
    assert (world.task("load").state, world.task("load").skipped, world.status.progress) == ("Succeeded", 1, "4/5")
    assert world.arguments("report")["all"]["missing"] == "1"


def test_a_branch_within_a_group_chooses_at_its_index() -> None:
    choice = python("choice", group="city", branch=True)
    left, right = (python(name, group="city", after=["choice"]) for name in ("left", "right"))
    world = run(choice, left, right, python("join", after=["left", "right"], rule="none_failed"))
    world.succeed("choice", '"left"', index=(0,)).succeed("choice", '"right"', index=(1,)).succeed("choice", index=(2,))
    assert [(world.has("left", (index,)), world.has("right", (index,))) for index in range(3)] == [
        (True, False),
        (False, True),
        (False, False),
    ]
    world.succeed("left", index=(0,)).succeed("right", index=(1,))
    assert world.has("join")


def test_a_branch_within_a_group_decides_on_nothing_outside() -> None:
    choice = python("choice", group="city", branch=True)
    world = run(choice, python("left", group="city", after=["choice"]), python("after", after=["choice"]))
    for index in range(3):
        world.succeed("choice", '"left"', index=(index,))
    assert world.has("after")


def test_a_task_may_come_after_a_group() -> None:
    world = run(FETCH, LOAD, python("told", after=["city"]))
    at_once(world, "fetch", 3)
    assert not world.has("told")
    at_once(world, "load", 3)
    assert world.has("told")


def test_what_is_outside_may_be_mapped_over_the_results_of_a_group() -> None:
    world = run(FETCH, python("each", expand=[{"name": "n", "over": "${tasks.fetch.results}"}]))
    at_once(world, "fetch", 3)
    assert [world.arguments("each", index) for index in range(3)] == [{"n": "0"}, {"n": "1"}, {"n": "2"}]


def test_a_task_of_one_group_sees_all_of_another() -> None:
    other: Body = {"name": "other", "expand": [{"name": "x", "over": [1, 2]}]}
    world = run(FETCH, python("use", group="other", args={"n": "${tasks.fetch.results}"}), groups=[CITIES, other])
    at_once(world, "fetch", 3)
    assert world.arguments("use", (1,))["n"]["paths"] == "0-2"


def test_waits_and_containers_stand_in_groups_too() -> None:
    alarm = wait("alarm", group="city", kwargs={"url": "http://${groups.city.value}"})
    shell = container("shell", group="city", args={"city": "${groups.city.value}"}, after=["alarm"])
    world = run(alarm, shell)
    trigger = world.run("alarm", (1,)).spec.trigger
    assert trigger is not None
    assert json.loads(trigger.kwargs) == {"url": "http://Bonn"}


def test_a_group_over_an_object_has_keys() -> None:
    group: Body = {"name": "city", "expand": [{"name": "city", "over": {"a": 1, "b": 2}}]}
    world = run(python("say", group="city", args={"is": "${groups.city.key}=${groups.city.value}"}), groups=[group])
    assert [world.arguments("say", (index,)) for index in range(2)] == [{"is": '"a=1"'}, {"is": '"b=2"'}]


def test_a_group_over_two_lists_has_all_combinations() -> None:
    group: Body = {"name": "city", "expand": [{"name": "a", "over": [1, 2]}, {"name": "b", "over": ["x", "y"]}]}
    say = python("say", group="city", args={"is": "${groups.city.value.a} ${groups.city.value.b}"})
    world = run(say, groups=[group])
    assert [world.arguments("say", (index,))["is"] for index in range(4)] == ['"1 x"', '"1 y"', '"2 x"', '"2 y"']


def test_an_item_that_is_large_is_read_by_the_worker_where_it_is() -> None:
    group: Body = {"name": "city", "expand": [{"name": "city", "over": "${tasks.list.result}"}]}
    world = run(python("list"), FETCH, groups=[group]).succeed("list", json.dumps(["x" * 2000, "y"]))
    assert world.arguments("fetch", (0,)) == {"city": {"task": "list", "field": "result", "count": 1, "item": 0}}
    assert world.arguments("fetch", (1,)) == {"city": '"y"'}


def test_many_indexes_are_begun_in_batches_and_all_of_them() -> None:
    group: Body = {"name": "city", "expand": [{"name": "city", "over": list(range(25))}]}
    world = World(wait("alarm", group="city"), groups=[group], settings=Settings(batch=10))
    world.apply(world.plan())
    assert len(world.taskruns) == 10
    world.settle()
    assert (world.task("alarm").created, world.task("alarm").instances, world.task("alarm").made) == (25, "0-24", None)

"""Mapped task groups (AIP-42): each index advances by itself; tasks outside see all of them."""

import json

from torpor_operator.settings import Settings
from torpor_wire import constants, names
from torpor_wire.instance_paths import Path
from torpor_wire.state import State

from tests.support import builders
from tests.support.builders import NAME, NAMESPACE, UID, Body, container, python, wait
from tests.support.group_builders import CITIES, FETCH, LOAD, REPORT, nested, run, succeed_all
from tests.support.plan_fixture import PlanFixture


def test_each_task_of_a_group_runs_for_each_item() -> None:
    world = run(FETCH)
    assert [world.arguments("fetch", (index,)) for index in range(3)] == [
        {"city": '"Ulm"'},
        {"city": '"Bonn"'},
        {"city": '"Kiel"'},
    ]
    spec = world.run("fetch", (2,)).spec
    assert (spec.group_path, spec.map_index) == ((2,), -1)


def test_one_index_advances_while_another_has_not_started() -> None:
    world = run(FETCH, LOAD)
    world.succeed("fetch", '"rows of Bonn"', index=(1,))
    assert world.has("load", (1,))
    assert not world.has("load", (0,))
    assert world.arguments("load", (1,)) == {"rows": '"rows of Bonn"'}


def test_with_few_slots_an_index_ends_before_the_next_starts() -> None:
    world = run(FETCH, LOAD, parallelism=1)
    order = []
    while world.status.completion_time is None:
        (name,) = [run for run, body in world.taskruns.items() if world.by_name(run).status.state is State.SCHEDULED]
        spec = world.by_name(name).spec
        order.append((spec.task, *spec.group_path))
        world.succeed(spec.task, index=spec.path)
    assert order == [(task, index) for index in range(3) for task in ("fetch", "load")]


def test_a_task_outside_waits_for_all_indexes_and_takes_results_in_order() -> None:
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
    publish = python(
        "publish",
        args={"sum": "${tasks.load.results[0] + tasks.load.results[1]}", "of": "${tasks.load.indexes.map(i, i + 1)}"},
    )
    world = run(FETCH, LOAD, publish | {"rule": "all_done"})
    succeed_all(world, "fetch", 3)
    world.succeed("load", "5", index=(0,)).fail("load", index=(1,)).succeed("load", "7", index=(2,))
    assert world.arguments("publish") == {"sum": "12", "of": "[1,3]"}


def test_a_failure_at_one_index_affects_only_that_index() -> None:
    world = run(FETCH, LOAD, REPORT)
    world.fail("fetch", index=(1,)).succeed("fetch", index=(0,)).succeed("fetch", index=(2,))
    assert [world.has("load", (index,)) for index in range(3)] == [True, False, True]
    world.succeed("load", index=(0,)).succeed("load", index=(2,))
    assert world.tasks() == {"fetch": "Failed", "load": "UpstreamFailed", "report": "UpstreamFailed"}
    assert (world.task("load").succeeded, world.task("load").total) == (2, 3)


def test_rules_count_one_index_inside_a_group_and_all_outside() -> None:
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


def test_when_is_evaluated_at_each_index() -> None:
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


def test_a_branch_in_a_group_does_not_affect_tasks_outside() -> None:
    choice = python("choice", group="city", branch=True)
    world = run(choice, python("left", group="city", after=["choice"]), python("after", after=["choice"]))
    for index in range(3):
        world.succeed("choice", '"left"', index=(index,))
    assert world.has("after")


def test_a_task_may_come_after_a_group() -> None:
    world = run(FETCH, LOAD, python("publish", after=["city"]))
    succeed_all(world, "fetch", 3)
    assert not world.has("publish")
    succeed_all(world, "load", 3)
    assert world.has("publish")


def test_a_task_outside_may_be_mapped_over_the_results_of_a_group() -> None:
    world = run(FETCH, python("each", expand=[{"name": "n", "over": "${tasks.fetch.results}"}]))
    succeed_all(world, "fetch", 3)
    assert [world.arguments("each", index) for index in range(3)] == [{"n": "0"}, {"n": "1"}, {"n": "2"}]


def test_a_task_of_one_group_sees_all_of_another() -> None:
    other: Body = {"name": "other", "expand": [{"name": "x", "over": [1, 2]}]}
    world = run(FETCH, python("use", group="other", args={"n": "${tasks.fetch.results}"}), groups=[CITIES, other])
    succeed_all(world, "fetch", 3)
    assert world.arguments("use", (1,))["n"]["paths"] == "0-2"


def test_triggers_and_containers_can_be_in_groups() -> None:
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


def test_a_large_item_is_read_by_the_worker_from_its_source() -> None:
    group: Body = {"name": "city", "expand": [{"name": "city", "over": "${tasks.list.result}"}]}
    world = run(python("list"), FETCH, groups=[group]).succeed("list", json.dumps(["x" * 2000, "y"]))
    assert world.arguments("fetch", (0,)) == {"city": {"task": "list", "field": "result", "count": 1, "item": 0}}
    assert world.arguments("fetch", (1,)) == {"city": '"y"'}


def test_many_indexes_are_started_in_batches() -> None:
    group: Body = {"name": "city", "expand": [{"name": "city", "over": list(range(25))}]}
    world = PlanFixture(wait("alarm", group="city"), groups=[group], settings=Settings(batch=10))
    world.apply(world.plan())
    assert len(world.taskruns) == 10
    world.settle()
    assert (world.task("alarm").created, world.task("alarm").instances, world.task("alarm").made) == (25, "0-24", None)


def test_a_group_within_a_group_has_items_of_its_own_at_each_index() -> None:
    world = nested()
    visits = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1)]
    assert sorted(world.by_name(name).spec.path for name in world.taskruns if "visit" in name) == visits
    assert world.arguments("visit", (1, 0, 1)) == {"of": '"fr"', "n": "2"}
    assert "-visit-1-0-1-" in world.run("visit", (1, 0, 1)).metadata.name


def test_a_task_of_the_outer_group_takes_the_results_below_its_index() -> None:
    world = nested()
    for path in [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)]:
        world.succeed("visit", "1", index=path)
    assert world.arguments("total", (0,))["visits"] == {
        "task": "visit",
        "field": "results",
        "groupIndexes": [0],
        "count": 1,
        "paths": "0-1.0-1",
        "mapped": True,
        "missing": "",
    }
    assert not world.has("total", (1,))


def test_an_index_without_items_is_skipped_and_the_run_goes_on() -> None:
    world = nested()
    for path in [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1)]:
        world.succeed("visit", "1", index=path)
    world.succeed("total", "2", index=(0,)).succeed("total", "2", index=(1,))
    assert world.tasks()["total"] == "Succeeded"
    assert world.task("total").skipped == 1
    report = world.arguments("report")
    assert (report["totals"]["paths"], report["totals"]["missing"]) == ("0-2", "2")
    assert report["visits"]["paths"] == "0.0-1.0-1,1.0.0-1"
    world.succeed("report")
    assert world.status.state == "Succeeded"


def put(world: PlanFixture, task: str, group_path: Path, index: int = constants.UNMAPPED) -> None:
    """A user creates a TaskRun with the name that the operator would give it."""
    name = names.taskrun(NAME, UID, task, index, group_path)
    spec = {"workflow": {"name": NAME, "uid": UID}, "task": task, "mapIndex": index, "groupIndexes": list(group_path)}
    body = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec | {"image": "i", "python": "m:f"}}
    world.taskruns[name] = builders.created(body, f"by-hand-{name}", world.now, builders.FRESH)


def test_a_taskrun_at_an_index_that_does_not_exist_ends_and_nothing_follows() -> None:
    world = run(FETCH, LOAD)
    put(world, "load", (7,))
    put(world, "fetch", (8,))
    world.settle().fail("load", index=(7,)).succeed("fetch", index=(8,))
    assert not world.has("load", (8,))
    succeed_all(world, "fetch", 3)
    succeed_all(world, "load", 3)
    assert world.tasks() == {"fetch": "Succeeded", "load": "Failed"}
    assert world.status.state == "Failed"


def test_a_status_index_that_does_not_exist_is_skipped() -> None:
    world = run(FETCH, LOAD)
    world.workflow["status"]["tasks"][1] |= {"instances": "0-5", "made": ""}
    succeed_all(world.settle(), "fetch", 3)
    succeed_all(world, "load", 3)
    assert (world.tasks()["load"], world.status.state, len(world.taskruns)) == ("Succeeded", "Succeeded", 6)


def test_a_taskrun_at_the_wrong_depth_is_ignored() -> None:
    world = run(FETCH, python("alone"))
    put(world, "fetch", (0, 1))
    put(world, "fetch", ())
    put(world, "alone", (0,))
    succeed_all(world.settle(), "fetch", 3)
    world.succeed("alone")
    assert (world.task("fetch").created, world.task("alone").created, world.status.state) == (3, 1, "Succeeded")


def test_a_taskrun_far_beyond_the_width_does_not_corrupt_the_status() -> None:
    world = nested()
    for group_path in ((0, 0), (0, 1)):
        put(world, "visit", group_path, constants.MAP_MAX - 1)
    assert world.settle().status.state == "Running"
    assert world.task("visit").created == 8

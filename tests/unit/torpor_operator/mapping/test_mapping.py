"""Mapping over products, objects, objects of arguments, and archived results; functions and display names."""

import json
from typing import Any

import pytest
from torpor_operator.settings import Settings
from torpor_wire import constants

from tests.support.builders import container, python, wait
from tests.support.plan_fixture import PlanFixture


def mapped(*entries: tuple[str, object], **fields: object) -> dict[str, object]:
    return python("load", expand=[{"name": name, "over": over} for name, over in entries], **fields)


def test_several_entries_are_a_product_whose_last_entry_changes_fastest() -> None:
    world = PlanFixture(mapped(("a", [0, 1]), ("b", ["x", "y", "z"]))).settle()
    got = [world.arguments("load", index) for index in range(6)]
    assert [f"{json.loads(arguments['a'])}{json.loads(arguments['b'])}" for arguments in got] == [
        "0x",
        "0y",
        "0z",
        "1x",
        "1y",
        "1z",
    ]
    assert world.task("load").total == 6


def test_an_object_gives_key_and_value_in_its_order() -> None:
    world = PlanFixture(python("list"), mapped(("city", "${tasks.list.result}"))).settle()
    world.succeed("list", '{"rome": {"pop": 3}, "oslo": null}')
    assert [world.arguments("load", index)["city"] for index in range(2)] == ['["rome",{"pop":3}]', '["oslo",null]']


def test_a_product_above_the_limit_fails_the_task_with_the_numbers() -> None:
    world = PlanFixture(mapped(("a", [1, 2]), ("b", [1, 2, 3])), settings=Settings(max_map_size=5)).settle()
    assert world.task("load").message == "expand: 2 x 3 = 6 instances; at most 5 are allowed"


@pytest.mark.parametrize(("requested", "limit", "allowed"), [(3, 10, 3), (None, 10, 2), (50, 4, 4)])
def test_a_run_sets_its_own_limit_within_the_installations(requested: int | None, limit: int, allowed: int) -> None:
    settings = Settings(max_map_size=2, map_size_limit=limit)
    world = PlanFixture(
        mapped(("a", list(range(5)))), settings=settings, **({"maxMapSize": requested} if requested else {})
    ).settle()
    assert world.task("load").message == f"expand a: 5 items; at most {allowed} are allowed"


def test_one_empty_list_of_a_product_skips_the_task_and_is_named() -> None:
    world = PlanFixture(mapped(("a", [1, 2]), ("b", []))).settle()
    assert world.tasks() == {"load": "Skipped"}
    assert world.task("load").message == "expand b: the list is empty"


def test_each_object_of_a_list_is_the_arguments_of_an_instance() -> None:
    world = PlanFixture(python("load", expandKwargs=[{"x": 1, "y": "a"}, {"x": 2}], args={"day": "today"})).settle()
    assert world.arguments("load", 0) == {"day": '"today"', "x": "1", "y": '"a"'}
    assert world.arguments("load", 1) == {"day": '"today"', "x": "2"}


@pytest.mark.parametrize(
    ("objects", "message"),
    [
        ([{"x": 1}, 3], "expandKwargs: the value is a list whose item 1 is a number; it must be a list of objects"),
        ([{"a-b": 1}], "expandKwargs: item 0: 'a-b' is not an identifier and cannot be an argument"),
        ([{"day": 1}], "expandKwargs: item 0: day is also a constant in args; remove one"),
        ("${params.n}", "expandKwargs: the value is a number; it must be a list of objects"),
    ],
)
def test_invalid_arguments_fail_the_task_before_it_runs(objects: object, message: str) -> None:
    world = PlanFixture(python("load", expandKwargs=objects, args={"day": 1}), params={"n": 3}).settle()
    assert (world.task("load").reason, world.task("load").message) == ("ExpandInvalid", message)
    assert world.taskruns == {}


def test_objects_of_arguments_are_kwargs_of_a_trigger() -> None:
    world = PlanFixture(wait("drop", kwargs={"status": [200]}, expandKwargs=[{"url": "a"}, {"url": "b"}])).settle()
    assert [json.loads(run["spec"]["trigger"]["kwargs"])["url"] for run in world.taskruns.values()] == ["a", "b"]


def test_a_function_of_the_image_is_passed_on_to_the_worker_with_the_item() -> None:
    task = python("load", expand=[{"name": "path", "over": ["a"], "map": "ingest.tasks:full"}])
    argument = PlanFixture(task).settle().run("load", 0).spec.arguments[0]
    assert (argument.value, argument.map) == ('"a"', "ingest.tasks:full")


def test_an_instance_sees_its_index_key_and_value() -> None:
    args = {"say": "${mapping.index}: ${mapping.key} is ${mapping.value.pop + 1}"}
    world = PlanFixture(mapped(("city", {"oslo": {"pop": 1}, "rome": {"pop": 3}}), args=args)).settle()
    assert world.arguments("load", 1)["say"] == '"1: rome is 4"'


def test_of_a_product_an_instance_sees_keys_and_values_by_name() -> None:
    args = {"say": "${mapping.value.a + mapping.value.b} ${mapping.key.b}"}
    world = PlanFixture(mapped(("a", [10, 20]), ("b", {"x": 1, "y": 2}), args=args)).settle()
    assert world.arguments("load", 3)["say"] == '"22 y"'


def test_a_task_that_is_not_mapped_has_index_minus_one() -> None:
    assert PlanFixture(python("a", args={"n": "${mapping.index}"})).settle().arguments("a") == {"n": "-1"}


def test_a_taskrun_has_its_display_name_from_its_creation() -> None:
    world = PlanFixture(mapped(("city", ["oslo"]), displayName="load ${mapping.value}")).settle()
    assert world.run("load", 0).spec.display_name == "load oslo"


def test_an_instance_whose_when_is_false_is_skipped_and_not_created_later() -> None:
    world = PlanFixture(mapped(("n", [1, 0, 2]), when="mapping.value > 0")).settle()
    assert [run.spec.map_index for run in (world.run("load", 0), world.run("load", 2))] == [0, 2]
    entry = world.task("load")
    assert (entry.created, entry.made, entry.skipped, entry.skips) == (2, "0,2", 1, "1")
    world.succeed("load", "1", 0).succeed("load", "2", 2)
    assert world.tasks() == {"load": "Succeeded"}


def test_a_task_whose_instances_are_all_skipped_is_skipped() -> None:
    world = PlanFixture(mapped(("n", [1, 2]), when="mapping.value > 2")).settle()
    assert world.tasks() == {"load": "Skipped"}
    assert world.taskruns == {}


def test_results_omit_skipped_instances_and_indexes_show_it() -> None:
    load = mapped(("n", [5, 0, 7]), when="mapping.value > 0")
    report = python(
        "report", args={"r": "${tasks.load.results.map(r, r)}", "i": "${tasks.load.indexes}"}, rule="none_failed"
    )
    world = PlanFixture(load, report).settle().succeed("load", "50", 0).succeed("load", "70", 2)
    assert world.arguments("report") == {"r": "[50,70]", "i": "[0,2]"}


def test_a_task_is_mapped_over_the_results_of_a_mapped_task() -> None:
    world = PlanFixture(
        mapped(("n", [1, 2])), python("next", expand=[{"name": "x", "over": "${tasks.load.results}"}])
    ).settle()
    world.succeed("load", '"b"', 1).succeed("load", '"a"', 0)
    assert [world.arguments("next", index) for index in range(2)] == [{"x": '"a"'}, {"x": '"b"'}]


def test_an_instance_that_returned_none_has_no_result_and_is_not_mapped() -> None:
    world = PlanFixture(
        mapped(("n", [1, 2, 3])),
        python("next", expand=[{"name": "x", "over": "${tasks.load.results}"}]),
        python("sum", args={"rows": "${tasks.load.results}", "of": "${tasks.load.indexes}"}),
        python("other", args={"rows": "${tasks.load.results.size()}"}),
    ).settle()
    world.succeed("load", '"a"', 0).succeed("load", "null", 1).succeed("load", "0", 2)

    assert [world.arguments("next", index) for index in range(2)] == [{"x": '"a"'}, {"x": "0"}]
    assert world.task("next").total == 2
    assert world.arguments("sum")["of"] == "[0,2]"
    assert world.arguments("other") == {"rows": "2"}


def test_the_worker_knows_which_instances_returned_none() -> None:
    world = PlanFixture(mapped(("n", [1, 2, 3])), python("sum", args={"rows": "${tasks.load.results}"})).settle()
    large = json.dumps("x" * 3000)
    world.succeed("load", large, 0).succeed("load", "null", 1).succeed("load", large, 2)

    assert world.arguments("sum")["rows"].items() >= {"count": 3, "missing": "1"}.items()


def test_a_task_mapped_over_results_that_are_all_none_is_skipped() -> None:
    world = PlanFixture(
        mapped(("n", [1, 2])), python("next", expand=[{"name": "x", "over": "${tasks.load.results}"}])
    ).settle()
    world.succeed("load", "null", 0).succeed("load", "null", 1)

    assert world.tasks()["next"] == "Skipped"


def test_none_as_the_result_of_a_task_that_is_not_mapped_is_passed_on() -> None:
    world = PlanFixture(python("a"), python("b", args={"x": "${tasks.a.result}"})).settle().succeed("a", "null")

    assert world.arguments("b") == {"x": "null"}


def stored(world: PlanFixture, task: str, *, index: int = constants.UNMAPPED, **fields: Any) -> None:
    """The instance ends with a result in the archive."""
    status = world.api.taskruns[world.run(task, index).metadata.name]["status"]
    status |= {"state": "Succeeded", "stored": {"size": 5_000_000, "digest": "d", **fields}}
    world.settle()


def test_an_archived_list_is_mapped_by_its_length_and_read_by_the_worker() -> None:
    world = PlanFixture(python("list"), mapped(("path", "${tasks.list.result}"), displayName="${mapping.key}")).settle()
    stored(world, "list", type="list", length=3)
    runs = [world.run("load", index).spec for index in range(3)]
    assert [run.display_name for run in runs] == ["0", "1", "2"]
    sources = [run.arguments[0].source for run in runs]
    assert [(source.task, source.field, source.item) for source in sources if source] == [
        ("list", "result", n) for n in range(3)
    ]


def test_an_object_in_the_archive_is_mapped_over_by_its_keys() -> None:
    world = PlanFixture(python("list"), mapped(("path", "${tasks.list.result}"), displayName="${mapping.key}")).settle()
    stored(world, "list", type="object", length=2, keys='["z","a"]')
    assert [world.run("load", index).spec.display_name for index in range(2)] == ["z", "a"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"type": "bytes"}, "expand path: the value is of type bytes; it must be a list or an object"),
        (
            {"type": "object", "length": 9},
            "expand path: the value is an object with 9 keys, too many to expand; it must be a list or an object",
        ),
    ],
)
def test_an_archived_result_that_cannot_be_expanded_fails_the_task(fields: dict[str, Any], message: str) -> None:
    world = PlanFixture(python("list"), mapped(("path", "${tasks.list.result}"))).settle()
    stored(world, "list", **fields)
    assert world.task("load").message == message


def test_an_archived_result_is_passed_by_reference_and_hidden_from_cel() -> None:
    tasks = python("b", args={"rows": "${tasks.a.result}"}), python("c", when="tasks.a.result > 3")
    world = PlanFixture(python("a"), *tasks).settle()
    stored(world, "a", type="list", length=3)
    source = world.run("b").spec.arguments[0].source
    assert source is not None
    assert (source.task, source.field, source.item) == ("a", "result", None)
    assert "in the archive, which expressions cannot read" in (world.task("c").message or "")


def test_expressions_see_no_part_of_results_that_are_partly_archived() -> None:
    reader = python("sum", args={"rows": "${tasks.load.results}"})
    world = PlanFixture(mapped(("n", [1, 2])), reader, python("c", when="size(tasks.load.results) > 1")).settle()
    world.succeed("load", "1", 0)
    stored(world, "load", index=1, type="bytes", size=3)
    assert world.arguments("sum")["rows"]["count"] == 2
    assert "some results are in the archive, which expressions cannot read" in (world.task("c").message or "")


def test_a_container_cannot_take_an_archived_result() -> None:
    world = PlanFixture(python("a"), container("b", args={"rows": "${tasks.a.result}"})).settle()
    stored(world, "a", type="string")
    assert world.task("b").reason == "ExpressionTooExpensive"


def test_variables_are_the_texts_of_a_configmap() -> None:
    world = PlanFixture(mapped(("day", "${variables.days.split(',')}")), variablesFrom="settings")
    world.api.variables["settings"] = {"days": "mon,tue"}
    world.settle()
    assert [world.arguments("load", index)["day"] for index in range(2)] == ['"mon"', '"tue"']


def test_variables_without_a_configmap_are_refused_at_once() -> None:
    world = PlanFixture(python("a", args={"x": "${variables.day}"})).settle()
    assert "set spec.variablesFrom" in world.condition()[2]


def test_max_active_limits_how_many_instances_hold_a_pod() -> None:
    world = PlanFixture(mapped(("n", list(range(5))), maxActive=2), python("other")).settle()
    assert sorted(world.pods) == sorted(
        [
            *(f"{world.run('load', n).metadata.name}-a1-s0" for n in range(2)),
            f"{world.run('other').metadata.name}-a1-s0",
        ]
    )
    world.succeed("load", "1", 0)
    assert world.task("load").created == 3


def test_a_long_list_is_created_in_batches() -> None:
    world = PlanFixture(
        mapped(("n", list(range(1200)))), settings=Settings(max_map_size=2000), parallelism=2000
    ).settle()
    assert world.task("load").created == 1200


def test_instances_that_appear_in_any_order_do_not_count_as_deleted() -> None:
    world = PlanFixture(mapped(("n", list(range(4))))).settle()
    name = world.run("load", 1).metadata.name
    world.api.taskruns.pop(name)
    world.api.pods.pop(f"{name}-a1-s0")
    for task in world.workflow["status"]["tasks"]:
        task |= {"created": 0, "total": 0}
    assert world.settle().tasks() == {"load": "Running"}
    assert world.run("load", 1).metadata.name == name

"""Rules of AIP-42 on mapping that no other test of the plan covers."""

import json

import pytest
from torpor_operator.settings import Settings

from tests.support.builders import container, python, wait
from tests.support.plan_fixture import PlanFixture
from tests.unit.torpor_operator.mapping.test_mapping import mapped, stored


def following(over: str = "${tasks.load.results}", **fields: object) -> dict[str, object]:
    return python("next", expand=[{"name": "x", "over": over}], **fields)


def test_aip_42s_first_example_is_three_instances_and_their_sum() -> None:
    add_one = mapped(("x", [1, 2, 3]))
    world = PlanFixture(add_one, python("total", args={"x": "${tasks.load.results.map(r, r)}"})).settle()
    for index in range(3):
        world.succeed("load", json.dumps(index + 2), index)
    assert world.arguments("total") == {"x": "[2,3,4]"}
    assert len(world.taskruns) == 4


def test_each_element_of_any_kind_is_an_argument_and_may_have_results() -> None:
    commands = [["ls", "${tasks.home.result}"], ["cat", "${tasks.passwd.result}"]]
    world = PlanFixture(python("home"), python("passwd"), mapped(("command", commands))).settle()
    world.succeed("home", '"~"').succeed("passwd", '"/etc/passwd"')
    got = [world.arguments("load", index)["command"] for index in range(2)]
    assert got == ['["ls","~"]', '["cat","/etc/passwd"]']


def test_the_product_of_two_runtime_lists_is_counted_as_aip_42_counts() -> None:
    entries = ("first", "${tasks.a.result}"), ("second", "${tasks.b.result}")
    world = PlanFixture(python("a"), python("b"), mapped(*entries)).settle()
    world.succeed("a", "[0, 1, 2]").succeed("b", "[0, 1, 2, 3, 4]")
    got = {index: world.arguments("load", index) for index in (0, 1, 5, 6, 11)}
    assert {index: f"{kwargs['first']},{kwargs['second']}" for index, kwargs in got.items()} == {
        0: "0,0",
        1: "0,1",
        5: "1,0",
        6: "1,1",
        11: "2,1",
    }


def test_a_list_may_be_a_param() -> None:
    world = PlanFixture(mapped(("city", "${params.cities}")), params={"cities": ["oslo", "rome"]}).settle()
    assert world.arguments("load", 1) == {"city": '"rome"'}


def test_keys_of_an_object_are_strings() -> None:
    world = PlanFixture(mapped(("x", {"1": "a"}), displayName="${type(mapping.key) == string}")).settle()
    assert world.arguments("load", 0) == {"x": '["1","a"]'}
    assert world.run("load", 0).spec.display_name == "true"


def test_an_object_from_an_expression_is_ordered_by_its_keys() -> None:
    world = PlanFixture(mapped(("x", "${{'b': 1, 'a': 2}}"))).settle()
    assert [world.arguments("load", index)["x"] for index in range(2)] == ['["a",2]', '["b",1]']


def test_lists_are_zipped_by_an_expression() -> None:
    over = "${zip(params.a, params.b).map(p, {'x': p[0], 'y': p[1]})}"
    world = PlanFixture(python("load", expandKwargs=over), params={"a": [1, 2], "b": ["p", "q"]}).settle()
    assert world.arguments("load", 1) == {"x": "2", "y": '"q"'}


def test_a_mapped_task_starts_when_all_upstream_instances_have_ended() -> None:
    world = PlanFixture(mapped(("n", [1, 2])), following()).settle().succeed("load", "1", 0)
    assert not world.has("next", 0)
    assert world.succeed("load", "2", 1).tasks()["next"] == "Running"


def test_a_task_whose_list_failed_has_no_instances() -> None:
    world = PlanFixture(python("list"), following("${tasks.list.result}")).settle().fail("list")
    assert world.tasks()["next"] == "UpstreamFailed"
    assert not world.has("next", 0)


def test_instances_beyond_a_shorter_list_are_counted_as_removed() -> None:
    world = PlanFixture(python("list"), following("${tasks.list.result}")).settle().succeed("list", "[1, 2, 3]")
    for index in range(3):
        world.succeed("next", "1", index)
    world.workflow["metadata"]["annotations"] = {"torpor.dev/clear": "list"}
    world.settle().succeed("list", "[7]")
    assert (world.task("next").total, world.task("next").removed) == (1, 2)
    assert not world.has("next", 1)


def test_an_uncreatable_instance_fails_its_task_after_earlier_ones_ended() -> None:
    world = PlanFixture(
        mapped(("n", [1, 2, "x"]), args={"m": "${mapping.value + 1}"}), settings=Settings(batch=2)
    ).settle()
    assert world.task("load").state == "Running"
    world.succeed("load", "2", 0).succeed("load", "3", 1)
    assert (world.task("load").state, world.task("load").reason) == ("Failed", "ExpressionFailed")
    assert not world.has("load", 2)


def test_the_expression_of_expand_sees_no_mapping() -> None:
    message = PlanFixture(mapped(("n", "${mapping.index}"))).settle().condition()[2]
    assert "expand n: unknown name 'mapping'" in message


def test_a_hook_may_be_mapped() -> None:
    tell = wait("tell", "webhook", hook="end", expand=[{"name": "url", "over": ["a", "b"]}])
    world = PlanFixture(python("a"), tell).settle().succeed("a")
    kwargs = [run["spec"]["trigger"]["kwargs"] for run in world.taskruns.values() if "trigger" in run["spec"]]
    assert kwargs == ['{"url":"a"}', '{"url":"b"}']


def test_every_instance_has_the_name_of_its_task_and_its_index() -> None:
    world = PlanFixture(mapped(("n", [1, 2]))).settle()
    runs = list(world.taskruns.values())
    assert {run["metadata"]["labels"]["torpor.dev/task"] for run in runs} == {"load"}
    assert [run["spec"]["mapIndex"] for run in runs] == [0, 1]


@pytest.mark.parametrize("rule", ["always", "one_success", "one_done"])
def test_a_task_mapped_over_results_waits_for_all_of_them_with_any_rule(rule: str) -> None:
    world = PlanFixture(mapped(("n", [1, 2])), following(rule=rule)).settle().succeed("load", '"b"', 1)
    assert world.tasks()["next"] == "Pending"
    world.succeed("load", '"a"', 0)
    assert [world.arguments("next", index) for index in range(2)] == [{"x": '"a"'}, {"x": '"b"'}]


def test_a_task_mapped_over_a_result_waits_for_it_with_any_rule() -> None:
    world = PlanFixture(python("list"), following("${tasks.list.result}", rule="always")).settle()
    assert world.tasks()["next"] == "Pending"
    assert world.succeed("list", "[1]").has("next", 0)


def test_a_failed_producer_makes_a_mapped_task_upstream_failed_at_any_rule() -> None:
    world = PlanFixture(python("list"), following("${tasks.list.result}", rule="all_done")).settle().fail("list")
    assert world.tasks()["next"] == "UpstreamFailed"


def test_results_of_a_task_that_is_not_mapped_are_rejected_in_every_field() -> None:
    world = PlanFixture(python("list"), following("${tasks.list.results}")).settle()
    assert "write tasks.list.result" in world.condition()[2]


def test_an_expression_that_reads_an_archived_value_reports_it() -> None:
    world = PlanFixture(python("list"), mapped(("n", "${tasks.list.result}"), when="mapping.value > 1")).settle()
    stored(world, "list", type="list", length=2)
    assert "in the archive" in (world.task("load").message or "")


def test_a_task_mapped_over_a_skipped_list_is_skipped_with_a_message() -> None:
    world = PlanFixture(python("list", when="false"), following("${tasks.list.result}", rule="none_failed")).settle()
    assert world.tasks()["next"] == "Skipped"
    assert world.task("next").message == "expand x: task list, which produces the list, was skipped"


LEFT_OUT, BROKEN, NUMBER = "${tasks.left_out.result}", "${tasks.broken.result}", 3


def two_lists(first: object, second: object, *, grouped: bool, by: str = "all_done") -> PlanFixture:
    lists = [{"name": "x", "over": first}, {"name": "y", "over": second}]
    producers = python("left_out", when="false"), python("broken")
    if grouped:
        groups = [{"name": "g", "expand": lists}]
        return PlanFixture(*producers, python("next", group="g", rule=by), groups=groups).settle().fail("broken")
    return PlanFixture(*producers, python("next", expand=lists, rule=by)).settle().fail("broken")


@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("lists", [(LEFT_OUT, BROKEN), (BROKEN, LEFT_OUT), ([], BROKEN), (NUMBER, BROKEN)])
def test_a_failed_list_outweighs_a_skipped_list_in_any_order(lists: tuple[object, object], grouped: bool) -> None:
    world = two_lists(*lists, grouped=grouped)
    assert world.tasks()["next"] == "UpstreamFailed"
    assert "task broken, which produces the list" in str(world.task("next").message)


@pytest.mark.parametrize("lists", [(LEFT_OUT, NUMBER), (NUMBER, LEFT_OUT)])
def test_an_invalid_list_fails_the_task_in_any_order(lists: tuple[object, object]) -> None:
    world = two_lists(*lists, grouped=False)
    assert world.task("next").reason == "ExpandInvalid"


def test_a_failed_producer_outweighs_a_skipped_one_in_one_expression() -> None:
    over = "${tasks.a_left_out.result + tasks.broken.result}"
    world = PlanFixture(python("a_left_out", when="false"), python("broken"), following(over, rule="all_done")).settle()
    assert world.fail("broken").tasks()["next"] == "UpstreamFailed"


@pytest.mark.parametrize(
    "over", ["${[tasks.list.state]}", "${tasks.list.result == null ? ['Failed'] : tasks.list.result}"]
)
def test_an_expression_may_provide_a_list_for_a_failed_task(over: str) -> None:
    world = PlanFixture(python("list"), following(over, rule="all_done")).settle().fail("list")
    assert world.arguments("next", 0) == {"x": '"Failed"'}


def test_an_archived_value_of_a_product_is_reported() -> None:
    world = PlanFixture(
        python("list"), mapped(("n", "${tasks.list.result}"), ("m", [1]), when="mapping.value.n > mapping.value.m")
    ).settle()
    stored(world, "list", type="list", length=2)
    assert "in the archive" in (world.task("load").message or "")


def test_a_run_ends_without_the_skipped_instances() -> None:
    world = PlanFixture(mapped(("n", [1, 0, 2]), when="mapping.value > 0")).settle().succeed("load", "1", 0)
    assert world.succeed("load", "1", 2).status.progress == "2/2"


@pytest.mark.parametrize("days", ["mon", "mon,-"])
def test_a_cleared_instance_that_no_longer_exists_does_not_keep_the_run_open(days: str) -> None:
    load = mapped(("day", "${variables.days.split(',')}"), when="mapping.value != '-'")
    world = PlanFixture(load, variablesFrom="settings")
    world.api.variables["settings"] = {"days": "mon,tue"}
    world.settle().succeed("load", "1", 0).succeed("load", "1", 1)
    world.api.variables["settings"] = {"days": days}
    world.workflow["metadata"]["annotations"] = {"torpor.dev/clear": "load/1"}
    assert world.settle().status.state == "Succeeded"
    assert not world.has("load", 1)


def test_an_object_is_not_a_list_of_arguments() -> None:
    world = PlanFixture(python("load", expandKwargs="${params.one}"), params={"one": {"x": 1}}).settle()
    assert world.task("load").message == "expandKwargs: the value is an object; it must be a list of objects"


@pytest.mark.parametrize("over", ["${tasks.list.result}", "${tasks.load.results}"])
def test_a_mapped_container_gets_values_and_no_references(over: str) -> None:
    large = "x" * 2000
    world = PlanFixture(
        python("list"), mapped(("n", [1])), container("read", expand=[{"name": "x", "over": over}])
    ).settle()
    world.succeed("list", json.dumps([large])).succeed("load", json.dumps(large), 0)
    assert world.arguments("read", 0) == {"x": json.dumps(large)}


def test_a_container_cannot_be_mapped_over_an_archived_result() -> None:
    world = PlanFixture(
        python("list"), container("read", expand=[{"name": "x", "over": "${tasks.list.result}"}])
    ).settle()
    stored(world, "list", type="list", length=2)
    assert world.task("read").reason == "ExpandInvalid"
    assert "item 0 is in the archive" in (world.task("read").message or "")

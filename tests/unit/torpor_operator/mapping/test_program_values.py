"""Lists in a command, variables of a program, and scripts: their expressions are evaluated for each instance."""

import pytest
from torpor_operator.model.pod import pod_name
from torpor_wire import constants

from tests.support.builders import Body, python
from tests.support.plan_fixture import PlanFixture


def main(world: PlanFixture, task: str = "a", index: int = -1) -> Body:
    found: Body = world.pods[pod_name(world.run(task, index))]["spec"]["containers"][0]
    return found


def variables(world: PlanFixture, task: str = "a") -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in main(world, task)["env"]}


def program(**fields: object) -> Body:
    return {"name": "a", "container": fields}


@pytest.mark.parametrize(
    ("words", "value", "becomes"),
    [
        (["x", "${params.v}", "y"], ["a b", 3, None, {"k": 1}], ["x", "a b", "3", "null", '{"k":1}', "y"]),
        (["${params.v}"], [], []),
        (["${params.v}"], [["nested"]], ['["nested"]']),
        (["--items=${params.v}"], ["a"], ['--items=["a"]']),
        (["${params.v} "], ["a"], ['["a"] ']),
        (["${params.v}"], {"k": 1}, ['{"k":1}']),
        (["${range(3)}"], [], ["0", "1", "2"]),
        (["${params.v}"], ["$(TOKEN)"], ["$$(TOKEN)"]),
    ],
)
def test_a_word_that_is_a_list_becomes_its_items(words: list[str], value: object, becomes: list[str]) -> None:
    for field in ("command", "args"):
        spec = {"command": ["p"], field: words}
        world = PlanFixture(program(**spec), params={"v": value}).settle()
        assert main(world).get(field, []) == becomes


def test_a_list_from_an_upstream_task_is_inserted_too() -> None:
    task = program(command=["cat", "${tasks.list.result}"])
    world = PlanFixture(python("list"), task).settle()
    world.succeed("list", '["in/1.csv","in/2.csv"]')
    assert main(world)["command"] == ["cat", "in/1.csv", "in/2.csv"]


@pytest.mark.attack
@pytest.mark.parametrize(("count", "length"), [(257, 1), (2, 4097)])
def test_a_list_that_is_too_long_fails_the_task(count: int, length: int) -> None:
    world = PlanFixture(program(command=["cat", "${params.v}"]), params={"v": ["x" * length] * count}).settle()
    assert world.status.state == "Failed"
    assert "container.command[1]: the value has" in world.condition()[2]


def test_variables_of_a_program_have_their_names_as_they_are() -> None:
    env = [
        {"name": "PATH_IN", "value": "/in/${params.day}"},
        {"name": "plain", "value": "$(TORPOR_TASK)"},
        {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
    ]
    world = PlanFixture(program(command=["p"], env=env), params={"day": "$(x)"}).settle()
    found = {each["name"]: each for each in main(world)["env"]}
    assert (found["PATH_IN"]["value"], found["plain"]["value"]) == ("/in/$$(x)", "$(TORPOR_TASK)")
    assert found["TOKEN"]["valueFrom"] == {"secretKeyRef": {"name": "s", "key": "k"}}


def test_a_variable_of_the_program_replaces_that_of_the_pod() -> None:
    task = program(command=["p"], env=[{"name": "A", "value": "2"}]) | {"pod": {"env": [{"name": "A", "value": "1"}]}}
    world = PlanFixture(task).settle()
    assert [each["value"] for each in main(world)["env"] if each["name"] == "A"] == ["2"]


def test_an_argument_never_replaces_a_variable_of_the_program() -> None:
    task = program(command=["p"], env=[{"name": "a", "value": "1"}]) | {"expandKwargs": "${params.v}"}
    world = PlanFixture(task, params={"v": [{"a": "data"}]}).settle()
    assert "a is also in container.env; remove one" in world.condition()[2]


def scripts(world: PlanFixture) -> dict[str, str]:
    spec = world.pods[pod_name(world.run("a"))]["spec"]
    copy = next(each for each in spec["initContainers"] if each["name"] == "torpor-runtime")
    variables = {each["name"]: each["value"] for each in copy.get("env", [])}
    return {name: value for name, value in variables.items() if name.startswith(constants.ENV_SCRIPT)}


@pytest.mark.parametrize(
    ("fields", "command"),
    [
        ({"script": "echo hi"}, ["sh", "/torpor/scripts/main"]),
        ({"script": "#!/usr/bin/env python3\nprint(1)"}, ["/torpor/scripts/main"]),
        ({"script": "print(1)", "interpreter": ["python3", "-u"]}, ["python3", "-u", "/torpor/scripts/main"]),
        (
            {"script": "echo 1", "result": "stdout"},
            ["/torpor/torpor-tool", "run", "--stdout", "--", "sh", "/torpor/scripts/main"],
        ),
        (
            {"command": ["p", "x"], "result": {"path": "/tmp/o"}},
            ["/torpor/torpor-tool", "run", "--file", "/tmp/o", "--", "p", "x"],
        ),
        ({"command": ["p"], "result": "exitCode"}, ["p"]),
    ],
)
def test_a_script_or_a_wrapper_starts_the_program(fields: Body, command: list[str]) -> None:
    world = PlanFixture(program(**fields, args=["1", "2"])).settle()
    assert main(world)["command"] == command
    assert main(world)["args"] == ["1", "2"]


def test_a_script_is_a_file_and_kubernetes_expands_nothing_in_it() -> None:
    text = "echo $(date) $HOME $$ ${params.day} $${HOME}"
    world = PlanFixture(program(script=text), params={"day": "$(x)"}).settle()
    assert scripts(world) == {"TORPOR_SCRIPT_main": "echo $$(date) $$HOME $$$$ $$(x) $${HOME}"}


@pytest.mark.attack
@pytest.mark.parametrize("name", ["tasks.list.result", "mapping.index", "run.event"])
def test_a_value_that_may_be_data_is_no_part_of_a_script(name: str) -> None:
    world = PlanFixture(python("list"), program(script=f"echo ${{{name}}}")).settle()
    assert world.status.state == "Failed"
    assert "container.script" in world.condition()[2]
    assert "pass other values in args or container.env" in world.condition()[2]


def test_a_variable_of_the_shell_in_a_script_has_advice() -> None:
    world = PlanFixture(program(script='echo "${HOME}"')).settle()
    assert "a variable of the shell is $NAME or $${NAME}" in world.condition()[2]


def test_a_script_that_is_too_large_with_its_values_fails_the_task() -> None:
    world = PlanFixture(program(script="echo ${params.v}${params.v}"), params={"v": "x" * 8192}).settle()
    assert "the script has 16,389 characters; the limit is 16,384" in world.condition()[2]


@pytest.mark.parametrize(
    "fields", [{"script": "x", "interpreter": ["${params.v}"]}, {"result": {"path": "/${params.v}"}}]
)
def test_an_expression_that_is_not_evaluated_is_refused(fields: Body) -> None:
    world = PlanFixture(program(**({"command": ["p"]} | fields if "result" in fields else fields)), params={"v": "x"})
    assert "${...} is not evaluated here" in world.settle().condition()[2]

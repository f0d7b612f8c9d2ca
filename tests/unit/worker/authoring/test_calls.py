"""What calls of tasks become: options, order, waits, containers, and functions without a mark."""

from collections.abc import Callable
from typing import Any, cast

from torpor import SecretRef
from torpor.authoring import container, expression, python, stored_file, use, wait, workflow

from tests.unit.worker.authoring import sample
from tests.unit.worker.authoring.sample import collect, list_files, load

SAMPLE = "tests.unit.worker.authoring.sample"


def tasks(function: Callable[..., object]) -> list[dict[str, Any]]:
    """The tasks of a workflow function without params."""
    return list(workflow(function)()["spec"]["tasks"])


def test_options_of_a_task_are_its_fields() -> None:
    def flow() -> None:
        files = list_files("monday")
        several: Any = expression("size({files}) > 1", files=files)
        load.options(when=several, retries=3, max_active=2, pod={"env": [{"name": "X", "value": files[0]}]})("x")
        load.options(when="size(tasks.list_files.result) > 0").options(rule="all_done", timeout="1h")("y")

    _, first, second = tasks(flow)
    assert first["when"] == "size(tasks.list_files.result) > 1"
    assert (first["retries"], first["maxActive"]) == ({"limit": 3}, 2)
    assert first["pod"] == {"env": [{"name": "X", "value": "${tasks.list_files.result[0]}"}]}
    assert (second["when"], second["rule"], second["timeout"]) == (
        "size(tasks.list_files.result) > 0",
        "all_done",
        "1h",
    )


def test_an_output_of_a_task_is_the_source_of_an_input() -> None:
    def flow() -> None:
        made = list_files.options(files={"out": [{"name": "table"}]})("monday")
        load.options(files={"in": [{"name": "x", "from": stored_file(made, "table")}]})("x")

    assert tasks(flow)[1]["files"] == {"in": [{"name": "x", "from": "${tasks.list_files.files.table}"}]}


def test_after_takes_tasks_waits_and_parts_of_results_once_each() -> None:
    def flow() -> None:
        first, files = wait("duration", duration="5s"), list_files("monday")
        load.after(first, files).after(files[0], first)("x")

    assert tasks(flow)[2]["after"] == ["duration", "list_files"]


def test_a_wait_has_arguments_of_the_trigger_and_its_own_timeout() -> None:
    def flow() -> None:
        token = {"Authorization": SecretRef("jobs", "token")}
        wait("http", url="https://example.org", headers=token, kwargs={"timeout": 5}, timeout="6h")
        wait.options(result="event.json")("own.triggers:Drop", name="x")
        wait.partial("duration").expand(duration=["1s", "2s"])
        collect.options(trigger={"class": "duration", "kwargs": {"duration": "5s"}})("x")

    http, own, mapped, resumed = tasks(flow)
    secret = {"secretRef": {"name": "jobs", "key": "token"}}
    arguments = {"url": "https://example.org", "headers": {"Authorization": secret}, "timeout": 5}
    assert http == {"name": "http", "trigger": {"class": "http", "kwargs": arguments, "timeout": "6h"}}
    assert own["name"] == "drop"
    assert own["trigger"] == {"class": "own.triggers:Drop", "kwargs": {"name": "x"}}
    assert own["result"] == "event.json"
    assert mapped["expand"] == [{"name": "duration", "over": ["1s", "2s"]}]
    assert resumed["args"] == {"path": "x"}


def test_a_container_has_a_command_and_variables() -> None:
    def flow() -> None:
        container("busybox:1.37", command=["sh", "-c"], args=["echo $city"], city=list_files("monday")[0])
        container.partial("busybox:1.37").expand(city=["Ulm", "Bonn"])
        container("own:1", tools=True)

    first, mapped, tools = tasks(flow)[1:]
    assert first["image"] == "busybox:1.37"
    assert first["container"] == {"command": ["sh", "-c"], "args": ["echo $city"]}
    assert first["args"] == {"city": "${tasks.list_files.result[0]}"}
    assert mapped["expand"] == [{"name": "city", "over": ["Ulm", "Bonn"]}]
    assert tools == {"name": "container_3", "image": "own:1", "container": {"tools": True}}


def test_a_container_has_a_script_variables_and_a_result() -> None:
    def flow() -> None:
        files = list_files("monday")
        container("python:3.13", script="print(1)", interpreter=["python3"], result="stdout", env={"PATH_IN": files})
        container("busybox:1.37", command=["cat", cast("str", files)], result={"path": "/tmp/out"})

        container("busybox:1.37", steps=[{"name": "one", "command": ["cat", files]}, {"name": "two", "script": "x"}])

    script, words, steps = tasks(flow)[1:]
    assert steps["container"]["steps"][0]["command"] == ["cat", "${tasks.list_files.result}"]
    assert script["container"] == {
        "env": [{"name": "PATH_IN", "value": "${tasks.list_files.result}"}],
        "script": "print(1)",
        "interpreter": ["python3"],
        "result": "stdout",
    }
    assert "args" not in script
    assert words["container"]["command"] == ["cat", "${tasks.list_files.result}"]
    assert words["container"]["result"] == {"path": "/tmp/out"}


def test_functions_without_a_mark_classes_and_names_are_tasks_by_python() -> None:
    def flow() -> None:
        python(sample.unmarked)("x")
        python(sample.Copy)(source="x")
        python(load)(path="y")
        python("legacy.tasks:copy")(path="z")

    paths = [f"{SAMPLE}:unmarked", f"{SAMPLE}:Copy", f"{SAMPLE}:load", "legacy.tasks:copy"]
    assert [task["python"] for task in tasks(flow)] == paths
    assert [task["args"] for task in tasks(flow)] == [{"path": "x"}, {"source": "x"}, {"path": "y"}, {"path": "z"}]


def test_further_named_arguments_are_arguments() -> None:
    assert tasks(lambda: sample.with_more("x", a="b"))[0]["args"] == {"path": "x", "a": "b"}


def test_a_task_uses_a_body_of_the_workflow() -> None:
    @workflow(bodies={"load": {"image": "load:1", "container": {"script": "load $city"}}})
    def flow() -> None:
        rome = use.options(name="rome", retries=2)("load", city="Rome")
        use("load", args={"body": rome})
        use({"template": "platform", "task": "check"}, table="orders")

    spec = flow()["spec"]
    assert spec["bodies"]["load"]["image"] == "load:1"
    assert spec["tasks"] == [
        {"name": "rome", "use": "load", "args": {"city": "Rome"}, "retries": {"limit": 2}},
        {"name": "load", "use": "load", "args": {"body": "${tasks.rome.result}"}},
        {"name": "check", "use": {"template": "platform", "task": "check"}, "args": {"table": "orders"}},
    ]

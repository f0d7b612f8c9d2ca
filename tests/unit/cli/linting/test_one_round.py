"""Errors of the schema do not hide errors of expressions: one round of lint shows both."""

from typing import Any

import pytest

from tests.support.builders import python
from tests.support.manifests import manifest
from tests.unit.cli.linting.findings import lint

WRONG = python("b", args={"x": "${tasks.lost.result}", "y": "${params.dya}"})
UNREADABLE: dict[str, dict[str, Any]] = {
    "a field of the wrong type": python("a", retries={"limit": "many"}),
    "a name with a hyphen": python("load-all"),
    "a bound": python("a", retries={"limit": 1000}),
    "two bodies": python("a", container={"command": ["x"]}),
    "a body that is no object": {"name": "a", "trigger": "wait"},
    "a missing name": {"python": "a:b"},
    "a duration": python("a", timeout="5 h"),
    "a rule of the schema": python("a", container={"script": "x", "command": ["x"]}),
}


def paths(*tasks: Any, **spec: Any) -> set[str]:
    body = manifest("Workflow", "run", {"image": "ingest:1.4", "tasks": list(tasks)} | spec)
    return {finding.path for finding in lint(body)}


@pytest.mark.parametrize("case", UNREADABLE)
def test_expressions_are_checked_beside_an_error_of_the_schema(case: str) -> None:
    found = paths(UNREADABLE[case], WRONG)
    assert {"spec.tasks[1].args.x", "spec.tasks[1].args.y"} <= found
    assert any(path.startswith("spec.tasks[0]") for path in found)


def test_a_reference_to_a_task_that_is_not_valid_is_no_second_error() -> None:
    reader = python("b", args={"rows": "${tasks.a.results}"}, after=["a"])
    broken = python("a", expand=[{"name": "x", "over": [1]}], retries={"limit": "many"})
    assert paths(broken, reader) == {"spec.tasks[0].retries.limit"}


def test_a_reference_to_the_name_with_underscores_is_no_second_error() -> None:
    reader = python("b", args={"rows": "${tasks.load_all.results}"})
    named = python("load-all", expand=[{"name": "x", "over": [1]}], python="ingest.tasks:load")
    assert paths(named, reader) == {"spec.tasks[0].name"}


def test_params_that_are_not_valid_are_no_error_of_expressions() -> None:
    reader = python("b", args={"day": "${params.day}"})
    assert paths(reader, params=["day"]) == {"spec.params"}


def test_each_word_of_a_command_that_is_wrong_is_reported() -> None:
    words = ["${a", "x", "${", "${tasks.lost.result}"]
    body = manifest("Workflow", "run", {"image": "b:1", "tasks": [{"name": "a", "container": {"command": words}}]})
    assert len(lint(body)) == 3


def test_each_input_that_is_wrong_is_reported_before_other_expressions() -> None:
    inputs = [{"name": f"x{n}", "from": {"task": "lost", "file": "x"}} for n in range(2)]
    reader = {"name": "a", "container": {"command": ["x"]}, "files": {"in": inputs}}
    found = paths(reader, WRONG)
    assert {f"spec.tasks[0].files.in[{n}].from" for n in range(2)} | {"spec.tasks[1].args.x"} <= found


@pytest.mark.parametrize("result", ["container", "steps"])
def test_a_path_of_a_result_with_an_expression_hides_no_other_one(result: str) -> None:
    program = {"command": ["x"], "result": {"path": "/tmp/${params.day}"}}
    container = program if result == "container" else {"steps": [{"name": "s", **program}]}
    found = paths({"name": "a", "container": container}, WRONG)
    assert {"spec.tasks[1].args.x", "spec.tasks[1].args.y"} <= found


def test_images_mounts_and_quantities_of_each_container_are_checked() -> None:
    wrong = {
        "name": "x",
        "image": "B:1",
        "volumeMounts": [{"name": "lost", "mountPath": "/x"}],
        "resources": {"limits": {"memory": "1 G"}},
    }
    pod = {"initContainers": [wrong], "sidecars": [wrong | {"name": "y"}]}
    found = paths({"name": "a", "container": {"steps": [{"name": "s", "command": ["x"], "image": "B:1"}]}, "pod": pod})
    fields = ("image", "volumeMounts[0].name", "resources.limits.memory")
    parts = {f"spec.tasks[0].pod.{kind}[0].{field}" for kind in ("initContainers", "sidecars") for field in fields}
    assert found == parts | {"spec.tasks[0].container.steps[0].image"}

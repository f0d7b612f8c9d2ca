"""A field of Argo, Tekton or Airflow is named with the field of Torpor that is meant."""

import pytest
from torpor_cli.linting import peer_fields
from torpor_cli.linting.finding import Path

from tests.unit.cli.linting.findings import messages

_RUN = {"apiVersion": "torpor.dev/v1alpha1", "kind": "Workflow", "metadata": {"generateName": "run-"}}


def hint(spec: dict[str, object], task: dict[str, object], container: dict[str, object]) -> str:
    """The hint of the only problem of a run with these fields more."""
    body = {"name": "a", "image": "x:1", "container": {"command": ["x"], **container}, **task}
    (message,) = messages(_RUN | {"spec": {"tasks": [body], **spec}})
    return message.partition("; did you mean ")[2]


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("onExit", '"hook: end" of a task?'),
        ("finally", '"hook: end" of a task?'),
        ("entrypoint", '"tasks", each with its own program?'),
        ("arguments", '"params"?'),
        ("nodeSelector", '"defaults.pod.nodeSelector"?'),
        ("ttlStrategy", '"ttlAfterFinished"?'),
    ],
)
def test_a_field_of_a_run_names_the_one_of_torpor(field: str, meant: str) -> None:
    assert hint({field: None}, {}, {}) == meant


@pytest.mark.parametrize(
    ("field", "meant"),
    [
        ("template", '"container", "python", "trigger", "run", "object" or "http"?'),
        ("arguments", '"args"?'),
        ("onExit", '"rule: all_done" of a task after it?'),
        ("outputs", '"container.result" or "files.out"?'),
        ("withSequence", '"expand" over "${range(3)}"?'),
        ("withItems", '"expand"?'),
    ],
)
def test_a_field_of_a_task_names_the_one_of_torpor(field: str, meant: str) -> None:
    assert hint({}, {field: None}, {}) == meant


@pytest.mark.parametrize(
    ("field", "meant"), [("image", '"image" of the task?'), ("volumeMounts", '"pod.volumeMounts" of the task?')]
)
def test_a_field_of_a_container_names_the_one_of_the_task(field: str, meant: str) -> None:
    assert hint({}, {}, {field: None}) == meant


@pytest.mark.parametrize(
    ("spec", "task", "container", "words"),
    [
        ({"params": [{"name": "a", "value": "b"}]}, {}, {}, "write {NAME: VALUE}"),
        ({}, {"when": [{"input": "a"}]}, {}, "write an expression, such as params.path in ['a', 'b']"),
        ({}, {"retries": 2}, {}, "write {limit: 2}"),
        ({}, {"args": ["a"]}, {}, "the arguments of a program are container.args"),
        ({}, {}, {"env": [{"name": "A", "value": 5}]}, "quote it"),
        ({}, {}, {"command": "echo a"}, "write a list, such as [echo, hello]"),
    ],
)
def test_a_value_in_the_form_of_another_engine_has_a_hint(
    spec: dict[str, object], task: dict[str, object], container: dict[str, object], words: str
) -> None:
    body = {"name": "a", "image": "x:1", "container": {"command": ["x"], **container}, **task}
    (message,) = messages(_RUN | {"spec": {"tasks": [body], **spec}})
    assert message.endswith(f"; {words}")


@pytest.mark.parametrize("path", [("spec", "volumes"), ("spec", "tasks", 0, "colour"), ("spec",)])
def test_other_fields_have_no_hint(path: Path) -> None:
    assert peer_fields.meant(path, {"sources"}) is None

"""Bodies of tasks: what a task gets of the body that it uses, field by field."""

from typing import Any

import pytest
from torpor_crds.models.defaults import PLACE_FIELDS, add_fields, body_additions
from torpor_crds.models.task import Task

BODY: dict[str, Any] = {
    "container": {"script": "load $city", "outcome": True, "env": [{"name": "A", "value": "1"}]},
    "args": {"mode": "full", "options": {"fast": True}},
    "retries": {"limit": 3, "delay": "5s"},
    "timeoutWhileDeferred": False,
    "pod": {"labels": {"example.com/team": "a"}, "tolerations": [{"key": "spot"}]},
    "files": {"in": [{"name": "table", "from": {"text": "x"}}]},
}


def complete(**task: Any) -> dict[str, Any]:
    written = {"name": "a", "use": "load"} | task
    return add_fields(written, body_additions(written, BODY))


def test_a_task_without_fields_has_those_of_its_body() -> None:
    assert complete() == {"name": "a", "use": "load"} | BODY


@pytest.mark.parametrize(
    ("field", "own", "expected"),
    [
        ("timeout", "1h", "1h"),
        ("retries", {"limit": 1}, {"limit": 1, "delay": "5s"}),
        ("args", {"mode": "delta"}, {"mode": "delta", "options": {"fast": True}}),
        ("args", {"options": {"slow": True}}, {"mode": "full", "options": {"slow": True}}),
        ("container", {"env": []}, BODY["container"]),
        (
            "container",
            {"env": [{"name": "B", "value": "2"}]},
            BODY["container"] | {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        ),
        (
            "container",
            {"env": [{"name": "A", "value": "2"}]},
            BODY["container"] | {"env": [{"name": "A", "value": "2"}]},
        ),
        ("pod", {"tolerations": [{"key": "gpu"}]}, BODY["pod"] | {"tolerations": [{"key": "gpu"}]}),
        ("pod", {"labels": {"b": "c"}}, BODY["pod"] | {"labels": {"b": "c", "example.com/team": "a"}}),
        (
            "files",
            {"in": [{"name": "other", "from": {"text": "y"}}]},
            {"in": [{"name": "table", "from": {"text": "x"}}, {"name": "other", "from": {"text": "y"}}]},
        ),
    ],
)
def test_a_field_of_the_task_is_merged_with_that_of_its_body(field: str, own: Any, expected: Any) -> None:
    assert complete(**{field: own})[field] == expected


def test_a_stored_default_of_the_schema_is_no_choice_of_the_task() -> None:
    assert complete(timeoutWhileDeferred=True)["timeoutWhileDeferred"] is False
    assert complete(container={"outcome": False})["container"]["outcome"] is False  # the schema has no default for it


def test_a_body_says_nothing_of_the_place_of_a_task() -> None:
    body = {"name": "b", "after": ["c"], "when": "false", "use": "d", "timeout": "1h"}
    assert add_fields({"name": "a"}, body_additions({"name": "a"}, body)) == {"name": "a", "timeout": "1h"}


def test_fields_of_the_place_are_fields_of_a_task() -> None:
    assert {field.alias or name for name, field in Task.model_fields.items()} >= PLACE_FIELDS


def test_a_task_that_has_its_body_gets_nothing_more() -> None:
    assert list(body_additions(complete(container={"env": [{"name": "B", "value": "2"}]}), BODY)) == []


def test_the_body_and_the_task_stay_as_they_are() -> None:
    task = {"name": "a", "retries": {"limit": 1}}
    add_fields(task, body_additions(task, BODY))
    assert task == {"name": "a", "retries": {"limit": 1}}
    assert BODY["retries"] == {"limit": 3, "delay": "5s"}

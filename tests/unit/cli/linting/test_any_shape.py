"""Lint reports files of any shape and never fails itself."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.cli.linting.findings import lint, lint_text
from tests.unit.cli.linting.test_graph import workflow

_FULL = workflow(
    {
        "name": "a",
        "python": "m:f",
        "after": ["b"],
        "group": "cities",
        "args": {"x": "${tasks.b.result}", "y": [1, {"z": None}]},
        "expand": [{"name": "row", "over": [1, 2], "map": "m:g"}],
        "retries": {"limit": 2, "delay": "1s"},
        "pod": {
            "env": [{"name": "A", "value": "${params.day}"}],
            "volumes": [{"name": "v", "emptyDir": {}}],
            "volumeMounts": [{"name": "v", "mountPath": "/v"}],
            "resources": {"limits": {"memory": "1Gi"}},
        },
    },
    {"name": "b", "trigger": {"class": "http", "kwargs": {"url": "x", "headers": {"A": "b"}}}, "result": "event.json"},
    {"name": "c", "container": {"command": ["echo"], "args": ["${params.day}"]}, "when": "params.day == 'x'"},
    {"name": "d", "trigger": {"class": "any_of", "kwargs": {"triggers": [{"class": "time", "kwargs": {"at": "x"}}]}}},
    params={"day": "x"},
    groups=[{"name": "cities", "expand": [{"name": "city", "over": {"k": 1}}]}],
)
_TEMPLATE = _FULL | {
    "kind": "WorkflowTemplate",
    "spec": {
        "params": [{"name": "n", "type": "integer", "default": 1, "enum": [1, 2]}, {"name": "d", "pattern": "x+"}],
        "workflow": {**_FULL["spec"]},
    },
}
_SCHEDULE = _FULL | {
    "kind": "Schedule",
    "spec": {
        "sources": [
            {"name": "s", "cron": "0 2 * * *", "timezone": "UTC"},
            {"name": "t", "trigger": {"class": "time", "kwargs": {"at": "x"}}},
        ],
        "allOf": ["s"],
        "within": "1h",
        "workflow": {**_FULL["spec"]},
        "params": {"day": "${at}"},
        "when": "event.at != ''",
        "notBefore": "2026-11-01T00:00:00Z",
        "notAfter": "2026-11-02T00:00:00Z",
    },
}
_PERIOD = {"from": "2026-11-01T00:00:00Z", "to": "2026-11-02T00:00:00Z"}
_BACKFILL = _FULL | {"kind": "Backfill", "spec": {"schedule": "x", "params": {"day": "y"}, **_PERIOD}}
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8) | st.just("${x}"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)


def paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Every path of a value, longest first."""
    match value:
        case dict():
            children = list(value.items())
        case list():
            children = list(enumerate(value))
        case _:
            children = []
    return [*(nested for key, child in children for nested in paths(child, (*path, key))), *([path] if path else [])]


def replaced(full: Any, changes: list[tuple[tuple[str | int, ...], Any]]) -> Any:
    """A full object with values replaced, as far as their place still exists."""
    body: Any = copy.deepcopy(full)
    for path, value in changes:
        owner = body
        for part in path[:-1]:
            try:
                owner = owner[part]
            except (KeyError, IndexError, TypeError):
                break
        else:
            if isinstance(owner, list | dict):
                try:
                    owner[path[-1]] = value  # type: ignore[index]
                except (IndexError, TypeError):
                    continue
    return body


def changes_of(full: Any) -> st.SearchStrategy[list[tuple[tuple[str | int, ...], Any]]]:
    return st.lists(st.tuples(st.sampled_from(paths(full)), _JSON), min_size=1, max_size=3)


@settings(max_examples=100)
@given(changes=changes_of(_FULL))
def test_a_workflow_with_any_values_is_reported(changes: list[tuple[tuple[str | int, ...], Any]]) -> None:
    for finding in lint(replaced(_FULL, changes)):
        assert finding.line >= 1
        assert finding.message


@pytest.mark.parametrize("full", [_TEMPLATE, _SCHEDULE, _BACKFILL], ids=lambda full: full["kind"])
@settings(max_examples=50)
@given(data=st.data())
def test_an_object_of_another_kind_with_any_values_is_reported(full: Any, data: st.DataObject) -> None:
    for finding in lint(replaced(full, data.draw(changes_of(full)))):
        assert finding.line >= 1
        assert finding.message


@given(text=st.text(max_size=60))
def test_any_text_is_reported(text: str) -> None:
    assert lint_text(text)

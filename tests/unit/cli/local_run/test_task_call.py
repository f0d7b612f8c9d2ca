"""The arguments of one task, as far as the file has them."""

from typing import Any

import pytest
from torpor.debugging import DebugRequest
from torpor_cli.errors import CliError, UnknownNameError, UsageError
from torpor_cli.local_run import task_call

_SPEC: dict[str, Any] = {
    "params": {"day": "2026-11-20", "files": ["a", "b", "c"], "limits": {"x": 1, "y": 2}},
    "groups": [
        {"name": "cities", "expand": [{"name": "city", "over": ["Husum", "Kiel"]}]},
        {"name": "years", "in": "cities", "expand": [{"name": "year", "over": [2025, 2026]}]},
    ],
    "tasks": [
        {"name": "drop", "trigger": {"class": "duration", "kwargs": {"duration": "5s"}}},
        {"name": "list", "python": "ingest:list_files", "args": {"day": "${params.day}", "deep": {"n": 1}}},
        {
            "name": "load",
            "python": "ingest:load",
            "expand": [{"name": "path", "over": "${params.files}", "map": "ingest:strip"}],
            "args": {"label": "${mapping.value} of ${params.day}"},
        },
        {"name": "limit", "python": "ingest:limit", "expand": [{"name": "entry", "over": "${params.limits}"}]},
        {
            "name": "many",
            "python": "ingest:f",
            "expand": [{"name": "a", "over": [1, 2]}, {"name": "b", "over": [3, 4]}],
        },
        {"name": "kwargs", "python": "ingest:f", "expandKwargs": [{"a": 1}, {"a": "two"}]},
        {"name": "later", "python": "ingest:f", "expand": [{"name": "path", "over": "${tasks.list.result}"}]},
        {"name": "total", "python": "ingest:total", "args": {"rows": "${tasks.load.results}", "one": 1}},
        {
            "name": "deep",
            "group": "years",
            "python": "ingest:f",
            "expand": [{"name": "n", "over": [7, 8]}],
            "args": {"city": "${groups.cities.value}", "year": "${groups.years.value}"},
        },
        {
            "name": "react",
            "trigger": {"class": "http", "kwargs": {"url": "https://x/${params.day}"}, "timeout": "1h"},
            "python": "ingest:react",
        },
        {"name": "shell", "container": {"command": ["true"]}, "image": "busybox"},
    ],
}


def call(name: str, *path: int, **given: Any) -> DebugRequest:
    return task_call.build(_SPEC, (name, path), given=given)


def test_arguments_are_constants_and_expressions_over_params() -> None:
    task_call = call("list")
    assert (task_call.python, task_call.task, task_call.map_index) == ("ingest:list_files", "list", -1)
    assert task_call.arguments == {"day": "2026-11-20", "deep": {"n": 1}}


def test_given_arguments_win() -> None:
    assert call("list", day="tomorrow", more=True).arguments == {"day": "tomorrow", "deep": {"n": 1}, "more": True}


def test_an_instance_has_its_item_its_mapping_and_its_map_functions() -> None:
    task_call = call("load", 2)
    assert task_call.arguments == {"label": "c of 2026-11-20", "path": "c"}
    assert (task_call.maps, task_call.map_index) == ({"path": "ingest:strip"}, 2)
    assert call("load").arguments["path"] == "a"


def test_an_entry_of_an_object_is_a_pair() -> None:
    assert call("limit", 1).arguments == {"entry": ["y", 2]}


def test_the_last_list_of_a_product_changes_fastest() -> None:
    assert [call("many", index).arguments for index in range(4)] == [
        {"a": 1, "b": 3},
        {"a": 1, "b": 4},
        {"a": 2, "b": 3},
        {"a": 2, "b": 4},
    ]


def test_an_object_of_expand_kwargs_is_the_arguments() -> None:
    assert call("kwargs", 1).arguments == {"a": "two"}


def test_a_task_in_groups_sees_their_items() -> None:
    task_call = call("deep", 1, 0, 1)
    assert task_call.arguments == {"city": "Kiel", "year": 2025, "n": 8}
    assert (task_call.group_indexes, task_call.map_index) == ((1, 0), 1)


def test_the_trigger_before_the_task_has_the_values_of_params() -> None:
    assert call("react").first_wait == {"class": "http", "kwargs": {"url": "https://x/2026-11-20"}, "timeout": "1h"}


def test_results_are_a_list_of_results() -> None:
    task_call = call("total", rows=[1, 2])
    assert (task_call.arguments, task_call.lists) == ({"rows": [1, 2], "one": 1}, ("rows",))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "total",
            "task total needs values of a run: rows is ${tasks.load.results}; write --args '{\"rows\": ...}'",
        ),
        ("later", "task later needs values of a run: path is ${tasks.list.result}; write --args '{\"path\": ...}'"),
    ],
)
def test_values_that_only_a_run_has_are_named(name: str, expected: str) -> None:
    with pytest.raises(UsageError) as raised:
        call(name)
    assert str(raised.value) == expected
    assert call(name, path="p", rows=[]).arguments


def test_an_instance_of_an_unknown_list_may_have_any_index() -> None:
    assert call("later", 7, path="p").map_index == 7


@pytest.mark.parametrize(
    ("name", "path", "expected"),
    [
        ("lod", (), "there is no task 'lod'; did you mean load?"),
        ("drop", (), "task drop is a wait without code; --task runs Python functions"),
        ("shell", (), "task shell is a container; --task runs Python functions in this process"),
        ("list", (0,), "task list is not mapped; write --task list"),
        ("load", (0, 1), "task load has 1 index; write --task load/0"),
        ("load", (3,), "task load: there is no instance 3"),
        ("kwargs", (2,), "task kwargs: expandKwargs has no object 2"),
    ],
)
def test_a_task_that_cannot_be_called_is_refused(name: str, path: tuple[int, ...], expected: str) -> None:
    with pytest.raises((CliError, UsageError, UnknownNameError)) as raised:
        call(name, *path)
    assert str(raised.value) == expected


def test_an_item_never_replaces_an_argument_that_the_author_set() -> None:
    spec = {"tasks": [{"name": "a", "python": "m:f", "args": {"x": 1}, "expandKwargs": [{"x": 2}]}]}
    with pytest.raises(CliError, match=r"^task a: expandKwargs: item 0: x is also a constant in args; remove one$"):
        task_call.build(spec, ("a", (0,)), given={})


def test_an_expression_that_fails_is_reported() -> None:
    spec = {"params": {}, "tasks": [{"name": "a", "python": "m:f", "args": {"x": "${params.missing}"}}]}
    with pytest.raises(CliError, match=r"^task a: "):
        task_call.build(spec, ("a", ()), given={})

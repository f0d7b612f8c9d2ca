from collections.abc import Mapping
from typing import Any

import pytest
from torpor_client.changes import clear_preview
from torpor_client.errors import UserError
from torpor_views.model import RunView

_TASKS: list[dict[str, Any]] = [
    {"name": "files", "python": "m:f"},
    {"name": "load", "python": "m:f", "expand": [{"name": "path", "over": "${tasks.files.result}"}]},
    {"name": "report", "python": "m:f", "after": ["load"]},
    {"name": "notify", "python": "m:f", "hook": "end"},
]
_GROUPED: list[dict[str, Any]] = [
    {"name": "fetch", "python": "m:f", "group": "day"},
    {"name": "clean", "python": "m:f", "group": "day", "after": ["fetch"]},
    {"name": "total", "python": "m:f", "after": ["clean"]},
]


def parsed(
    tasks: list[dict[str, Any]], states: Mapping[str, str], taskruns: Mapping[tuple[str, int | None], str]
) -> RunView:
    grouped = any(task.get("group") for task in tasks)
    status = {"state": "Failed", "tasks": [{"name": name, "state": state} for name, state in states.items()]}
    spec = {"tasks": tasks} | (
        {"groups": [{"name": "day", "expand": [{"name": "d", "over": "${[1, 2]}"}]}]} if grouped else {}
    )
    workflow = {"metadata": {"name": "w", "uid": "u"}, "spec": spec, "status": status}
    items = []
    for (task, index), state in taskruns.items():
        place = {} if index is None else {"groupIndexes": [index]} if grouped else {"mapIndex": index}
        spec_of_run = {"workflow": {"name": "w", "uid": "u"}, "task": task, **place}
        name = f"{task}-{index}"
        metadata = {"name": name, "uid": name, "ownerReferences": [{"uid": "u"}]}
        items.append({"metadata": metadata, "spec": spec_of_run, "status": {"state": state}})
    return RunView.parse(workflow, items, now=0.0)


def mapped() -> RunView:
    return parsed(
        _TASKS,
        {"files": "Succeeded", "load": "Failed", "report": "UpstreamFailed", "notify": "Succeeded"},
        {
            ("files", None): "Succeeded",
            ("load", 0): "Succeeded",
            ("load", 1): "Failed",
            ("load", 2): "Succeeded",
            ("load", 3): "Failed",
            ("notify", None): "Succeeded",
        },
    )


def lines(run: RunView, *entries: str) -> list[str]:
    return [task.text() for task in clear_preview.preview(run, clear_preview.request(run, entries))]


def test_without_tasks_what_failed_runs_again_and_what_depends_on_it() -> None:
    assert clear_preview.request(mapped(), []) == "failed"
    assert lines(mapped()) == [
        "load/1,3 (2 TaskRuns)",
        "report (not started yet)",
        "notify (1 TaskRun, depends on these)",
    ]


def test_a_named_instance_runs_again_with_the_tasks_after_it() -> None:
    assert clear_preview.request(mapped(), ["load/2"]) == "load/2"
    assert lines(mapped(), "load/2")[0] == "load/2 (1 TaskRun)"


def test_a_named_task_takes_all_its_instances() -> None:
    assert lines(mapped(), "files")[:2] == ["files (1 TaskRun)", "load (4 TaskRuns, depends on these)"]


def test_in_a_group_only_the_same_indexes_run_again() -> None:
    run = parsed(
        _GROUPED,
        {"fetch": "Failed", "clean": "Succeeded", "total": "Succeeded"},
        {(task, index): "Succeeded" for task in ("fetch", "clean") for index in (0, 1)}
        | {("total", None): "Succeeded"},
    )
    assert lines(run, "fetch/1") == [
        "fetch/1 (1 TaskRun)",
        "clean/1 (1 TaskRun, depends on these)",
        "total (1 TaskRun, depends on these)",
    ]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("laod", "there is no task 'laod'; did you mean load"),
        ("files/1", "task files has one instance"),
        ("load/9", "there is no instance 'load/9'; load has 0, 1, 2, 3"),
        ("load/x", "'x' is not an index"),
    ],
)
def test_what_the_operator_would_refuse_is_refused_first(entry: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        clear_preview.request(mapped(), [entry])


def test_a_run_in_which_nothing_failed_has_nothing_to_retry() -> None:
    run = parsed(_TASKS, {"files": "Succeeded"}, {("files", None): "Succeeded"})
    with pytest.raises(UserError, match="nothing of w has failed"):
        clear_preview.request(run, [])

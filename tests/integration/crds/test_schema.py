"""What the API server itself makes of the CRDs."""

from typing import Any

import pytest
from torpor_wire import times, transitions
from torpor_wire.state import State

from tests.integration.conftest import Server
from tests.support.manifests import manifest

_EVERYWHERE = "/apis/torpor.dev/v1alpha1/namespaces"


def taskrun(name: str = "run-task-12345", **spec: Any) -> dict[str, Any]:
    body = {"workflow": {"name": "run", "uid": "u"}, "task": "task", "image": "x", "python": "a:b"} | spec
    return manifest("TaskRun", name, body)


def workflow(*tasks: dict[str, Any], **spec: Any) -> dict[str, Any]:
    return manifest("Workflow", "run", {"tasks": list(tasks)} | spec)


@pytest.mark.parametrize("plural", ["workflows", "taskruns"])
def test_the_schema_is_structural_and_the_names_are_free(server: Server, plural: str) -> None:
    path = f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.torpor.dev"
    conditions = server.request("GET", path).expect(200)["status"]["conditions"]
    states = {each["type"]: each["status"] for each in conditions}
    assert states == {"NamesAccepted": "True", "Established": "True"}


def test_a_new_taskrun_is_scheduled_even_where_its_creator_says_otherwise(server: Server, namespace: str) -> None:
    body = taskrun() | {"status": {"state": "Succeeded", "attempt": 5}}
    created = server.create("taskruns", namespace, body).expect(201)
    assert created["status"] == {"state": "Scheduled", "attempt": 1, "segment": 0, "launch": 0, "history": []}


def test_waits_can_be_selected_by_state_pool_and_shard(server: Server, namespace: str) -> None:
    server.create("taskruns", namespace, taskrun()).expect(201)
    trigger = {"class": "time", "kwargs": "{}", "key": "k", "shard": 7, "waitsFor": "time"}
    patch: list[dict[str, Any]] = [
        {"op": "add", "path": "/status/state", "value": "Deferred"},
        {"op": "add", "path": "/status/trigger", "value": trigger},
    ]
    server.patch_status(namespace, "run-task-12345", patch).expect(200)

    def selected(selector: str) -> int:
        path = f"{_EVERYWHERE}/{namespace}/taskruns"
        return len(server.request("GET", path, fieldSelector=selector).expect(200)["items"])

    assert selected("status.state%3DDeferred,spec.triggerPool%3Ddefault,status.trigger.shard%3D7") == 1
    assert selected("status.state%3DDeferred,status.trigger.shard%3D8") == 0


def test_columns_say_what_a_taskrun_waits_for(server: Server) -> None:
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/taskruns.torpor.dev"
    version = server.request("GET", path).expect(200)["spec"]["versions"][0]
    columns = [column["name"] for column in version["additionalPrinterColumns"] if not column.get("priority")]
    assert columns == ["Workflow", "Task", "Index", "State", "Reason", "Attempt", "Waits-For", "Age"]


def rows(server: Server, namespace: str) -> dict[str, dict[str, Any]]:
    """What `kubectl get taskruns -o wide` prints, by name."""
    table = {"Accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    url = f"{server.url}{_EVERYWHERE}/{namespace}/taskruns"
    answer = server.administrator.request("GET", url, headers=table).json()
    names = [column["name"] for column in answer["columnDefinitions"]]
    rows = [dict(zip(names, row["cells"], strict=True)) for row in answer["rows"]]
    return {row["Name"]: row for row in rows}


def test_wide_columns_show_the_group_indexes_and_name_of_a_taskrun(server: Server, namespace: str) -> None:
    named = taskrun(groupIndexes=[2, 0], mapIndex=3, displayName="load Bonn")
    server.create("taskruns", namespace, named).expect(201)
    server.create("taskruns", namespace, taskrun("run-task-alone")).expect(201)
    shown = ("Group-Indexes", "Index", "Display-Name")
    assert {name: {column: row[column] for column in shown} for name, row in rows(server, namespace).items()} == {
        "run-task-12345": {"Group-Indexes": "[2,0]", "Index": 3, "Display-Name": "load Bonn"},
        "run-task-alone": {"Group-Indexes": None, "Index": None, "Display-Name": None},
    }


def test_an_ended_taskrun_shows_its_duration_and_its_end(server: Server, namespace: str) -> None:
    made = server.create("taskruns", namespace, taskrun()).expect(201)
    ended = times.epoch(made["metadata"]["creationTimestamp"]) + 75
    pin = transitions.Pin(made["metadata"]["uid"], made["metadata"]["creationTimestamp"], State.SCHEDULED, 1, 0)
    patch = transitions.cancel(pin, message="no", now=ended)
    server.patch_status(namespace, "run-task-12345", patch).expect(200)
    row = rows(server, namespace)["run-task-12345"]
    assert (row["Duration"], row["Finished-At"]) == ("1m15s", times.rfc3339(ended))


def test_nulls_among_params_and_arguments_are_kept(server: Server, namespace: str) -> None:
    task = {"name": "a", "python": "m:f", "image": "x", "args": {"none": None, "deep": {"none": None}}}
    body = workflow(task, params={"none": None})
    spec = server.create("workflows", namespace, body).expect(201)["spec"]
    assert spec["params"] == {"none": None}
    assert spec["tasks"][0]["args"] == {"none": None, "deep": {"none": None}}


def test_a_cleared_field_is_gone(server: Server, namespace: str) -> None:
    server.create("taskruns", namespace, taskrun()).expect(201)
    for value in ("a", None):
        patch = [{"op": "add", "path": "/status/message", "value": value}]
        status = server.patch_status(namespace, "run-task-12345", patch).expect(200)["status"]
    assert "message" not in status


_TRIGGER = {"name": "a", "trigger": {"class": "time"}}
_PYTHON = {"name": "a", "python": "m:f", "image": "x"}

REFUSED = {
    "no tasks": (workflow(), "spec.tasks in body should have at least 1 items"),
    "duplicate names": (workflow(_TRIGGER, _TRIGGER), "Duplicate value"),
    "an unknown runtime": (workflow(_PYTHON | {"runtime": "inject"}), 'supported values: "Inject", "Image"'),
    "an amount that is no quantity": (
        workflow(_PYTHON | {"pod": {"resources": {"limits": {"memory": "1 GB"}}}}),
        "spec.tasks[0].pod.resources.limits.memory",
    ),
    "a source without a name": (workflow(_PYTHON, source={}), "spec.source.configMap"),
    "a source that is no name": (
        workflow(_PYTHON | {"source": {"configMap": "a/b"}}),
        "spec.tasks[0].source.configMap",
    ),
    "a group over no list": (
        workflow(_PYTHON, groups=[{"name": "land", "expand": []}]),
        "spec.groups[0].expand in body should have at least 1 items",
    ),
    "a dash in a group's name": (
        workflow(_PYTHON, groups=[{"name": "a-b", "expand": [{"name": "x", "over": [1]}]}]),
        "spec.groups[0].name in body should match '^[a-z][a-z0-9_]*$'",
    ),
    "a dash in a name": (workflow(_PYTHON | {"name": "a-b"}), "should match '^[a-z][a-z0-9_]*$'"),
    "a name that YAML made a boolean": (workflow(_PYTHON | {"name": True}), "must be of type string"),
    "an unknown rule": (workflow(_PYTHON | {"rule": "some"}), "supported values"),
    "a duration in words": (workflow(_PYTHON | {"timeout": "soon"}), "spec.tasks[0].timeout"),
    "too many tasks": (workflow(*[_TRIGGER | {"name": f"t{n}"} for n in range(501)]), "at most 500 items"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_the_schema_refuses(server: Server, namespace: str, case: str) -> None:
    body, said = REFUSED[case]
    answer = server.create("workflows", namespace, body)
    assert answer.status == 422, answer.message
    assert said in answer.message


def test_a_misspelt_field_is_named_where_the_client_asks_for_it(server: Server, namespace: str) -> None:
    body = workflow(_PYTHON | {"retires": {"limit": 1}})
    answer = server.create("workflows", namespace, body, fieldValidation="Strict")
    assert answer.status == 400
    assert 'unknown field "spec.tasks[0].retires"' in answer.message


def test_five_hundred_tasks_in_a_chain_are_let_in(server: Server, namespace: str) -> None:
    chain = [_TRIGGER | {"name": f"t{n}", "after": [f"t{m}" for m in range(max(0, n - 100), n)]} for n in range(500)]
    server.create("workflows", namespace, workflow(*chain)).expect(201)

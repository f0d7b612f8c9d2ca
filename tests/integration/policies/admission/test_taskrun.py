"""Policy torpor-taskrun: the spec of a TaskRun is checked when it is created, and never changes afterwards."""

import copy
from typing import Any

import pytest

from tests.integration.conftest import Answer, eventually
from tests.integration.policies.admission.person import MERGE, RBAC, Desk
from tests.support.manifests import manifest

_BODIES = {"python": "a:b", "container": {"command": ["run"]}, "trigger": {"class": "time"}}
_OWNER = {"name": "w", "uid": "u"}
_IMMUTABLE = "the spec of a TaskRun is immutable; change the Workflow, then clear the task"


@pytest.fixture
def office(desk: Desk) -> Desk:
    """The desk, and one more account, which may update and patch TaskRuns."""
    eventually(lambda: create(desk, workflow=_OWNER, schedule=_OWNER).status == 422, "the policy is in force")
    rule = {"apiGroups": ["torpor.dev"], "resources": ["taskruns"], "verbs": ["get", "update", "patch"]}
    metadata = {"name": "torpor-tests-editor"}
    desk.server.apply({"apiVersion": f"{RBAC}/v1", "kind": "ClusterRole", "metadata": metadata, "rules": [rule]})
    desk.person("editor", "torpor-tests-editor")
    return desk


def create(desk: Desk, **spec: Any) -> Answer:
    body = manifest("TaskRun", "tried", {"task": "t", "image": "x", **spec})
    return desk.server.create("taskruns", desk.namespace, body, dryRun="All")


def patch_spec(desk: Desk, person: str | None, **spec: Any) -> Answer:
    token = desk.tokens[person] if person else None
    return desk.server.request("PATCH", desk.path, {"spec": spec}, token=token, content_type=MERGE)


@pytest.mark.parametrize("person", [None, "ann", "editor"], ids=["administrator", "approver", "editor"])
@pytest.mark.parametrize(
    "change",
    [{"triggerPool": "another"}, {"image": "added"}, {"trigger": {"kwargs": '{"a": 1}'}}, {"workflow": {"uid": "v"}}],
    ids=str,
)
def test_no_user_can_change_the_spec(office: Desk, person: str | None, change: dict[str, Any]) -> None:
    answer = patch_spec(office, person, **change)
    assert answer.status == 422, answer.message
    assert answer.message.endswith(_IMMUTABLE)
    assert answer.causes


@pytest.mark.parametrize("person", [None, "editor"], ids=["administrator", "editor"])
def test_an_update_changes_the_metadata_and_not_the_spec(office: Desk, person: str | None) -> None:
    token = office.tokens[person] if person else None
    taskrun = office.server.request("GET", office.path).expect(200)
    labelled = copy.deepcopy(taskrun)
    labelled["metadata"]["labels"] = {"example.org/label": "x"}
    changed = copy.deepcopy(labelled)
    changed["spec"]["task"] = "another"
    assert office.server.request("PUT", office.path, changed, token=token).status == 422
    office.server.request("PUT", office.path, labelled, token=token).expect(200)


def test_a_status_write_leaves_the_spec_as_it_is(office: Desk) -> None:
    before = office.server.request("GET", office.path).expect(200)["spec"]
    office.set_status()
    patch = [
        {"op": "replace", "path": "/spec/task", "value": "another"},
        {"op": "add", "path": "/status/message", "value": "x"},
    ]
    office.server.patch_status(office.namespace, "deploy", patch).expect(200)
    after = office.server.request("GET", office.path).expect(200)
    assert (after["spec"], after["status"]["message"]) == (before, "x")


@pytest.mark.parametrize(
    ("bodies", "valid"),
    [
        (["python"], True),
        (["container"], True),
        (["trigger"], True),
        (["trigger", "python"], True),
        ([], False),
        (["python", "container"], False),
        (["trigger", "container"], False),
        (["trigger", "python", "container"], False),
    ],
    ids=str,
)
def test_a_taskrun_has_one_body(office: Desk, bodies: list[str], valid: bool) -> None:
    answer = create(office, workflow=_OWNER, **{name: _BODIES[name] for name in bodies})
    assert answer.status == (201 if valid else 422), answer.message
    assert valid or "set exactly one of python, container and trigger" in answer.message


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"trigger": {"class": "time"}}, "set exactly one of workflow and schedule"),
        ({"trigger": {"class": "time"}, "workflow": _OWNER, "schedule": _OWNER}, "set exactly one of workflow"),
        ({"python": "a:b", "schedule": _OWNER}, "a TaskRun of a Schedule is a trigger"),
        ({"python": "a:b", "trigger": {"class": "time"}, "schedule": _OWNER}, "a TaskRun of a Schedule is a trigger"),
        ({"trigger": {"class": "time"}, "schedule": _OWNER}, ""),
    ],
)
def test_a_taskrun_has_one_owner(office: Desk, spec: dict[str, Any], said: str) -> None:
    answer = create(office, **spec)
    assert answer.status == (422 if said else 201), answer.message
    assert said in answer.message

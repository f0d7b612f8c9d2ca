"""ServiceAccounts that tasks name, against those of the same file."""

from typing import Any

import pytest
from torpor_cli.linting.finding import Severity
from torpor_wire import constants

from tests.support.manifests import manifest
from tests.unit.cli.linting.findings import lint

_NAMED = {"serviceAccountName": "deployer"}
_BODY = {"image": "i:1", "container": {"command": ["x"]}}
_TASK = {"name": "a", **_BODY}
_JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"generateName": "j-"}, "spec": {}}


def _account(name: str = "deployer", **annotations: str) -> dict[str, Any]:
    marks = {key.replace("__", "/"): value for key, value in annotations.items()}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "annotations": marks}}


def _findings(account: object, body: object) -> list[tuple[str, str]]:
    found = lint({"apiVersion": "v1", "kind": "List", "items": [account, body]})
    assert {finding.severity for finding in found} <= {Severity.WARNING}
    return [(finding.path, finding.message) for finding in found]


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"tasks": [{**_TASK, "pod": _NAMED}]}, "spec.tasks[0].pod.serviceAccountName"),
        (
            {"tasks": [{"name": "a", "object": {**_NAMED, "manifest": _JOB}}]},
            "spec.tasks[0].object.serviceAccountName",
        ),
        ({"tasks": [_TASK], "defaults": {"pod": _NAMED}}, "spec.defaults.pod.serviceAccountName"),
        (
            {"bodies": {"b": {"pod": _NAMED, **_BODY}}, "tasks": [{"name": "a", "use": "b"}]},
            "spec.bodies.b.pod.serviceAccountName",
        ),
    ],
    ids=["task", "object", "defaults", "body"],
)
def test_an_account_that_tasks_may_not_use_is_a_warning(spec: dict[str, Any], path: str) -> None:
    workflow = manifest("Workflow", "run", spec)
    message = (
        "ServiceAccount deployer of this file may not be used by tasks: add the annotation torpor.dev/tokens: allowed "
        "to it"
    )
    assert _findings(_account(), workflow) == [(path, message)]
    template = manifest("WorkflowTemplate", "run", {"workflow": spec})
    assert _findings(_account(), template) == [(path.replace("spec", "spec.workflow", 1), message)]
    assert _findings(_account(**{"torpor.dev__tokens": "allowed"}), workflow) == []
    assert _findings(_account("other"), workflow) == []


@pytest.mark.parametrize(
    ("of_account", "of_run", "warns"),
    [("", "", True), ("data", "data", True), ("data", "", True), ("", "data", True), ("data", "ml", False)],
)
def test_an_account_of_another_namespace_is_no_warning(of_account: str, of_run: str, warns: bool) -> None:
    account, run = _account(), manifest("Workflow", "run", {"tasks": [{**_TASK, "pod": _NAMED}]})
    account["metadata"] |= {"namespace": of_account} if of_account else {}
    run["metadata"] |= {"namespace": of_run} if of_run else {}
    assert bool(_findings(account, run)) is warns


@pytest.mark.parametrize(("token", "warns"), [({}, False), ({"serviceAccountToken": True}, True)])
def test_the_token_of_the_account_of_all_tasks_needs_the_mark(token: dict[str, Any], warns: bool) -> None:
    pod = {"serviceAccountName": constants.TASK_ACCOUNT, **token}
    run = manifest("Workflow", "run", {"tasks": [{**_TASK, "pod": pod}]})
    assert bool(_findings(_account(constants.TASK_ACCOUNT), run)) is warns


@pytest.mark.parametrize("account", [{}, {"metadata": 5}, {"metadata": {"name": ["x"], "annotations": "y"}}])
def test_an_account_of_any_shape_is_no_error(account: dict[str, Any]) -> None:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", **account}
    assert _findings(account, manifest("Workflow", "run", {"tasks": [{**_TASK, "pod": _NAMED}]})) == []

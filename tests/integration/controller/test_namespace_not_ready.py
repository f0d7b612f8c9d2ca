"""A Workflow in a namespace that is not set up shows the commands that set it up, and continues after them."""

import re
from dataclasses import replace
from typing import Any

from tests.integration.controller.stage import ControllerFixture

_NAMESPACE = "nobodys"
_ALARM = {"name": "alarm", "trigger": {"class": "duration", "kwargs": {"duration": "1s"}}}
_RBAC = "rbac.authorization.k8s.io"


def condition(status: dict[str, Any], name: str) -> dict[str, Any]:
    return next((each for each in status.get("conditions", []) if each["type"] == name), {})


def test_a_run_in_a_namespace_without_setup_shows_the_cause_and_continues(stage: ControllerFixture) -> None:
    stage.server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}})
    elsewhere = replace(stage, namespace=_NAMESPACE)
    name = elsewhere.submit([_ALARM])
    elsewhere.until(
        lambda: condition(elsewhere.status(name), "Succeeded").get("reason") == "NamespaceNotReady",
        "the Workflow says what its namespace lacks",
    )
    status = elsewhere.status(name)
    message = condition(status, "Succeeded")["message"]
    assert condition(status, "Succeeded")["status"] == "Unknown"
    assert condition(status, "Stalled")["status"] == "True"
    assert elsewhere.taskruns(name) == []
    assert elsewhere.events(name) == [], "the operator writes no Event where it has no role"

    _run(stage, message)
    assert elsewhere.ends(name)["state"] == "Succeeded"
    assert condition(elsewhere.status(name), "Stalled")["status"] == "False"


def _run(stage: ControllerFixture, message: str) -> None:
    """What the message says to run, read off it: the operator's own part of it."""
    match = re.search(
        r"kubectl -n (\S+) create rolebinding torpor-operator --clusterrole=(\S+) --serviceaccount=(\S+):(\S+)$",
        message,
    )
    assert match is not None, message
    namespace, role, home, account = match.groups()
    stage.server.apply(
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "torpor-operator", "namespace": namespace},
            "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": role},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": home}],
        }
    )

"""What each check of `torpor doctor` decides about a cluster."""

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from torpor_cli.commands.tool.doctor import diagnose
from torpor_cli.diagnosis import namespace_checks
from torpor_cli.diagnosis.facts import CheckResult, DiagnosisFacts, Status, UnreadableFact
from torpor_cli.linting import bundled

from tests.unit.cli.diagnosis.healthy import (
    BINDINGS,
    BOUND,
    DEPLOYMENTS,
    HEALTHY,
    NOW,
    PUBLISHED,
    SCHEMAS,
    binding,
    deployment,
    lease,
    removed,
    role,
    run,
)

_DENIED = UnreadableFact(right="list things")


def results(facts: DiagnosisFacts) -> list[CheckResult]:
    return diagnose(facts, SCHEMAS, bundled.bound_policies())


def problems(**changes: Any) -> list[tuple[Status, str, str]]:
    checks = results(replace(HEALTHY, **changes))
    assert all(result.action for result in checks if result.status in {Status.WARNING, Status.FAILED})
    return [(result.status, result.check, result.message) for result in checks if result.status is not Status.OK]


def bindings_but(missing: str) -> list[dict[str, Any]]:
    return [binding(role) for role in BOUND if role != missing]


def without(schema: str, kind: str, field: str) -> dict[str, Any]:
    changed = copy.deepcopy(dict(PUBLISHED))
    del changed[kind]["properties"][schema]["properties"][field]
    return changed


def with_field(field: str) -> dict[str, Any]:
    changed = copy.deepcopy(dict(PUBLISHED))
    changed["Workflow"]["properties"]["spec"]["properties"][field] = {"type": "string"}
    return changed


def with_other_rule() -> list[dict[str, Any]]:
    changed = copy.deepcopy(list(bundled.policies()))
    changed[0]["spec"]["validations"][0]["expression"] = "true"
    return changed


_STUCK = (
    "5 deleted objects keep their finalizers: Workflow team/run-0, Workflow team/run-1, Workflow team/run-2 and 2 more"
)
_UNBOUND = (
    "namespace team does not bind ClusterRole torpor-operator-namespace: the operator may not create TaskRuns and pods"
)
_FIRST = bundled.policies()[0]["metadata"]["name"]


def test_a_healthy_installation_has_no_problem() -> None:
    assert problems() == []


@pytest.mark.parametrize(
    ("changes", "status", "check", "message"),
    [
        ({"kubernetes": "v1.31.2"}, "failed", "kubernetes", "Kubernetes is v1.31.2"),
        (
            {"schemas": {kind: schema for kind, schema in PUBLISHED.items() if kind != "TaskRun"}},
            "failed",
            "crds",
            "the cluster does not serve taskruns.torpor.dev",
        ),
        (
            {"schemas": without("spec", "Workflow", "parallelism")},
            "warning",
            "crds",
            "the CRDs are older than this command: no Workflow spec.parallelism",
        ),
        (
            {"schemas": with_field("colour")},
            "warning",
            "crds",
            "the CRDs are newer than this command: Workflow spec.colour",
        ),
        ({"policies": bundled.policies()[1:]}, "failed", "policies", f"not installed: {_FIRST}"),
        (
            {"bindings": BINDINGS[1:]},
            "failed",
            "policies",
            f"without a binding that denies: {_FIRST}",
        ),
        (
            {"bindings": [{"spec": {"policyName": _FIRST, "validationActions": ["Warn"]}}, *BINDINGS[1:]]},
            "failed",
            "policies",
            f"without a binding that denies: {_FIRST}",
        ),
        ({"policies": with_other_rule()}, "warning", "policies", f"different from those of this command: {_FIRST}"),
        (
            {"view": role(["get"])},
            "failed",
            "roles",
            "ClusterRole view does not include list taskruns.torpor.dev",
        ),
        ({"edit": None}, "failed", "roles", "ClusterRole edit does not include create workflows.torpor.dev"),
        (
            {"deployments": [deployment("operator", available=0), *DEPLOYMENTS[1:]]},
            "failed",
            "operator",
            "torpor-operator: none of 2 replicas is available",
        ),
        (
            {"deployments": [*DEPLOYMENTS[:2], deployment("archive", available=1)]},
            "warning",
            "archive",
            "torpor-archive: 1 of 2 replicas are available",
        ),
        (
            {"deployments": DEPLOYMENTS[:2]},
            "warning",
            "archive",
            "the archive is not installed: results have at most 8 kB, and no history",
        ),
        (
            {"deployments": DEPLOYMENTS[1:]},
            "failed",
            "operator",
            "no Deployment of the operator in torpor-system",
        ),
        (
            {"deployments": [*DEPLOYMENTS[:2], deployment("archive", image="torpor:2")]},
            "warning",
            "versions",
            "the components have different images: torpor:1, torpor:2",
        ),
        (
            {"leases": [lease("torpor-operator", age=100), lease("x", pool="default")]},
            "failed",
            "leader",
            "no operator leads: the Lease torpor-operator was renewed 100 s ago",
        ),
        (
            {"leases": [lease("torpor-operator", holder=""), lease("x", pool="default")]},
            "failed",
            "leader",
            "no operator leads: no process holds the Lease torpor-operator",
        ),
        (
            {"leases": [lease("torpor-operator"), lease("x", pool="default", age=100)]},
            "failed",
            "pools",
            "no triggerer serves pool default, which a uses",
        ),
        (
            {"workflows": [run("a"), run("b", pool="own"), run("c", pool="old", state="Succeeded")]},
            "failed",
            "pools",
            "no triggerer serves pool own, which b uses",
        ),
        (
            {"deployments": [*DEPLOYMENTS, deployment("triggerer", pool="gpu", image="other:1")]},
            "failed",
            "pools",
            "no triggerer serves pool gpu",
        ),
        ({"archive": "it is down"}, "warning", "reach", "archived runs and logs cannot be read: it is down"),
        (
            {"local_time": NOW - 90},
            "warning",
            "clock",
            "the clock of this machine is 90 s behind the API server",
        ),
        (
            {"node_leases": [lease("node-1", age=-60, duration=40)]},
            "warning",
            "clock",
            "the clock of node node-1 is 60 s ahead of the API server",
        ),
        (
            {"node_leases": [lease("node-1", age=900, duration=40)]},
            "failed",
            "clock",
            "the clock of node node-1 is 860 s behind the API server; status writes beyond 600 s are rejected",
        ),
        ({"namespace_object": None}, "failed", "namespace", "namespace team does not exist"),
        ({"task_account": None}, "failed", "namespace", "namespace team has no ServiceAccount torpor-task"),
        (
            {"task_account": None, "role_bindings": [], "chosen": False},
            "warning",
            "namespace",
            "namespace team is not set up for workflows",
        ),
        ({"workflows": [run("a", reason="NamespaceNotReady")]}, "failed", "namespace", "a: NamespaceNotReady"),
        (
            {"role_bindings": bindings_but("torpor-operator-namespace")},
            "failed",
            "namespace",
            _UNBOUND,
        ),
        (
            {"role_bindings": bindings_but("torpor-archive-namespace")},
            "warning",
            "namespace",
            "namespace team does not bind ClusterRole torpor-archive-namespace: the archive keeps no logs",
        ),
        (
            {"rights": {"list workflows": True, "list taskruns": True, "get pods/log": False}},
            "warning",
            "rights",
            "you may not get pods/log in namespace team",
        ),
        (
            {"deleted": [removed(f"run-{n}", age=400) for n in range(5)] + [removed("x", age=400, finalizer="other")]},
            "failed",
            "finalizers",
            _STUCK,
        ),
    ],
)
def test_a_problem_is_reported(changes: dict[str, Any], status: str, check: str, message: str) -> None:
    assert problems(**changes) == [(Status(status), check, message)]


@pytest.mark.parametrize(
    ("field", "check"),
    [
        ("schemas", "crds"),
        ("policies", "policies"),
        ("bindings", "policies"),
        ("view", "roles"),
        ("edit", "roles"),
        ("deployments", "components"),
        ("node_leases", "clock"),
        ("nodes", "clock"),
        ("archive", "reach"),
        ("role_bindings", "namespace"),
        ("deleted", "finalizers"),
    ],
)
def test_what_cannot_be_read_is_unknown_and_names_the_right(field: str, check: str) -> None:
    assert problems(**{field: _DENIED}) == [(Status.UNKNOWN, check, "you may not list things")]


def test_without_the_leases_leader_and_pools_are_unknown() -> None:
    assert [(status, check) for status, check, _ in problems(leases=_DENIED)] == [
        (Status.UNKNOWN, "leader"),
        (Status.UNKNOWN, "pools"),
    ]


def test_a_failed_request_is_unknown_with_its_cause() -> None:
    checks = results(replace(HEALTHY, view=UnreadableFact(right="get x", why="it is down")))
    (unknown,) = (result for result in checks if result.status is Status.UNKNOWN)
    assert (unknown.message, unknown.action) == ("it is down", "")


def test_a_viewer_sees_that_the_runs_cannot_be_changed() -> None:
    facts = replace(HEALTHY, rights={**HEALTHY.rights, "create workflows": False})
    (rights,) = (result for result in results(facts) if result.check == "rights")
    assert (rights.status, "not change them" in rights.message) == (Status.OK, True)


def test_a_missing_binding_names_the_command_that_creates_it() -> None:
    folder = Path(__file__).parents[4] / "manifests/namespace"
    documents = [each for path in folder.glob("*.yaml") for each in yaml.safe_load_all(path.read_text())]
    commands = []
    for each in documents:
        if each["kind"] == "RoleBinding":
            (subject,) = each["subjects"]
            account = f"{subject.get('namespace')}:{subject['name']}".replace("workflows:", "team:")
            whom = f"group={subject['name']}" if subject["kind"] == "Group" else f"serviceaccount={account}"
            name, role = each["metadata"]["name"], each["roleRef"]["name"]
            commands.append(f"kubectl -n team create rolebinding {name} --clusterrole={role} --{whom}")
    checks = namespace_checks.namespace(replace(HEALTHY, role_bindings=[]))
    actions = [result.action.rpartition("; ")[2] for result in checks if result.action]
    assert sorted(actions) == sorted(commands)

"""When the API server acts on what was written to it: kinds, policies and roles reach its parts a moment later."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.integration.conftest import Server

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_AGGREGATES = "aggregate-to-"
Document = Mapping[str, Any]
_Rules = set[tuple[tuple[str, ...], ...]]


def are_served(server: "Server", documents: Sequence[Document]) -> bool:
    """Whether each kind of the documents is served."""
    kinds = [document["spec"] for document in documents if document["kind"] == "CustomResourceDefinition"]
    paths = [f"/apis/{kind['group']}/{kind['versions'][0]['name']}/{kind['names']['plural']}" for kind in kinds]
    return all(_is_served(server, path) for path in paths)


def marker(documents: Sequence[Document]) -> tuple[str, list[Document]]:
    """A policy that rejects a ConfigMap of a name of its own, to be written after the documents.

    The API server sees policies and bindings in the order of their writes, so all before it are in force with it.
    """
    name = f"tests-{hashlib.sha256(json.dumps(documents).encode()).hexdigest()[:12]}.torpor.dev"
    rule = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
    constraints = {"resourceRules": [{**rule, "resourceNames": [name]}]}
    validations = [{"expression": "false", "message": "the policies are in force"}]
    policy = {
        "kind": "ValidatingAdmissionPolicy",
        "spec": {"matchConstraints": constraints, "validations": validations},
    }
    binding = {
        "kind": "ValidatingAdmissionPolicyBinding",
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    }
    return name, [head | policy, head | binding]


def is_in_force(server: "Server", name: str) -> bool:
    """Whether the policy of `marker` rejects its ConfigMap."""
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}
    return server.create("configmaps", "default", body, dryRun="All").status == 422


def are_aggregated(server: "Server", documents: Sequence[Document]) -> bool:
    """Whether each role has the rules that the controller manager adds to it from the roles of the documents."""
    return all(
        _rules(role) <= _rules(server.request("GET", f"{_RBAC}/clusterroles/{target}").expect(200))
        for role in documents
        if role["kind"] == "ClusterRole"
        for target in _targets(role)
    )


def is_granted(server: "Server", binding: Document) -> bool:
    """Whether the authorizer lets the first subject do what the role says. Only service accounts are checked."""
    reference, namespace = binding["roleRef"], binding["metadata"].get("namespace", "default")
    scope = f"/namespaces/{namespace}" if reference["kind"] == "Role" else ""
    role = server.request("GET", f"{_RBAC}{scope}/{reference['kind'].lower()}s/{reference['name']}")
    subject = binding["subjects"][0]
    if role.status == 404 or subject["kind"] != "ServiceAccount":
        return True
    user = f"system:serviceaccount:{subject['namespace']}:{subject['name']}"
    return _rules(role.expect(200)) <= _rules({"rules": server.rules(user, namespace)})


def _is_served(server: "Server", path: str) -> bool:
    try:
        return server.request("GET", path, limit="1").status == 200
    except ValueError:  # what is not served is answered with a text
        return False


def _targets(role: Document) -> list[str]:
    """The roles that aggregate this one."""
    labels = [label.partition(_AGGREGATES) for label in role["metadata"].get("labels", {}) if _AGGREGATES in label]
    return [name if of.startswith("rbac.") else f"torpor-{name}" for of, _, name in labels]


def _rules(role: Document) -> _Rules:
    fields = ("verbs", "apiGroups", "resources", "resourceNames")
    rules = [rule for rule in role.get("rules") or () if "resources" in rule]
    return {tuple(tuple(sorted(rule.get(field, ()))) for field in fields) for rule in rules}

"""Checks the API server, what the manifest adds to it (kinds, policies, roles), and the network. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from torpor_cli.diagnosis.facts import (
    CheckResult,
    DiagnosisFacts,
    Item,
    Object,
    UnreadableFact,
    failed,
    listed,
    passed,
    unknown,
    warning,
)

APPLY = "apply the manifest of this version: docs/install.md"
_MINOR = 33
KINDS = {
    "Workflow": "workflows",
    "TaskRun": "taskruns",
    "WorkflowTemplate": "workflowtemplates",
    "ClusterWorkflowTemplate": "clusterworkflowtemplates",
    "Schedule": "schedules",
    "Backfill": "backfills",
}
"""The plural of each kind."""


def kubernetes(facts: DiagnosisFacts) -> CheckResult:
    """Return whether the version of Kubernetes is supported."""
    match = re.match(r"v?1\.(\d+)", facts.kubernetes)
    if match and int(match[1]) < _MINOR:
        return failed("kubernetes", f"Kubernetes is {facts.kubernetes}", f"upgrade it to 1.{_MINOR} or later")
    return passed("kubernetes", f"Kubernetes is {facts.kubernetes}")


def kinds(facts: DiagnosisFacts, known: Mapping[str, Object]) -> CheckResult:
    """Return whether the kinds are served, with the fields of this command. `known` has the schemas by plural."""
    if isinstance(facts.schemas, UnreadableFact):
        return unknown("crds", facts.schemas)
    missing = [f"{plural}.torpor.dev" for kind, plural in KINDS.items() if kind not in facts.schemas]
    if missing:
        return failed("crds", f"the cluster does not serve {listed(missing)}", APPLY)
    older: list[str] = []
    newer: list[str] = []
    for kind, plural in KINDS.items():
        ours, theirs = set(_fields(known[plural])), set(_fields(facts.schemas[kind]))
        older += sorted(f"{kind} {field}" for field in ours - theirs)
        newer += sorted(f"{kind} {field}" for field in theirs - ours)
    if older:
        return warning("crds", f"the CRDs are older than this command: no {listed(older)}", APPLY)
    if newer:
        return warning("crds", f"the CRDs are newer than this command: {listed(newer)}", "update torpor")
    return passed("crds", f"{len(KINDS)} kinds are served with the fields of this command")


def _fields(schema: Mapping[str, Any], path: str = "") -> Iterator[str]:
    """Yield the path of every field but metadata."""
    for name, child in (schema.get("properties") or {}).items():
        if path or name in {"spec", "status"}:
            at = f"{path}.{name}" if path else name
            yield at
            yield from _fields(child, at)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            yield from _fields(schema[key], f"{path}[]")


def policies(facts: DiagnosisFacts, known: Sequence[tuple[Object, str]]) -> CheckResult:
    """Return whether the admission policies are installed, bound and those of this command.

    `known`: each policy with the validation action of its binding.
    """
    if isinstance(facts.policies, UnreadableFact):
        return unknown("policies", facts.policies)
    if isinstance(facts.bindings, UnreadableFact):
        return unknown("policies", facts.bindings)
    installed = {policy["metadata"]["name"]: policy for policy in facts.policies}
    bound = {
        (binding["spec"].get("policyName"), action)
        for binding in facts.bindings
        for action in binding["spec"].get("validationActions") or ()
    }
    actions = {policy["metadata"]["name"]: action for policy, action in known}
    if missing := [name for name in actions if name not in installed]:
        return failed("policies", f"not installed: {listed(missing)}", APPLY)
    if unbound := [name for name, action in actions.items() if (name, action) not in bound]:
        return failed("policies", f"without a binding that denies: {listed(unbound)}", APPLY)
    if different := [
        policy["metadata"]["name"]
        for policy, _ in known
        if _rules(policy) != _rules(installed[policy["metadata"]["name"]])
    ]:
        return warning("policies", f"different from those of this command: {listed(different)}", APPLY)
    return passed("policies", f"{len(actions)} admission policies are installed and bound")


def _rules(policy: Object) -> list[tuple[str, str, str]]:
    """Return the expressions of a policy."""
    spec = policy["spec"]
    parts = (rule for key in ("matchConditions", "variables", "validations") for rule in spec.get(key) or ())
    return [(rule.get("name", ""), rule["expression"], rule.get("messageExpression", "")) for rule in parts]


def roles(facts: DiagnosisFacts) -> CheckResult:
    """Return whether the cluster's roles for people include Torpor's kinds."""
    for name, role, verb, resource in (
        ("view", facts.view, "list", "taskruns"),
        ("view", facts.view, "list", "schedules"),
        ("edit", facts.edit, "create", "workflows"),
        ("edit", facts.edit, "create", "schedules"),
    ):
        if isinstance(role, UnreadableFact):
            return unknown("roles", role)
        if not _allows(role, verb, resource):
            message = f"ClusterRole {name} does not include {verb} {resource}.torpor.dev"
            return failed("roles", message, f"{APPLY}; its ClusterRole torpor-{name} is aggregated to {name}")
    return passed("roles", "the ClusterRoles view and edit include Torpor's kinds")


def _allows(role: Item, verb: str, resource: str) -> bool:
    rules = (role.get("rules") or ()) if isinstance(role, Mapping) else ()
    return any(
        _has(rule, "apiGroups", "torpor.dev") and _has(rule, "resources", resource) and _has(rule, "verbs", verb)
        for rule in rules
    )


def _has(rule: Mapping[str, Any], key: str, name: str) -> bool:
    values = rule.get(key) or ()
    return name in values or "*" in values


NETWORK_POLICIES = ("torpor", "torpor-archive", "torpor-metrics")
ENFORCING = (
    "antrea-agent",
    "azure-npm",
    "calico-node",
    "cilium",
    "kindnet",
    "kube-network-policies",
    "kube-router",
    "ovnkube-node",
    "weave-net",
)
"""DaemonSets of plugins that enforce NetworkPolicies."""
IGNORING = ("kube-flannel-ds",)
"""DaemonSets of plugins that do not."""
_NETWORK_ACTION = (
    "install a network plugin that enforces them, or set --deny-networks of the triggerers to the networks of pods: "
    "docs/reference/rbac.md#network"
)


def network(facts: DiagnosisFacts) -> CheckResult:
    """Return whether the NetworkPolicies of Torpor are installed and enforced.

    The API server accepts NetworkPolicies in every cluster. Only a network plugin enforces them, and no API says
    whether it does. So the check knows the DaemonSets of plugins by name, and says that it cannot tell about others.
    """
    if isinstance(facts.network_policies, UnreadableFact):
        return unknown("network", facts.network_policies)
    installed = set(_names(facts.network_policies))
    if missing := [name for name in NETWORK_POLICIES if name not in installed]:
        return warning("network", f"NetworkPolicies are missing: {listed(missing)}", "kubectl apply the manifest again")
    if isinstance(facts.daemon_sets, UnreadableFact):
        return unknown("network", facts.daemon_sets)
    running = set(_names(facts.daemon_sets))
    if enforcing := sorted(running & set(ENFORCING)):
        return passed("network", f"{listed(enforcing)} enforces NetworkPolicies")
    if ignoring := sorted(running & set(IGNORING)):
        return warning("network", f"{listed(ignoring)} does not enforce NetworkPolicies", _NETWORK_ACTION)
    message = "cannot tell whether the cluster enforces NetworkPolicies: no DaemonSet of a known network plugin"
    return warning("network", message, _NETWORK_ACTION)


def _names(objects: Iterable[Object]) -> Iterable[str]:
    return (item["metadata"]["name"] for item in objects)

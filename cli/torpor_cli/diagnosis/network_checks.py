"""Checks whether NetworkPolicies protect Torpor's pods and the pods of tasks. Pure.

The API server accepts NetworkPolicies in every cluster. Only a network plugin enforces them, and no API says whether it
does. So the check knows the DaemonSets of plugins by name, and says that it cannot tell about others.
"""

from collections.abc import Iterable

from torpor_cli.diagnosis.facts import (
    CheckResult,
    DiagnosisFacts,
    Object,
    UnreadableFact,
    listed,
    passed,
    unknown,
    warning,
)

POLICIES = ("torpor", "torpor-archive", "torpor-metrics")
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
_ACTION = (
    "install a network plugin that enforces them, or set --deny-networks of the triggerers to the networks of pods: "
    "docs/reference/rbac.md#network"
)


def network(facts: DiagnosisFacts) -> CheckResult:
    """Return whether the NetworkPolicies of Torpor are installed and enforced."""
    if isinstance(facts.network_policies, UnreadableFact):
        return unknown("network", facts.network_policies)
    installed = set(_names(facts.network_policies))
    if missing := [name for name in POLICIES if name not in installed]:
        return warning("network", f"NetworkPolicies are missing: {listed(missing)}", "kubectl apply the manifest again")
    if isinstance(facts.daemon_sets, UnreadableFact):
        return unknown("network", facts.daemon_sets)
    running = set(_names(facts.daemon_sets))
    if enforcing := sorted(running & set(ENFORCING)):
        return passed("network", f"{listed(enforcing)} enforces NetworkPolicies")
    if ignoring := sorted(running & set(IGNORING)):
        return warning("network", f"{listed(ignoring)} does not enforce NetworkPolicies", _ACTION)
    message = "cannot tell whether the cluster enforces NetworkPolicies: no DaemonSet of a known network plugin"
    return warning("network", message, _ACTION)


def _names(objects: Iterable[Object]) -> Iterable[str]:
    return (item["metadata"]["name"] for item in objects)

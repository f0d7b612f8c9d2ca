"""Checks the processes: Deployments, the leader, triggerer pools, the archive, and clocks. Pure."""

from collections.abc import Iterator
from datetime import datetime

from torpor_wire import constants

from torpor_cli.diagnosis.cluster_checks import APPLY
from torpor_cli.diagnosis.facts import (
    CheckResult,
    DiagnosisFacts,
    Object,
    UnreadableFact,
    failed,
    listed,
    passed,
    unknown,
    warning,
)

_COMPONENTS = ("operator", "triggerer", "archive")
_COMPONENT = "app.kubernetes.io/component"
_VERSION = "app.kubernetes.io/version"
_LEADER = "torpor-operator"
_GRACE_S = 30.0
"""Seconds after the end of a Lease for the delay of its renewal, and for clocks that differ a little."""
_SKEW_S = 10.0
_FINAL = frozenset({"Succeeded", "Failed", "Cancelled"})


def deployments(facts: DiagnosisFacts) -> Iterator[CheckResult]:
    """Yield a result for each component, with its image."""
    if isinstance(facts.deployments, UnreadableFact):
        yield unknown("components", facts.deployments)
        return
    for component in _COMPONENTS:
        installed = [
            deployment
            for deployment in facts.deployments
            if deployment["metadata"].get("labels", {}).get(_COMPONENT) == component
        ]
        if not installed and component == "archive":
            yield warning(component, "the archive is not installed: results have at most 8 kB, and no history", APPLY)
        elif not installed:
            yield failed(component, f"no Deployment of the {component} in torpor-system", APPLY)
        for deployment in installed:
            yield _deployment(component, deployment)


def _deployment(component: str, deployment: Object) -> CheckResult:
    name, spec, status = deployment["metadata"]["name"], deployment["spec"], deployment.get("status") or {}
    wanted, available = spec.get("replicas", 1), status.get("availableReplicas") or 0
    action = f"kubectl -n torpor-system describe deployment {name}; kubectl -n torpor-system logs deployment/{name}"
    if not available:
        return failed(component, f"{name}: none of {wanted} replicas is available", action)
    if available < wanted:
        return warning(component, f"{name}: {available} of {wanted} replicas are available", action)
    return passed(component, f"{name}: {available} of {wanted} replicas are available, {image(deployment)}")


def image(deployment: Object) -> str:
    """Return the image of a Deployment, with the version in its label."""
    shown: str = deployment["spec"]["template"]["spec"]["containers"][0]["image"]
    version = deployment["metadata"].get("labels", {}).get(_VERSION)
    return f"{shown} (version {version})" if version else shown


def versions(facts: DiagnosisFacts) -> CheckResult:
    """Return whether the components have the same image."""
    if isinstance(facts.deployments, UnreadableFact):
        return passed("versions", f"torpor is {facts.command}")
    ours = [
        deployment
        for deployment in facts.deployments
        if deployment["metadata"].get("labels", {}).get(_COMPONENT) in _COMPONENTS
    ]
    # A pool has an image of its own.
    images = {image(deployment) for deployment in ours if _pool(deployment) in {"", constants.DEFAULT_POOL}}
    if len(images) > 1:
        return warning("versions", f"the components have different images: {listed(sorted(images))}", APPLY)
    return passed("versions", f"torpor is {facts.command}, the components are {listed(sorted(images)) or 'absent'}")


def leader(facts: DiagnosisFacts) -> CheckResult:
    """Return whether an operator leads."""
    if isinstance(facts.leases, UnreadableFact):
        return unknown("leader", facts.leases)
    lease = next((item for item in facts.leases if item["metadata"]["name"] == _LEADER), None)
    action = "kubectl -n torpor-system get pods; kubectl -n torpor-system logs deployment/torpor-operator"
    if lease is None or not lease["spec"].get("holderIdentity"):
        return failed("leader", "no operator leads: no process holds the Lease torpor-operator", action)
    if not _is_live(lease, facts.server_time):
        age = facts.server_time - _renewed(lease)
        return failed("leader", f"no operator leads: the Lease torpor-operator was renewed {age:.0f} s ago", action)
    return passed("leader", f"{lease['spec']['holderIdentity']} leads")


def pools(facts: DiagnosisFacts) -> Iterator[CheckResult]:
    """Yield whether each triggerer pool that exists or is used has a live triggerer."""
    if isinstance(facts.leases, UnreadableFact):
        yield unknown("pools", facts.leases)
        return
    live: dict[str, int] = {}
    for lease in facts.leases:
        if (pool := _pool(lease)) and _is_live(lease, facts.server_time):
            live[pool] = live.get(pool, 0) + 1
    installed = (
        {_pool(deployment) for deployment in facts.deployments}
        if not isinstance(facts.deployments, UnreadableFact)
        else set()
    )
    used = _used(facts)
    for pool in sorted(({constants.DEFAULT_POOL} | installed | set(live) | set(used)) - {""}):
        if pool in live:
            yield passed("pools", f"pool {pool}: {live[pool]} live triggerer{'' if live[pool] == 1 else 's'}")
            continue
        by = f", which {listed(used[pool])} uses" if pool in used else ""
        action = f"start triggerers with --pool={pool} (manifests/components/pool), or correct triggerPool"
        yield failed("pools", f"no triggerer serves pool {pool}{by}", action)


def _used(facts: DiagnosisFacts) -> dict[str, list[str]]:
    """Return the pools of the Workflows that go on, with their names."""
    used: dict[str, list[str]] = {}
    for workflow in facts.workflows if not isinstance(facts.workflows, UnreadableFact) else ():
        if (workflow.get("status") or {}).get("state") in _FINAL:
            continue
        spec = workflow["spec"]
        names = {
            task.get("triggerPool") or spec.get("triggerPool") or constants.DEFAULT_POOL
            for task in spec.get("tasks") or ()
            if "trigger" in task or "triggerPool" in task
        }
        for name in names:
            used.setdefault(name, []).append(workflow["metadata"]["name"])
    return used


def archive(facts: DiagnosisFacts) -> CheckResult:
    """Return whether the archive answers through the API server."""
    match facts.archive:
        case None:
            return passed("reach", "the archive answers through the API server")
        case UnreadableFact() as read:
            return unknown("reach", read)
        case why:
            action = "kubectl -n torpor-system logs deployment/torpor-archive; docs/operations/archive.md"
            return warning("reach", f"archived runs and logs cannot be read: {why}", action)


def clocks(facts: DiagnosisFacts) -> Iterator[CheckResult]:
    """Yield whether the clocks of this machine and of the nodes agree with that of the API server."""
    yield _clock("this machine", facts.local_time - facts.server_time)
    if isinstance(facts.node_leases, UnreadableFact):
        yield unknown("clock", facts.node_leases)
        return
    if isinstance(facts.nodes, UnreadableFact):
        yield unknown("clock", facts.nodes)
        return
    ready = {node["metadata"]["name"] for node in facts.nodes if _is_ready(node)}
    leases = {lease["metadata"]["name"]: lease for lease in facts.node_leases if lease["metadata"]["name"] in ready}
    skews = {name: _node_skew(lease, facts.server_time) for name, lease in leases.items()}
    worst = max(skews, key=lambda name: abs(skews[name]), default=None)
    if worst is not None:
        yield _clock(f"node {worst}" if abs(skews[worst]) > _SKEW_S else f"every node ({len(skews)})", skews[worst])


def _node_skew(lease: Object, now: float) -> float:
    """Return by how much a node's clock differs at least: it renews its Lease every ten seconds."""
    ahead = _renewed(lease) - now
    return ahead if ahead > 0 else min(0.0, ahead + lease["spec"].get("leaseDurationSeconds", 40))


def _clock(what: str, skew: float) -> CheckResult:
    direction = "ahead of" if skew > 0 else "behind"
    if abs(skew) <= _SKEW_S:
        return passed("clock", f"the clock of {what} agrees with the API server")
    message = f"the clock of {what} is {abs(skew):.0f} s {direction} the API server"
    if abs(skew) > constants.CLOCK_SLACK_S / 2 and what != "this machine":
        return failed(
            "clock", f"{message}; status writes beyond {constants.CLOCK_SLACK_S} s are rejected", "start NTP on it"
        )
    return warning("clock", message, "start NTP on it")


def _is_live(lease: Object, now: float) -> bool:
    duration = lease["spec"].get("leaseDurationSeconds") or 1
    return bool(lease["spec"].get("holderIdentity")) and now - _renewed(lease) <= duration + _GRACE_S


def _renewed(lease: Object) -> float:
    text = lease["spec"].get("renewTime")
    return datetime.fromisoformat(text).timestamp() if text else 0.0


def _pool(item: Object) -> str:
    pool: str = (item["metadata"].get("labels") or {}).get(constants.LABEL_POOL, "")
    return pool


def _is_ready(node: Object) -> bool:
    conditions = (node.get("status") or {}).get("conditions") or ()
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions)

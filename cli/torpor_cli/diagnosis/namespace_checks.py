"""Checks a namespace of workflows: its set-up, the user's rights, and objects that cannot be deleted. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from torpor_wire import constants

from torpor_cli.diagnosis.facts import (
    CheckResult,
    DiagnosisFacts,
    Object,
    Status,
    UnreadableFact,
    failed,
    listed,
    passed,
    unknown,
    warning,
)

_STUCK_S = 300.0
_LEASE_S = 60.0
_READS = ("list workflows", "list taskruns", "get pods/log")
_WRITES = ("create workflows", "delete taskruns")


def rights(facts: DiagnosisFacts) -> CheckResult:
    """Return what the user may do in the namespace."""
    missing = [right for right in _READS if not facts.rights.get(right)]
    if missing:
        message = f"you may not {listed(missing)} in namespace {facts.namespace}"
        return warning("rights", message, "ask for ClusterRole view in the namespace")
    if all(facts.rights.get(right) for right in _WRITES):
        return passed("rights", f"you may read and write runs in namespace {facts.namespace}")
    return passed("rights", f"you may read runs in namespace {facts.namespace}, and not change them (ClusterRole edit)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Binding:
    """A RoleBinding that a namespace of workflows needs, and what its absence means."""

    name: str
    subject: str
    without: str
    result: Callable[[str, str, str], CheckResult] = failed
    creates: str = ""
    """The command that creates the account."""

    def command(self, namespace: str, role: str) -> str:
        """Return what creates it."""
        subject, creates = self.subject.format(namespace=namespace), self.creates.format(namespace=namespace)
        return f"{creates}kubectl -n {namespace} create rolebinding {self.name} --clusterrole={role} --{subject}"


_BINDINGS = {
    "torpor-operator-namespace": _Binding(
        name="torpor-operator",
        subject="serviceaccount=torpor-system:torpor-operator",
        without="the operator may not create TaskRuns and pods",
    ),
    "torpor-task": _Binding(
        name="torpor-task",
        subject=f"serviceaccount={{namespace}}:{constants.TASK_ACCOUNT}",
        without="task pods may not write their status",
    ),
    "torpor-archive-namespace": _Binding(
        name="torpor-archive-namespace",
        subject="serviceaccount=torpor-system:torpor-archive",
        without="the archive keeps no logs",
        result=warning,
    ),
    "torpor-archive-reader-namespace": _Binding(
        name="torpor-archive-reader-namespace",
        subject=f"serviceaccount={{namespace}}:{constants.ARCHIVE_READER}",
        without="users with view cannot read archived runs and logs of the namespace",
        result=warning,
        creates=f"kubectl -n {{namespace}} create serviceaccount {constants.ARCHIVE_READER}; ",
    ),
    "torpor-triggerer-namespace": _Binding(
        name="torpor-triggerer-namespace",
        subject="group=system:serviceaccounts:torpor-system",
        without="the triggerers record no Events",
        result=warning,
    ),
    "torpor-triggerer-watch": _Binding(
        name="torpor-triggerer-watch",
        subject="serviceaccount=torpor-system:torpor-triggerer",
        without="waits of class kubernetes fail, except for Workflows and TaskRuns",
        result=warning,
    ),
}
"""By the ClusterRole; the same as in manifests/namespace."""


def namespace(facts: DiagnosisFacts) -> Iterator[CheckResult]:
    """Yield whether the namespace is set up for workflows. It need not be, unless the user has named it."""
    for result in _set_up(facts):
        if result.status is Status.FAILED and not facts.chosen:
            yield warning(result.check, result.message, result.action)
        else:
            yield result


def _set_up(facts: DiagnosisFacts) -> Iterator[CheckResult]:
    name = facts.namespace
    if facts.namespace_object is None:
        yield failed("namespace", f"namespace {name} does not exist", "choose another one with -n")
        return
    if facts.task_account is None and not facts.chosen:
        action = f"no action, or `torpor doctor -n {name}` for the commands that set it up"
        yield failed("namespace", f"namespace {name} is not set up for workflows", action)
        return
    if facts.task_account is None:
        action = f"kubectl -n {name} create serviceaccount {constants.TASK_ACCOUNT}"
        yield failed("namespace", f"namespace {name} has no ServiceAccount {constants.TASK_ACCOUNT}", action)
    elif stalled := _not_ready(facts):
        yield failed("namespace", f"{listed(stalled)}: NamespaceNotReady", f"torpor -n {name} why {stalled[0]}")
    if isinstance(facts.role_bindings, UnreadableFact):
        yield unknown("namespace", facts.role_bindings)
        return
    bound = {binding["roleRef"]["name"] for binding in facts.role_bindings if binding.get("subjects")}
    for role, each in _BINDINGS.items():
        if role not in bound:
            message = f"namespace {name} does not bind ClusterRole {role}: {each.without}"
            yield each.result("namespace", message, each.command(name, role))
    if bound >= _BINDINGS.keys() and facts.task_account is not None and not _not_ready(facts):
        yield passed("namespace", f"namespace {name} is set up for workflows")


def _not_ready(facts: DiagnosisFacts) -> list[str]:
    if isinstance(facts.workflows, UnreadableFact):
        return []
    return [
        workflow["metadata"]["name"]
        for workflow in facts.workflows
        if any(
            each.get("reason") == "NamespaceNotReady" for each in (workflow.get("status") or {}).get("conditions") or ()
        )
    ]


def installation(facts: DiagnosisFacts) -> Iterator[CheckResult]:
    """Yield whose the namespace is, if a confined installation has taken it."""
    lease = facts.installation
    if lease is None or isinstance(lease, UnreadableFact):  # without a Lease it is that of the only installation
        return
    spec = lease["spec"]
    holder, renewed = spec.get("holderIdentity"), spec.get("renewTime")
    if not holder:
        return
    if holder == facts.system:
        yield passed("namespace", f"the installation in {holder} serves namespace {facts.namespace}")
        return
    age = facts.server_time - datetime.fromisoformat(renewed).timestamp() if renewed else _LEASE_S
    live = age < _LEASE_S
    message = f"the installation in {holder} serves namespace {facts.namespace}, and that in {facts.system} does not"
    action = f"TORPOR_SYSTEM_NAMESPACE={holder} torpor -n {facts.namespace} doctor"
    gone = (
        f"the Lease of the installation in {holder} has expired: the one in {facts.system} takes {facts.namespace} over"
    )
    yield warning("namespace", message, action) if live else passed("namespace", gone)


def finalizers(facts: DiagnosisFacts) -> CheckResult:
    """Return whether objects are being deleted for long."""
    if isinstance(facts.deleted, UnreadableFact):
        return unknown("finalizers", facts.deleted)
    stuck = [
        f"{item['kind']} {item['metadata'].get('namespace')}/{item['metadata']['name']}"
        for item in facts.deleted
        if _is_stuck(item, facts.server_time)
    ]
    where = "in all namespaces" if facts.everywhere else f"in namespace {facts.namespace}"
    if not stuck:
        return passed("finalizers", f"no object waits long for its deletion {where}")
    action = (
        "check that an operator leads; docs/operations/troubleshooting.md lists the finalizers and how to remove them"
    )
    return failed("finalizers", f"{len(stuck)} deleted objects keep their finalizers: {listed(stuck)}", action)


def _is_stuck(item: Object, now: float) -> bool:
    metadata = item["metadata"]
    finalizers_of_torpor = [
        finalizer for finalizer in metadata.get("finalizers") or () if finalizer.startswith(constants.GROUP)
    ]
    deleted = datetime.fromisoformat(metadata["deletionTimestamp"]).timestamp()
    return bool(finalizers_of_torpor) and now - deleted > _STUCK_S

"""A healthy installation, and objects to change it with."""

from typing import Any

from torpor_cli.diagnosis.cluster_checks import KINDS
from torpor_cli.diagnosis.facts import DiagnosisFacts
from torpor_cli.linting import bundled
from torpor_wire import times

NOW = 1_800_000_000.0
SCHEMAS = {plural: bundled.schema(plural) for plural in KINDS.values()}
PUBLISHED = {kind: SCHEMAS[plural] for kind, plural in KINDS.items()}
_RESOURCES = list(KINDS.values())


def deployment(component: str, *, image: str = "torpor:1", available: int = 2, pool: str = "") -> dict[str, Any]:
    labels = {"app.kubernetes.io/component": component} | ({"torpor.dev/trigger-pool": pool} if pool else {})
    name = f"torpor-{component}" + (f"-{pool}" if pool not in {"", "default"} else "")
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"replicas": 2, "template": {"spec": {"containers": [{"image": image}]}}},
        "status": {"availableReplicas": available} if available else {},
    }


def lease(name: str, *, age: float = 3.0, pool: str = "", duration: int = 15, holder: str = "pod") -> dict[str, Any]:
    labels = {"torpor.dev/trigger-pool": pool} if pool else {}
    renewed = times.rfc3339(NOW - age)
    return {
        "metadata": {"name": name, "labels": labels},
        "spec": {"holderIdentity": holder, "leaseDurationSeconds": duration, "renewTime": renewed},
    }


def role(verbs: list[str], resources: list[str] = _RESOURCES) -> dict[str, Any]:
    return {"rules": [{"apiGroups": ["torpor.dev"], "resources": resources, "verbs": verbs}]}


def binding(name: str) -> dict[str, Any]:
    return {"roleRef": {"name": name}, "subjects": [{"kind": "ServiceAccount"}]}


def run(name: str, *, state: str = "Running", pool: str = "", reason: str = "") -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "spec": {"tasks": [{"name": "a", "trigger": {"class": "time"}}]} | ({"triggerPool": pool} if pool else {}),
        "status": {"state": state, "conditions": [{"type": "Stalled", "reason": reason}]},
    }


def removed(name: str, *, age: float, finalizer: str = "torpor.dev/cancel-first") -> dict[str, Any]:
    metadata = {"namespace": "team", "name": name, "deletionTimestamp": times.rfc3339(NOW - age)}
    return {"kind": "Workflow", "metadata": metadata | {"finalizers": [finalizer]}}


NODE = {"metadata": {"name": "node-1"}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}}
DEPLOYMENTS = [deployment("operator"), deployment("triggerer", pool="default"), deployment("archive")]
BINDINGS = [
    {"spec": {"policyName": name, "validationActions": [bundled.action(name)]}}
    for name in (policy["metadata"]["name"] for policy in bundled.policies())
]
BOUND = (
    "torpor-operator-namespace",
    "torpor-task",
    "torpor-archive-namespace",
    "torpor-archive-reader-namespace",
    "torpor-triggerer-namespace",
    "torpor-triggerer-watch",
)
"""The ClusterRoles that a namespace of workflows binds."""
HEALTHY = DiagnosisFacts(
    command="0.1.0",
    local_time=NOW + 1,
    server_time=NOW,
    kubernetes="v1.35.4",
    namespace="team",
    chosen=True,
    schemas=PUBLISHED,
    policies=bundled.policies(),
    bindings=BINDINGS,
    view=role(["get", "list", "watch"]),
    edit=role(["create", "delete"]),
    rights=dict.fromkeys(
        ("list workflows", "list taskruns", "get pods/log", "create workflows", "delete taskruns"), True
    ),
    deployments=DEPLOYMENTS,
    leases=[lease("torpor-operator"), lease("torpor-triggerer-default-a", pool="default")],
    node_leases=[lease("node-1", duration=40)],
    nodes=[NODE],
    network_policies=[{"metadata": {"name": name}} for name in ("torpor", "torpor-archive", "torpor-metrics")],
    daemon_sets=[{"metadata": {"name": "kindnet"}}],
    archive=None,
    namespace_object={"metadata": {"name": "team"}},
    role_bindings=[binding(role) for role in BOUND],
    task_account={"metadata": {"name": "torpor-task"}},
    workflows=[run("a")],
    deleted=[removed("a", age=10)],
    everywhere=True,
)

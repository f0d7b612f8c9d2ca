"""What Argo's workflow-controller needs in the cluster, and the Workflows that it runs in the bench. Pure.

The kinds accept any field, so the API server validates less than with Argo's full definitions.
"""

from collections.abc import Sequence

from torpor_kubernetes.client.resources import Resource

from benchmarks.harness.waiting import Object

GROUP, VERSION = "argoproj.io", "v1alpha1"
NAMESPACE, ACCOUNT, CONFIG = "argo-bench", "argo-bench", "workflow-controller-configmap"
WORKFLOWS = Resource(group=GROUP, version=VERSION, plural="workflows", kind="Workflow")

_KINDS = (
    "Workflow",
    "WorkflowTemplate",
    "CronWorkflow",
    "WorkflowTaskSet",
    "WorkflowTaskResult",
    "WorkflowArtifactGCTask",
    "WorkflowEventBinding",
)
_ANY: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_OF_THE_CLUSTER = "ClusterWorkflowTemplate"
_ENDED = frozenset({"Succeeded", "Failed", "Error"})
RESULT = "result"
_STEP: Object = {"name": "step", "container": {"image": "bench", "command": ["true"]}}
_OUTPUTS: Object = {"parameters": [{"name": RESULT, "valueFrom": {"path": "/tmp/result"}}]}


def installation(system: str) -> Object:
    """Kinds, namespace, settings, and a service account in the namespace `system` with its role."""
    kinds = [_kind(name, "Namespaced") for name in _KINDS] + [_kind(_OF_THE_CLUSTER, "Cluster")]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    return {
        "apiVersion": "v1",
        "kind": "List",
        "items": [*kinds, namespace, _settings(), *_role(system), *_executor_role()],
    }


def fan_out(name: str, count: int, *, outputs: bool = False) -> Object:
    """A step that expands into `count` pods. `outputs`: each has a result."""
    each = {"name": "each", "template": "step", "withSequence": {"count": str(count)}}
    return _workflow(name, "main", {"name": "main", "steps": [[each]]}, _step(outputs))


def chain(name: str, length: int, *, outputs: bool = False) -> Object:
    """One pod after the other."""
    steps = [[{"name": f"s{number}", "template": "step"}] for number in range(length)]
    return _workflow(name, "main", {"name": "main", "steps": steps}, _step(outputs))


def single(name: str, *, outputs: bool = False) -> Object:
    """One pod, without a template of steps around it."""
    return _workflow(name, "step", _step(outputs))


def ended(body: Object) -> tuple[str, str]:
    """The name, and the phase it ended in; an empty one while it runs."""
    phase = body.get("status", {}).get("phase", "")
    return body["metadata"]["name"], phase if phase in _ENDED else ""


def plurals() -> Sequence[str]:
    """The names of the kinds' definitions."""
    return [f"{name.lower()}s.{GROUP}" for name in (*_KINDS, _OF_THE_CLUSTER)]


def _step(outputs: bool) -> Object:
    return {**_STEP, "outputs": _OUTPUTS} if outputs else _STEP


def _workflow(name: str, entrypoint: str, *templates: Object) -> Object:
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Workflow",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"entrypoint": entrypoint, "templates": list(templates)},
    }


def _kind(name: str, scope: str) -> Object:
    plural = f"{name.lower()}s"
    # Atomic, as in Argo's own definitions: otherwise managedFields would name each field of each node.
    atomic = {**_ANY, "x-kubernetes-map-type": "atomic"}
    schema = {"openAPIV3Schema": {**_ANY, "properties": {"spec": atomic, "status": atomic}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {"kind": name, "listKind": f"{name}List", "plural": plural, "singular": name.lower()},
            "scope": scope,
            "versions": [{"name": VERSION, "served": True, "storage": True, "schema": schema}],
        },
    }


def _settings() -> Object:
    # Its metrics would be served on all addresses of the machine.
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": CONFIG, "namespace": NAMESPACE},
        "data": {"metricsConfig": "enabled: false\n"},
    }


def _executor_role() -> list[Object]:
    """What the pods' service account may do, as in Argo's documentation of the rights of an executor."""
    rbac, metadata = "rbac.authorization.k8s.io", {"name": "executor", "namespace": NAMESPACE}
    rules = [{"apiGroups": [GROUP], "resources": ["workflowtaskresults"], "verbs": ["create", "patch"]}]
    return [
        {"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": metadata, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "executor"},
            "subjects": [{"kind": "ServiceAccount", "namespace": NAMESPACE, "name": "default"}],
        },
    ]


def _role(system: str) -> list[Object]:
    groups = ["", GROUP, "coordination.k8s.io", "policy"]
    rbac, name = "rbac.authorization.k8s.io", {"name": ACCOUNT}
    rules = [{"apiGroups": groups, "resources": ["*"], "verbs": ["*"]}]
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": name | {"namespace": system}},
        {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": name, "rules": rules},
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": name,
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", **name},
            "subjects": [{"kind": "ServiceAccount", "namespace": system, **name}],
        },
    ]

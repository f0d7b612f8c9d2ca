"""The API token of the ServiceAccount that a task asks for with `pod.serviceAccountToken` (ADR 0058). Pure.

It is a projected token at the path where clients of Kubernetes look for it. Init containers and sidecars do not get it.
It is apart from the credentials of the runtime, and no part of Torpor reads it.
"""

from typing import Any

from torpor_crds.models.pod_fields import PodFields

VOLUME = "torpor-account-token"
FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_SECONDS = 3600
_NAMESPACE = {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
_SOURCES: list[dict[str, Any]] = [
    {"serviceAccountToken": {"path": "token", "expirationSeconds": _SECONDS}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {"downwardAPI": {"items": [_NAMESPACE]}},
]


def is_mounted(chosen: PodFields) -> bool:
    """Whether the task gets the token: never that of the account of all tasks, which its author has not named."""
    return bool(chosen.service_account_token and chosen.service_account_name)


def volumes(chosen: PodFields) -> list[dict[str, Any]]:
    """The volume of the token, its namespace and the certificate of the API server."""
    return [{"name": VOLUME, "projected": {"sources": _SOURCES}}] if is_mounted(chosen) else []


def mounts(chosen: PodFields) -> list[dict[str, Any]]:
    """Its mount in the container of the task."""
    return [{"name": VOLUME, "mountPath": FOLDER, "readOnly": True}] if is_mounted(chosen) else []

"""A ServiceAccount as which object tasks of a namespace act on ConfigMaps and Jobs."""

from dataclasses import dataclass
from typing import Any

from tests.integration.conftest import Server

Object = dict[str, Any]
_GROUP = "rbac.authorization.k8s.io"
_VERBS = ["create", "get", "list", "watch", "patch", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BuilderAccount:
    """Its owner lets tasks use it, and the namespace lets the triggerer request its tokens."""

    server: Server
    namespace: str
    name: str

    def create(self) -> None:
        """Create the account, and grant what it needs."""
        metadata = {"name": self.name, "namespace": self.namespace}
        marked = {**metadata, "annotations": {"torpor.dev/tokens": "allowed"}}
        self.server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": marked})
        rules = [
            {"apiGroups": [""], "resources": ["configmaps"], "verbs": _VERBS},
            {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": _VERBS},
        ]
        self.server.apply({"apiVersion": f"{_GROUP}/v1", "kind": "Role", "metadata": metadata, "rules": rules})
        self._bind(self.name, "Role", {"name": self.name, "namespace": self.namespace})
        self._bind("torpor-object-tasks", "ClusterRole", {"name": "torpor-triggerer", "namespace": "torpor-system"})

    def task(self, manifest: Object, **fields: Any) -> Object:
        """A task that acts as this account."""
        return {"name": "act", "object": {"serviceAccountName": self.name, "manifest": manifest, **fields}}

    def _bind(self, role: str, kind: str, account: dict[str, str]) -> None:
        self.server.apply(
            {
                "apiVersion": f"{_GROUP}/v1",
                "kind": "RoleBinding",
                "metadata": {"name": role, "namespace": self.namespace},
                "roleRef": {"apiGroup": _GROUP, "kind": kind, "name": role},
                "subjects": [{"kind": "ServiceAccount", **account}],
            }
        )

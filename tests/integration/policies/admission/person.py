"""A TaskRun that waits for a person's word, and people who may give it."""

from typing import Any

from tests.integration.conftest import Answer, Server, collection, eventually
from tests.support.manifests import manifest

MERGE = "application/merge-patch+json"
RBAC = "rbac.authorization.k8s.io"
_WAIT = {"class": "approval", "kwargs": "{}", "key": "k", "shard": 0, "waitsFor": "approval"}


class Desk:
    """A TaskRun that waits for a word, and two people who may give it, by tokens of their own.

    The people are ServiceAccounts of namespace `people`, by default the namespace of the TaskRun.
    """

    def __init__(self, server: Server, namespace: str, people: str | None = None) -> None:
        self.server = server
        self.namespace = namespace
        self.people = people or namespace
        self.tokens: dict[str, str] = {}
        self.path = f"{collection('taskruns', namespace)}/deploy"
        for name in ("ann", "bob"):
            self.person(name, "torpor-approve")
        spec = {"workflow": {"name": "w", "uid": "u"}, "task": "t", "trigger": {"class": "approval"}}
        body = manifest("TaskRun", "deploy", spec)
        server.create("taskruns", namespace, body).expect(201)

    def set_status(self, state: str = "Deferred", **status: Any) -> None:
        """Set the state and other fields of status."""
        waiting = {"trigger": _WAIT, "deferredAt": "2026-01-01T00:00:00Z"} if state == "Deferred" else {}
        fields = {"state": state, **waiting, **status}
        patch = [{"op": "add", "path": f"/status/{name}", "value": value} for name, value in fields.items()]
        self.server.patch_status(self.namespace, "deploy", patch).expect(200)

    def name(self, person: str) -> str:
        """As the API server knows somebody."""
        return f"system:serviceaccount:{self.people}:{person}"

    def says(self, person: str, **words: str | None) -> Answer:
        """Annotate, as `kubectl annotate --overwrite` does: `by` is `torpor.dev/approval-by`."""
        keys = {word: "torpor.dev/approval" + (f"-{word}" if word != "word" else "") for word in words}
        return self.changes(person, annotations={keys[word]: value for word, value in words.items()})

    def changes(self, person: str | None, *, manager: str = "tests", dry: bool = False, **metadata: Any) -> Answer:
        """Have somebody, or the administrator, change the TaskRun's metadata by a merge patch."""
        token, patch = self.tokens[person] if person else None, {"metadata": metadata}
        query = {"fieldManager": manager} | ({"dryRun": "All"} if dry else {})
        return self.server.request("PATCH", self.path, patch, token=token, content_type=MERGE, **query)

    def metadata(self) -> dict[str, Any]:
        """The TaskRun's metadata as they stand."""
        metadata: dict[str, Any] = self.server.request("GET", self.path).expect(200)["metadata"]
        return metadata

    def begins(self, word: str) -> Answer:
        """Try to create a TaskRun with a word on it."""
        body = self.server.request("GET", self.path).expect(200)
        body["metadata"] = {"name": "other", "annotations": {"torpor.dev/approval": word}}
        return self.server.create("taskruns", self.namespace, body, dryRun="All")

    def person(self, name: str, role: str) -> None:
        """Have somebody with a ClusterRole in this namespace, which includes `get`."""
        metadata = {"name": name, "namespace": self.namespace}
        account = {"name": name, "namespace": self.people}
        self.server.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account})
        subject = {"kind": "ServiceAccount", **account}
        binding = {"apiVersion": f"{RBAC}/v1", "kind": "RoleBinding", "metadata": metadata}
        reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
        self.server.apply({**binding, "roleRef": reference, "subjects": [subject]})
        self.tokens[name] = token = self.server.token(self.people, name)
        eventually(lambda: self.server.request("GET", self.path, token=token).status != 403, f"{name} has the role")

"""Users by token, and what each may do: a set of namespaces to read, and of those to change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

READ = frozenset({"get", "list", "watch"})


@dataclass(slots=True, kw_only=True)
class User:
    """A user. `reads` and `changes` are namespaces; `*` is all of them, and the whole cluster."""

    name: str
    groups: tuple[str, ...] = ("system:authenticated",)
    reads: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)

    def may(self, verb: str, namespace: str, resource: str = "") -> bool:
        """Whether the user may do this in a namespace, or with an empty one in the whole cluster."""
        if resource in {"selfsubjectreviews", "selfsubjectaccessreviews"}:
            return True
        allowed = self.reads | self.changes if verb in READ or resource == "serviceaccounts" else self.changes
        return "*" in allowed or namespace in allowed - {""}


ADMIN = User(name="admin", reads={"*"}, changes={"*"})


def kubeconfig(url: str, tokens: Mapping[str, User], namespace: str) -> dict[str, Any]:
    """A kubeconfig with a context for each user, named after them."""
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": next(iter(tokens.values())).name,
        "clusters": [{"name": "made-up", "cluster": {"server": url}}],
        "users": [{"name": user.name, "user": {"token": token}} for token, user in tokens.items()],
        "contexts": [
            {"name": user.name, "context": {"cluster": "made-up", "user": user.name, "namespace": namespace}}
            for user in tokens.values()
        ],
    }

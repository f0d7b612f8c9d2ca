"""Ownership, by which deletion cascades: Workflow, its TaskRuns, their pods."""

from typing import Any

from torpor_wire import keys


def reference(kind: str, name: str, uid: str) -> dict[str, Any]:
    """The reference to the one controlling owner, an object of ours."""
    return {
        "apiVersion": keys.API_VERSION,
        "kind": kind,
        "name": name,
        "uid": uid,
        "controller": True,
        "blockOwnerDeletion": True,
    }

"""Changes of Workflows and TaskRuns as JSON Patches with preconditions, and the name of the user who makes them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from torpor_wire import constants

from torpor_cli.cluster.api import ApiClient, Object
from torpor_cli.cluster.errors import ClusterError, ConflictError
from torpor_cli.cluster.resources import SELF_REVIEWS, WORKFLOWS, ApiResource

_TRIES = 5

Operations: TypeAlias = list[dict[str, Any]]


def user_name(api: ApiClient) -> str:
    """Return the name by which the API server knows the user; empty if it does not say."""
    body = {"apiVersion": SELF_REVIEWS.api_version, "kind": SELF_REVIEWS.kind}
    try:
        review = api.create(SELF_REVIEWS, None, body)
    except ClusterError:  # before Kubernetes 1.28
        return ""
    return str(((review.get("status") or {}).get("userInfo") or {}).get("username") or "")


def set_spec(api: ApiClient, workflow: Object, values: Mapping[str, Any]) -> Object:
    """Set fields of a Workflow's spec, and the annotation that says who did. Return the object."""
    user = user_name(api)

    def operations(current: Object) -> Operations:
        generation = int(current["metadata"].get("generation") or 0)
        pinned = [{"op": "test", "path": "/metadata/generation", "value": generation}]
        changes = [{"op": "add", "path": f"/spec/{field}", "value": value} for field, value in values.items()]
        by = {constants.CHANGED_BY: f"{generation + 1} {user}"} if user else {}
        return [*pinned, *changes, *annotate(current, by)]

    return change(api, WORKFLOWS, workflow, operations)


def change(api: ApiClient, resource: ApiResource, item: Object, operations: Callable[[Object], Operations]) -> Object:
    """Patch an object, or after a lost race its new version. Raises ClusterError; ConflictError after five races."""
    metadata = item["metadata"]
    for left in reversed(range(_TRIES)):
        same = {"op": "test", "path": "/metadata/uid", "value": metadata["uid"]}
        try:
            return api.patch(resource, metadata["namespace"], metadata["name"], [same, *operations(item)])
        except ConflictError:
            item = api.get(resource, metadata["namespace"], metadata["name"])
            if not left or item["metadata"]["uid"] != metadata["uid"]:
                raise
    raise AssertionError("the last try returns or raises")


def annotate(item: Object, annotations: Mapping[str, str]) -> Operations:
    """Return the operations that set annotations and keep all others."""
    if not annotations:
        return []
    if item["metadata"].get("annotations"):
        return [
            {"op": "add", "path": f"/metadata/annotations/{key.replace('~', '~0').replace('/', '~1')}", "value": value}
            for key, value in annotations.items()
        ]
    version = item["metadata"]["resourceVersion"]  # another writer may add the first annotation meanwhile
    return [
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        {"op": "add", "path": "/metadata/annotations", "value": dict(annotations)},
    ]

"""Patches objects, again after a lost race, and knows the name of the user who does."""

from collections.abc import Callable, Mapping
from typing import Any

from torpor_client.changes import operations
from torpor_client.changes.operations import Operations

from torpor_cli.cluster.api import ApiClient, Object
from torpor_cli.cluster.errors import ClusterError, ConflictError
from torpor_cli.cluster.resources import SELF_REVIEWS, WORKFLOWS, ApiResource

_TRIES = 5


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
    return change(api, WORKFLOWS, workflow, lambda current: operations.set_spec(current, values, user))


def change(api: ApiClient, resource: ApiResource, item: Object, patch: Callable[[Object], Operations]) -> Object:
    """Patch an object, or after a lost race its new version. Raises ClusterError; ConflictError after five races."""
    metadata = item["metadata"]
    for left in reversed(range(_TRIES)):
        try:
            return api.patch(
                resource, metadata["namespace"], metadata["name"], [operations.same_object(item), *patch(item)]
            )
        except ConflictError:
            item = api.get(resource, metadata["namespace"], metadata["name"])
            if not left or item["metadata"]["uid"] != metadata["uid"]:
                raise
    raise AssertionError("the last try returns or raises")

"""The namespaces that a caller may look at."""

from collections.abc import Sequence

from torpor_kubernetes.client import errors as api_errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import SELF_ACCESS_REVIEWS, Resource
from torpor_wire import constants

NAMESPACES = Resource(group="", version="v1", plural="namespaces", kind="Namespace", namespaced=False)
NAMESPACES_MAX = 2000


async def listed(api: Api, configured: Sequence[str]) -> list[str]:
    """Return the names of all namespaces if the caller may list them, else those that are configured."""
    try:
        page = await api.list(NAMESPACES)
    except api_errors.ApiError:
        return list(configured)
    return sorted(str(item["metadata"]["name"]) for item in page.items)[:NAMESPACES_MAX]


async def may_list_runs(api: Api, namespace: str | None) -> bool:
    """Return whether the caller may list Workflows in a namespace; None means in all of them."""
    attributes = {"group": constants.GROUP, "resource": "workflows", "verb": "list"}
    if namespace:
        attributes["namespace"] = namespace
    body = {
        "apiVersion": SELF_ACCESS_REVIEWS.api_version,
        "kind": SELF_ACCESS_REVIEWS.kind,
        "spec": {"resourceAttributes": attributes},
    }
    review = await api.create(SELF_ACCESS_REVIEWS, None, body)
    return bool((review.get("status") or {}).get("allowed"))

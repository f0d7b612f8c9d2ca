"""Sets one condition on an object as the API server sent it, without reading the rest of the object."""

from collections.abc import Mapping
from typing import Any

from torpor_wire import times

from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import Resource


async def set_condition(api: Api, resource: Resource, body: Mapping[str, Any], condition: Mapping[str, str]) -> None:
    """Store the condition (`type`, `status`, `reason`, `message`) unless the object has it.

    Raises `errors.LostRace` if the object has changed since `body` was read, and other `errors.ApiError`.
    """
    metadata, status = body["metadata"], body.get("status")
    stored = _conditions(status)
    if any(condition.items() <= each.items() for each in stored):
        return
    wanted = {**condition, "lastTransitionTime": times.rfc3339(api.clock.now())}
    value = [*(each for each in stored if each.get("type") != condition["type"]), wanted]
    path = "/status/conditions" if isinstance(status, dict) else "/status"
    ops: list[Object] = [
        {"op": "test", "path": "/metadata/uid", "value": metadata["uid"]},
        {"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]},
        {"op": "add", "path": path, "value": value if isinstance(status, dict) else {"conditions": value}},
    ]
    await api.patch(resource, metadata["namespace"], metadata["name"], ops, subresource="status")


def _conditions(status: object) -> list[dict[str, Any]]:
    stored = status.get("conditions") if isinstance(status, dict) else None
    return [each for each in stored if isinstance(each, dict)] if isinstance(stored, list) else []

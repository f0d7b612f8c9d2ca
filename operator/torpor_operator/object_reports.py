"""How the operator reports on an object: by an Event, or by a condition that is set without reading the rest of it."""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from torpor_kubernetes.client import events
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.events import EventPoster
from torpor_kubernetes.client.resources import Resource
from torpor_wire import constants, times

from torpor_operator.model.actions import Notice

_CONTROLLER = f"{constants.GROUP}/operator"


class Identity(Protocol):
    """What identifies an object of a known kind, such as its metadata."""

    @property
    def namespace(self) -> str:
        """The namespace."""

    @property
    def name(self) -> str:
        """The name."""

    @property
    def uid(self) -> str:
        """The uid."""


def build(resource: Resource, about: Identity, notice: Notice, now: float) -> dict[str, Any]:
    """The Event as JSON. `now` is in seconds since the epoch."""
    return events.build(
        events.reference(resource, namespace=about.namespace, name=about.name, uid=about.uid),
        reason=notice.reason,
        message=notice.message,
        type="Warning" if notice.warning else "Normal",
        reporting_controller=_CONTROLLER,
        now=now,
    )


async def post(poster: EventPoster, resource: Resource, about: Identity, notices: Iterable[Notice]) -> None:
    """Post Events about an object. One that cannot be posted is logged and lost."""
    for notice in notices:
        await poster.try_post(build(resource, about, notice, poster.now()))


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

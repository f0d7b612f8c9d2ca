"""The operator's Events about objects: one builder and one way to post them."""

from collections.abc import Iterable
from typing import Any, Protocol

from torpor_kubernetes.client import events
from torpor_kubernetes.client.resources import Resource
from torpor_kubernetes.client.write_limits import EventPoster
from torpor_wire import constants

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

"""kopf's part: it watches Workflows, serves the liveness probe, and handles signals. Decides nothing."""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import kopf
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire import constants

from torpor_operator.controller import kopf_session
from torpor_operator.controller.cluster_cache import ClusterCache


class NoDiffs(kopf.DiffBaseStorage):
    """No former version of an object. kopf would copy each object at each event, for handlers that Torpor has not."""

    def build(self, *, body: kopf.Body, extra_fields: object = None) -> kopf.BodyEssence:  # noqa: ARG002
        """The part of an object that kopf would compare."""
        return kopf.BodyEssence()

    def fetch(self, *, body: kopf.Body) -> kopf.BodyEssence | None:  # noqa: ARG002
        """The former part."""
        return None

    def store(self, *, body: kopf.Body, patch: kopf.Patch, essence: kopf.BodyEssence) -> None:
        """Keep nothing."""


def settings(*, is_confined: bool = False) -> kopf.OperatorSettings:
    """The settings of kopf, as its documentation says for an operator that stores its own progress.

    An operator that is confined to some namespaces can list neither namespaces nor CustomResourceDefinitions.
    """
    configured = kopf.OperatorSettings()
    configured.scanning.disabled = is_confined
    # kopf removes this finalizer from objects that it does not handle, so it must not be one of ours.
    configured.persistence.finalizer = f"{constants.GROUP}/kopf"
    configured.persistence.diffbase_storage = NoDiffs()
    configured.posting.enabled = False
    configured.peering.standalone = True  # leader election is by Lease: peering pauses replicas of equal priority
    configured.watching.server_timeout = 290
    configured.watching.client_timeout = 300
    # A page is decoded as a whole, and takes up to twenty times the memory of its text.
    configured.watching.chunk_size = 20
    return configured


def register(
    registry: kopf.OperatorRegistry,
    cache: ClusterCache,
    *,
    stop: Callable[[], Awaitable[None]],
    report_unreadable: Callable[[Mapping[str, Any], str], Awaitable[None]],
    dropped_events: Callable[[], int] = lambda: 0,
) -> None:
    """Store every Workflow event in the cache, and call `stop` when kopf stops.

    `report_unreadable` reports on a Workflow why it cannot be read. The liveness probe shows `dropped_events`.
    Only `on.event` is used: handlers of the other decorators store their progress in annotations, which costs a write
    for each change.
    """

    @kopf.on.login(registry=registry)
    async def login(**arguments: Any) -> kopf.AiohttpSession | None:
        # The order is that of Torpor's client. Otherwise kopf could watch one cluster and the client write to another.
        credentials = None if os.environ.get("KUBECONFIG") else kopf.login_with_service_account(**arguments)
        credentials = credentials or kopf.login_with_kubeconfig(**arguments)
        return kopf_session.create(credentials) if credentials else None

    @kopf.on.probe(id="droppedEvents", registry=registry)
    async def count_dropped(**_: Any) -> int:
        return dropped_events()

    @kopf.on.cleanup(registry=registry)
    async def cleanup(**_: Any) -> None:
        await stop()

    @kopf.on.event(WORKFLOWS.group, WORKFLOWS.version, WORKFLOWS.plural, registry=registry)
    async def on_workflow(event: kopf.RawEvent, **_: Any) -> None:
        body = dict(event["object"])
        error = cache.store_workflow(body, deleted=event["type"] == "DELETED")
        if error is not None:
            await report_unreadable(body, error)

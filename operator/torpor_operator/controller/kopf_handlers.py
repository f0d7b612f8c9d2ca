"""kopf's side: it watches Workflows, answers the liveness probe, and is the process. Nothing is decided here."""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import kopf
from torpor_api.client.resources import WORKFLOWS
from torpor_wire import constants

from torpor_operator.controller import kopf_session
from torpor_operator.controller.cache import Observer


def settings() -> kopf.OperatorSettings:
    """The settings of kopf itself, as the measurements in the design bind them."""
    made = kopf.OperatorSettings()
    # kopf strips this finalizer from what it does not handle: it must not be one of ours.
    made.persistence.finalizer = f"{constants.GROUP}/kopf"
    made.posting.enabled = False
    made.peering.standalone = True
    made.watching.server_timeout = 290
    made.watching.client_timeout = 300
    # A page is decoded whole, and Python takes up to twenty times as much memory as its text.
    made.watching.chunk_size = 20
    return made


def register(
    registry: kopf.OperatorRegistry,
    observer: Observer,
    *,
    stop: Callable[[], Awaitable[None]],
    report: Callable[[Mapping[str, Any], str], Awaitable[None]],
) -> None:
    """Tell the observer of every Workflow that comes, changes or goes, and `stop` what else runs when kopf stops.

    `report` states on a Workflow why it cannot be read, since no plan will.
    Only `on.event` is used: the other decorators keep their progress in annotations, which is a write a change.
    """

    @kopf.on.login(registry=registry)
    async def login(**arguments: Any) -> kopf.AiohttpSession | None:
        # In the client's order: were it another, kopf could watch one cluster while the client writes to another.
        found = None if os.environ.get("KUBECONFIG") else kopf.login_with_service_account(**arguments)
        found = found or kopf.login_with_kubeconfig(**arguments)
        return kopf_session.bounded(found) if found else None

    @kopf.on.cleanup(registry=registry)
    async def cleanup(**_: Any) -> None:
        await stop()

    @kopf.on.event(WORKFLOWS.group, WORKFLOWS.version, WORKFLOWS.plural, registry=registry)
    async def saw(event: kopf.RawEvent, **_: Any) -> None:
        body = dict(event["object"])
        trouble = observer.saw_workflow(body, deleted=event["type"] == "DELETED")
        if trouble is not None:
            await report(body, trouble)

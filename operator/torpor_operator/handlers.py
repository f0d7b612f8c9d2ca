"""kopf's side: it watches Workflows, answers the liveness probe, and is the process. Nothing is decided here."""

import os
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import kopf
from torpor_api.resources import WORKFLOWS
from torpor_wire import keys

from torpor_operator.observe import Observer


def settings() -> kopf.OperatorSettings:
    """The settings of kopf itself, as the measurements in the design bind them."""
    made = kopf.OperatorSettings()
    # kopf strips this finalizer from what it does not handle: it must not be one of ours.
    made.persistence.finalizer = f"{keys.GROUP}/kopf"
    made.posting.enabled = False
    made.peering.standalone = True
    made.watching.server_timeout = 290
    made.watching.client_timeout = 300
    return made


def register(
    registry: kopf.OperatorRegistry,
    observer: Observer,
    *,
    stop: Callable[[], Awaitable[None]],
    tell: Callable[[Mapping[str, Any], str], Awaitable[None]],
) -> None:
    """Tell the observer of every Workflow that comes, changes or goes, and `stop` what else runs when kopf stops.

    `tell` says on a Workflow why it cannot be read, since no plan will.
    Only `on.event` is used: the other decorators keep their progress in annotations, which is a write a change.
    """

    @kopf.on.login(registry=registry)
    def login(**arguments: Any) -> kopf.ConnectionInfo | None:
        # In the client's order: were it another, kopf could watch one cluster while the client writes to another.
        if os.environ.get("KUBECONFIG"):
            return kopf.login_with_kubeconfig(**arguments)
        return kopf.login_with_service_account(**arguments) or kopf.login_with_kubeconfig(**arguments)

    @kopf.on.cleanup(registry=registry)
    async def cleanup(**_: Any) -> None:
        await stop()

    @kopf.on.event(WORKFLOWS.group, WORKFLOWS.version, WORKFLOWS.plural, registry=registry)
    async def saw(event: kopf.RawEvent, **_: Any) -> None:
        body = dict(event["object"])
        trouble = observer.saw_workflow(body, deleted=event["type"] == "DELETED")
        if trouble is not None:
            await tell(body, trouble)

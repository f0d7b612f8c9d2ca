"""Reports on a Workflow or a Schedule that the operator cannot read it: by the condition Stalled and an Event.

Every replica does so, not only the leader. Nothing is decided, both writes are idempotent, and the API server rejects
the patch if the object has changed.
"""

import logging
from collections.abc import Mapping
from typing import Any

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import WORKFLOWS, Resource
from torpor_wire import constants
from torpor_wire.reason import Reason

from torpor_operator import object_reports
from torpor_operator.controller.write_limits import WriteLimits
from torpor_operator.model.actions import Notice
from torpor_operator.quarantine.object_ref import ObjectRef

_LOG = logging.getLogger(__name__)
_MESSAGE_BYTES = 1024


class UnreadableReporter:
    """Sets the condition and posts the Event."""

    def __init__(self, api: Api, limits: WriteLimits) -> None:
        self._api = api
        self._limits = limits

    async def report(self, body: Mapping[str, Any], cause: str, resource: Resource = WORKFLOWS) -> None:
        """Report why the object with this body cannot be read. Errors of the API server are logged."""
        metadata = body["metadata"]
        message = f"The operator cannot read this {resource.kind} and ignores it: {cause}"[:_MESSAGE_BYTES]
        try:
            async with self._limits.queue.place(metadata["namespace"]):
                await self._set_condition(resource, body, message)
        except (errors.LostRace, errors.NotFound):
            pass  # the watch brings the newer version
        except errors.ApiError as error:
            _LOG.warning(
                "%s/%s: cannot set the condition Stalled: %s", metadata["namespace"], metadata["name"], error.message
            )
        await self._let_go(resource, metadata)
        about = ObjectRef(resource.kind, metadata["namespace"], metadata["name"], metadata["uid"])
        notice = Notice(reason=_reason(resource), message=message, warning=True)
        await object_reports.post(self._limits.events, resource, about, [notice])

    async def _set_condition(self, resource: Resource, body: Mapping[str, Any], message: str) -> None:
        wanted = {"type": "Stalled", "status": "True", "reason": str(_reason(resource)), "message": message}
        await object_reports.set_condition(self._api, resource, body, wanted)

    async def _let_go(self, resource: Resource, metadata: Mapping[str, Any]) -> None:
        """Remove the finalizer of a deleted object: nothing in its spec may keep it. Its TaskRuns are collected."""
        kept = metadata.get("finalizers")
        if not metadata.get("deletionTimestamp") or not isinstance(kept, list) or constants.FINALIZER not in kept:
            return
        ops: list[Object] = [
            {"op": "test", "path": "/metadata/uid", "value": metadata["uid"]},
            {"op": "test", "path": "/metadata/finalizers", "value": kept},
            {"op": "replace", "path": "/metadata/finalizers", "value": [x for x in kept if x != constants.FINALIZER]},
        ]
        try:
            async with self._limits.queue.place(metadata["namespace"], urgent=True):
                await self._api.patch(resource, metadata["namespace"], metadata["name"], ops)
        except (errors.LostRace, errors.NotFound):
            pass  # another replica did it
        except errors.ApiError as error:
            _LOG.warning(
                "%s/%s: cannot remove the finalizer: %s", metadata["namespace"], metadata["name"], error.message
            )


def _reason(resource: Resource) -> Reason:
    return Reason.WORKFLOW_INVALID if resource is WORKFLOWS else Reason.UNREADABLE

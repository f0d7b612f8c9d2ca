"""Stores the entries of the quarantine as an annotation of the operator's Lease, where the next leader reads them.

Every write tests the version that was read, so that two replicas never overwrite each other's entries.
"""

from typing import Any

from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import LEASES
from torpor_wire import constants

from torpor_operator.quarantine.entries import Entries
from torpor_operator.quarantine.object_ref import ObjectRef

_TRIES = 5
_PATH = "/metadata/annotations/" + constants.QUARANTINE.replace("/", "~1")


class LeaseAnnotation:
    """The annotation of one Lease."""

    def __init__(self, api: Api, namespace: str, lease: str) -> None:
        self._api = api
        self._namespace = namespace
        self._lease = lease

    async def merge(self, entries: Entries, *, forget: frozenset[ObjectRef] = frozenset()) -> Entries:
        """Merge the entries with the stored ones, except those of the objects in `forget`. Returns the result.

        Raises errors.ApiError. A Lease that does not exist stores nothing: the next merge does.
        """
        for _ in range(_TRIES):
            try:
                lease = await self._api.get(LEASES, self._namespace, self._lease)
            except errors.NotFound:
                return entries
            annotations = lease["metadata"].get("annotations") or {}
            stored = str(annotations.get(constants.QUARANTINE) or "[]")
            kept = (entry for entry in Entries.from_text(stored) if entry.ref not in forget)
            merged = entries.merged(kept, self._api.clock.now())
            if merged.to_text() == stored:
                return merged
            try:
                await self._api.patch(LEASES, self._namespace, self._lease, _patch(lease["metadata"], merged))
            except errors.LostRace:
                continue
            return merged
        raise errors.Conflict(f"Lease {self._lease} changes too often to store its quarantine")


def _patch(metadata: dict[str, Any], entries: Entries) -> list[Object]:
    ops: list[Object] = [{"op": "test", "path": "/metadata/resourceVersion", "value": metadata["resourceVersion"]}]
    if not metadata.get("annotations"):
        ops.append({"op": "add", "path": "/metadata/annotations", "value": {}})
    return [*ops, {"op": "add", "path": _PATH, "value": entries.to_text()}]

"""Creates the PersistentVolumeClaims of runs before the first pod that mounts them, and deletes them at the end.

A claim is created once. The memory of that saves a request for each further pod; a new leader asks once more.
"""

import logging

from torpor_crds.models.workflow import Workflow
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api, Object
from torpor_kubernetes.client.resources import CLAIMS
from torpor_wire import constants

_LOG = logging.getLogger(__name__)
_KNOWN_MAX = 20_000


class ForeignClaimError(Exception):
    """A claim with the name of a claim of the run exists, and does not belong to it."""


class ClaimWriter:
    """Writes claims. Raises errors.ApiError."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._known: set[tuple[str, str, str]] = set()
        """Namespace, name and uid of the run."""

    async def create(self, body: Object) -> None:
        """Create a claim unless it exists. Raises ForeignClaimError, and ApiUnavailable while a former one ends."""
        metadata = body["metadata"]
        run = metadata["labels"][constants.LABEL_WORKFLOW_UID]
        key = metadata["namespace"], metadata["name"], run
        if key in self._known:
            return
        try:
            stored = await self._api.create(CLAIMS, key[0], body)
        except errors.AlreadyExists:
            stored = await self._api.get(CLAIMS, key[0], key[1])
        if not _is_of_run(stored, run):
            raise ForeignClaimError(f"a claim named {key[1]} exists and does not belong to the run; delete it")
        if "deletionTimestamp" in stored["metadata"]:
            raise errors.ApiUnavailable(f"claim {key[1]} is being deleted")
        if len(self._known) >= _KNOWN_MAX:
            self._known.clear()
        self._known.add(key)

    async def delete(self, workflow: Workflow, name: str) -> None:
        """Delete a claim of the run. A namespace that is not set up for workflows keeps it."""
        namespace, uid = workflow.metadata.namespace, workflow.metadata.uid
        self._known.discard((namespace, name, uid))
        try:
            stored = await self._api.get(CLAIMS, namespace, name)
            if _is_of_run(stored, uid):
                await self._api.delete(CLAIMS, namespace, name, uid=stored["metadata"]["uid"])
        except errors.NotFound:
            return
        except errors.Forbidden as error:
            _LOG.warning("%s/%s: cannot delete claim %s: %s", namespace, workflow.metadata.name, name, error.message)


def _is_of_run(stored: Object, run: str) -> bool:
    return bool((stored["metadata"].get("labels") or {}).get(constants.LABEL_WORKFLOW_UID) == run)

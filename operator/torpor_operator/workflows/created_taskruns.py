"""Keeps the TaskRuns with a container that this process has created, until the pod of their first launch is created.

The cache drops what only a pod needs, so that it would be read again from the API server. Pure.
"""

from collections import OrderedDict

from torpor_crds.models.taskrun import TaskRun, parse
from torpor_kubernetes.client.api import Object

_MAX = 1000
_SPEC_MAX = 8_000
"""Characters of a spec that is kept. One with a long script is read again."""


class CreatedTaskRuns:
    """The last ones by uid. A TaskRun that is missing is read from the API server."""

    def __init__(self) -> None:
        self._bodies: OrderedDict[str, Object] = OrderedDict()

    def keep(self, body: Object) -> None:
        """Keep the response to a creation, if its pod has a container's program."""
        if "container" in body["spec"] and len(repr(body["spec"])) <= _SPEC_MAX:
            self._bodies[body["metadata"]["uid"]] = body
            if len(self._bodies) > _MAX:
                self._bodies.popitem(last=False)

    def take(self, uid: str) -> TaskRun | None:
        """Return the TaskRun once: a later launch may have another event and state."""
        body = self._bodies.pop(uid, None)
        return None if body is None else parse(body)

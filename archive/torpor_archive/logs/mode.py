"""Which logs of a run are kept: `spec.logs` of its Workflow.

A pod carries the mode as an annotation, because its Workflow may be gone when it ends. The mode of a wait is read from
the Workflow, once for each run.
"""

from cachetools import TTLCache
from torpor_kubernetes.client import errors
from torpor_kubernetes.client.api import Api
from torpor_kubernetes.client.resources import WORKFLOWS
from torpor_wire.enums import LogMode

_ENTRIES = 4096
_SECONDS = 3600.0


class LogModes:
    """The modes of runs, by uid."""

    def __init__(self, api: Api) -> None:
        self._api = api
        self._modes: TTLCache[str, LogMode] = TTLCache(_ENTRIES, _SECONDS, api.clock.monotonic)

    async def read(self, namespace: str, name: str, uid: str) -> LogMode:
        """Return the mode of a run; all logs are kept of one that cannot be read."""
        if uid in self._modes:
            return self._modes[uid]
        try:
            workflow = await self._api.get(WORKFLOWS, namespace, name)
        except errors.ApiError:
            return LogMode.ALL
        if (workflow.get("metadata") or {}).get("uid") != uid:
            return LogMode.ALL
        mode = self._modes[uid] = LogMode.parse((workflow.get("spec") or {}).get("logs"))
        return mode

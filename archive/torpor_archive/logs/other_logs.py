"""Reads the logs of the containers of a pod beside that of its task: init containers, sidecars and steps.

They have together the bytes of one log, and are read one after the other in the slot of their pod. What a sidecar
prints after that is not kept.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from torpor_archive.logs.logged_pod import LoggedPod
from torpor_archive.logs.reader import Charge, PodLogReader
from torpor_archive.storage.log_entry import LogOrigin
from torpor_archive.storage.log_store import FinishedLog


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherLogs:
    """Those of one pod. `source` is that of its task."""

    reader: PodLogReader
    source: LogOrigin
    charge: Charge

    async def ended(self, pod: LoggedPod) -> list[FinishedLog]:
        """Read the logs of containers that have ended: a pod that is being deleted takes them with it."""
        return await self._read([other for other in pod.others if other.ended], len(pod.others))

    async def rest(self, pod: LoggedPod, read: Sequence[FinishedLog]) -> list[FinishedLog]:
        """Return all logs after the end of the task; `read` are those that were read before."""
        known = {each.source.container for each in read}
        others = [other for other in pod.others if other.container not in known and other.has_started]
        logs = [*read, *await self._read(others, len(pod.others))]
        return [replace(each, outcome=replace(each.outcome, failed=pod.failed)) for each in logs]

    async def _read(self, others: Iterable[LoggedPod], share: int) -> list[FinishedLog]:
        return [await self._one(replace(other, ended=True), share) for other in others]

    async def _one(self, other: LoggedPod, share: int) -> FinishedLog:
        own = other.source()
        source = replace(self.source, id=own.id, container=own.container, started=own.started)
        return await self.reader.read(other, source, lambda: other, self.charge, share)

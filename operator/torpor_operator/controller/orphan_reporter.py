"""Reports TaskRuns that have no owner: Torpor ignores them."""

from collections.abc import Iterator
from itertools import islice
from typing import Never, Protocol

from torpor_crds.models.taskrun import TaskRun

from torpor_operator.controller.context import ControllerContext

_REPORTS_PER_ROUND = 100


class Orphans(Protocol):
    """The TaskRuns of a kind of owner that have none."""

    def find(self) -> Iterator[TaskRun]:
        """The orphans that have not ended and are not reported."""

    def message(self, taskrun: TaskRun, /) -> str:
        """Why Torpor ignores a TaskRun."""


class OrphanReporter:
    """Reports each orphan once, after it was found in two rounds, `stray_grace` seconds apart."""

    def __init__(self, context: ControllerContext, orphans: Orphans) -> None:
        self._cluster = context.cluster
        self._writer = context.writer
        self._clock = context.api.clock
        self._grace = context.settings.stray_grace
        self._orphans = orphans

    async def run(self) -> Never:
        """Report at most `_REPORTS_PER_ROUND` in a round, while this replica leads."""
        found_before, reported = set[str](), set[str]()
        while True:
            await self._clock.sleep(self._grace)
            present = {taskrun.metadata.uid: taskrun for taskrun in self._orphans.find()}
            reported &= present.keys()
            due = (uid for uid in present if uid in found_before - reported)
            for uid in list(islice(due, _REPORTS_PER_ROUND)):
                stored = await self._writer.report_orphan(present[uid], self._orphans.message(present[uid]))
                if stored is not None:
                    self._cluster.taskruns.store.absorb(stored)
                    reported.add(uid)
            found_before = set(present)
